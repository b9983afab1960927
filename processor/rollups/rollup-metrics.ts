import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';

/** What the sums of hours say of themselves. */
export interface RollupMetrics {
  readonly hours: Counter;
  readonly lateHours: Counter;
  readonly failures: Counter;
  readonly seconds: Histogram;
  /** Since 1970. */
  readonly endSeconds: Gauge;
}

export function createRollupMetrics(metrics: Metrics): RollupMetrics {
  return {
    hours: metrics.counter(
      'footfall_processor_rollup_hours_total',
      'hours that were summed up for the first time',
    ),
    lateHours: metrics.counter(
      'footfall_processor_rollup_late_hours_total',
      'hours of a site that were summed up again',
    ),
    failures: metrics.counter(
      'footfall_processor_rollup_failures_total',
      'passes that failed and are tried again',
    ),
    seconds: metrics.seconds('footfall_processor_rollup_seconds', 'time to sum up some hours'),
    endSeconds: metrics.gauge(
      'footfall_processor_rollup_end_seconds',
      'end of the last hour that is summed up',
    ),
  };
}
