import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { projectRoot } from '../root.ts';
import { alertsIn, brokenParts, dashboardQueries, selectorsIn } from '../testing/alert-rules.ts';

const folder = join(projectRoot, 'infra/operations');
const fileOf = (name: string) => readFileSync(join(folder, name), 'utf8');
const alerts = alertsIn(fileOf('alerts.yaml'));

test('every alert has a section in the runbook, and every section an alert', () => {
  const sections = [...fileOf('runbook.md').matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(alerts.map(({ name }) => name));
});

test('the runbook names only alerts that exist, and points only to sections that exist', () => {
  const known = new Set(alerts.map(({ name }) => name));
  const named = [...fileOf('runbook.md').matchAll(/Footfall[A-Z]\w+/g)].map(([name]) => name);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test('every alert says how serious it is, and what is the matter', () => {
  for (const { name, severity, summary } of alerts)
    expect([name, ['critical', 'warning', 'info'].includes(severity), summary.length > 20]).toEqual([
      name,
      true,
      true,
    ]);
});

test('every expression of the alerts and the dashboard is one that Prometheus reads', () => {
  for (const { name, expression } of alerts) expect([name, brokenParts(expression)]).toEqual([name, []]);
  for (const { title, expression } of dashboardQueries(fileOf('grafana-dashboard.json')))
    expect([title, brokenParts(expression)]).toEqual([title, []]);
});

test('the panels of the dashboard do not overlap, and each has an id of its own', () => {
  const { panels } = JSON.parse(fileOf('grafana-dashboard.json')) as {
    readonly panels: readonly {
      readonly id: number;
      readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
    }[];
  };
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

test('Prometheus is given the rules, and scrapes every tier', () => {
  const { rule_files, scrape_configs } = parse(fileOf('prometheus.yml'));
  expect(rule_files).toHaveLength(1);
  expect(scrape_configs.map(({ job_name }: { readonly job_name: string }) => job_name)).toEqual([
    'footfall',
    'footfall-processor',
    'footfall-store',
  ]);
});

test('an expression that is broken is found, and so is what a selector names', () => {
  expect(brokenParts('sum(rate(a[5m])')).not.toEqual([]);
  expect(brokenParts('sum by (x (a)')).not.toEqual([]);
  expect(selectorsIn('sum by (reason) (rate(a_total{reason=~"x|y",kind="z"}[5m])) / time() > b')).toEqual([
    {
      metric: 'a_total',
      matchers: [
        ['reason', ['x', 'y']],
        ['kind', ['z']],
      ],
      grouping: ['reason'],
    },
    { metric: 'b', matchers: [], grouping: [] },
  ]);
});
