import type { Counter, Gauge, Metrics } from '../../infra/metrics.ts';

/** Why an erase command waits; see `PostponedError`. */
export const POSTPONE_REASONS = ['lane-stuck', 'unanswered-max', 'answer-lost'] as const;
export type PostponeReason = (typeof POSTPONE_REASONS)[number];

export interface PurgeMetrics {
  readonly sites: Counter;
  readonly people: Counter;
  readonly retainedRows: Counter;
  readonly waitingSites: Gauge;
  readonly waitingPeople: Gauge;
  readonly stuckLanes: Gauge;
  readonly postponed: Readonly<Record<PostponeReason, Counter>>;
}

export function createPurgeMetrics(metrics: Metrics): PurgeMetrics {
  const waiting = (kind: string) =>
    metrics.gauge('footfall_purge_waiting', 'Deletions and erasures that are due and not done.', { kind });
  return {
    sites: metrics.counter('footfall_purged_sites_total', 'Deleted sites whose data was removed completely.'),
    people: metrics.counter('footfall_erased_people_total', 'People who were erased.'),
    retainedRows: metrics.counter(
      'footfall_retention_rows_total',
      'Rows removed because they were older than the retention of their site.',
    ),
    waitingSites: waiting('site'),
    waitingPeople: waiting('person'),
    stuckLanes: metrics.gauge(
      'footfall_purge_stuck_lanes',
      'Lanes that did not erase in time. While there are any, no site is purged and no person erased.',
    ),
    postponed: metrics.reasons(
      'footfall_purge_postponed_total',
      'Times that an erasure had to wait for lanes, by reason.',
      POSTPONE_REASONS,
    ),
  };
}
