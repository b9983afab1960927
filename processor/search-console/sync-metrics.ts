import type { Counter, Gauge, Metrics } from '../../infra/metrics.ts';
import { SYNC_FAILURES, type SyncFailure } from '../search-console.ts';

/** Metrics of all connections together. The state of each is in its record. */
export interface SyncMetrics {
  readonly rows: Counter;
  readonly requests: Counter;
  readonly successes: Counter;
  readonly failures: Readonly<Record<SyncFailure, Counter>>;
  readonly failing: Gauge;
  readonly successAgeSeconds: Gauge;
}

export function createSyncMetrics(metrics: Metrics): SyncMetrics {
  const failures = SYNC_FAILURES.map((reason) => [
    reason,
    metrics.counter(
      'footfall_search_console_failures_total',
      'Attempts that failed and are retried, by reason.',
      {
        reason,
      },
    ),
  ]);
  return {
    rows: metrics.counter(
      'footfall_search_console_rows_total',
      'Rows fetched, those of repeated days included.',
    ),
    requests: metrics.counter(
      'footfall_search_console_requests_total',
      'Requests to Google, those for tokens included.',
    ),
    successes: metrics.counter(
      'footfall_search_console_syncs_total',
      'Times that the newest days of a site were fetched.',
    ),
    failures: Object.fromEntries(failures) as Record<SyncFailure, Counter>,
    failing: metrics.gauge('footfall_search_console_failing', 'Connections that are failing now.'),
    successAgeSeconds: metrics.gauge(
      'footfall_search_console_success_age_seconds',
      'Age of the last success of the connection that is furthest behind; without those that never succeeded.',
    ),
  };
}
