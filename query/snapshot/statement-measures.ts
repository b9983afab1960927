import type { Counter, Histogram, Metrics } from '../../infra/metrics.ts';

/** Metrics of all statements with one name. */
export interface Measures {
  readonly statements: Counter;
  readonly seconds: Histogram;
}

/** The measures of the statement with this name. */
export function measuresOf(question: string, metrics: Metrics): Measures {
  return {
    statements: metrics.counter('query_statements_total', 'statements sent to the store', { question }),
    seconds: metrics.seconds('query_statement_seconds', 'time of a statement in the store', { question }),
  };
}
