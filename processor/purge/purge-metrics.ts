import type { Counter, Metrics } from '../../infra/metrics.ts';

export interface PurgeMetrics {
  readonly sites: Counter;
  readonly people: Counter;
  readonly retainedRows: Counter;
  readonly failures: Counter;
}

export function createPurgeMetrics(metrics: Metrics): PurgeMetrics {
  return {
    sites: metrics.counter('footfall_purged_sites_total', 'deleted sites of which nothing is left'),
    people: metrics.counter('footfall_erased_people_total', 'people who were erased'),
    retainedRows: metrics.counter(
      'footfall_retention_rows_total',
      'rows removed for being older than their site keeps them',
    ),
    failures: metrics.counter('footfall_purge_failures_total', 'purges that were broken off and begun again'),
  };
}
