import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

// Reads the rules and the dashboard for operators, so that tests can compare them with the metrics of a service.

export interface Alert {
  readonly name: string;
  readonly expression: string;
  readonly severity: string;
  readonly summary: string;
}

/** The series that an expression reads. */
export interface Selector {
  readonly metric: string;
  /** Labels with the values that they may have; a pattern counts as its alternatives. */
  readonly matchers: readonly (readonly [label: string, values: readonly string[]])[];
  /** The labels of the nearest `by (…)` around it. */
  readonly grouping: readonly string[];
}

interface RuleFile {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly labels: { readonly severity: string };
      readonly annotations: { readonly summary: string };
    }[];
  }[];
}

/** The alerts of a file of rules, in its order. */
export function alertsIn(text: string): readonly Alert[] {
  const { groups } = parse(text) as RuleFile;
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, labels, annotations }) => ({
      name: alert,
      expression: expr,
      severity: labels.severity,
      summary: annotations.summary,
    })),
  );
}

/** The queries of a Grafana dashboard, with plain spans instead of its variables. */
export function dashboardQueries(
  text: string,
): readonly { readonly title: string; readonly expression: string }[] {
  const { panels } = JSON.parse(text) as {
    readonly panels: readonly {
      readonly title: string;
      readonly targets?: readonly { readonly expr: string }[];
    }[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ title, expression: expr.replaceAll('$__rate_interval', '5m') })),
  );
}

/** The parts of an expression that the grammar of PromQL does not accept. */
export function brokenParts(expression: string): readonly string[] {
  const broken: string[] = [];
  parser.parse(expression).iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) broken.push(`${from}: ${expression.slice(from, to)}`);
    },
  });
  return broken;
}

/** The series that an expression reads, from left to right. */
export function selectorsIn(expression: string): readonly Selector[] {
  const found: { metric: string; matchers: [string, string[]][]; grouping: readonly string[] }[] = [];
  const groupings: { readonly to: number; readonly labels: readonly string[] }[] = [];
  parser.parse(expression).iterate({
    enter: ({ name, node, from, to }) => {
      const text = expression.slice(from, to);
      if (name === 'AggregateExpr') {
        const labels = node.getChild('AggregateModifier')?.getChild('GroupingLabels');
        const list = labels == null ? '' : expression.slice(labels.from, labels.to);
        groupings.push({ to, labels: list.match(/\w+/g) ?? [] });
      }
      if (name === 'VectorSelector')
        found.push({
          metric: /^[\w:]+/.exec(text)?.[0] ?? '',
          matchers: [],
          grouping: groupings.findLast((grouping) => grouping.to >= to)?.labels ?? [],
        });
      if (name === 'UnquotedLabelMatcher' || name === 'LabelMatcher') {
        const [, label = '', , value = ''] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/s.exec(text) ?? [];
        found.at(-1)?.matchers.push([label, value.split('|')]);
      }
    },
  });
  return found;
}
