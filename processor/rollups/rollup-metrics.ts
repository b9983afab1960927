import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import type { RollupUnit } from './units.ts';

type ByUnit<Metric> = Readonly<Record<RollupUnit, Metric>>;

export interface RollupMetrics {
  readonly rolledUp: ByUnit<Counter>;
  readonly late: ByUnit<Counter>;
  readonly seconds: ByUnit<Histogram>;
  /** Unix times. */
  readonly endSeconds: ByUnit<Gauge>;
}

export function createRollupMetrics(metrics: Metrics): RollupMetrics {
  return {
    rolledUp: {
      hour: metrics.counter('footfall_processor_rollup_hours_total', 'Hours rolled up for the first time.'),
      day: metrics.counter('footfall_processor_rollup_days_total', 'Days rolled up for the first time.'),
    },
    late: {
      hour: metrics.counter(
        'footfall_processor_rollup_late_hours_total',
        'Hours of one site that changed later and were rolled up again.',
      ),
      day: metrics.counter(
        'footfall_processor_rollup_late_days_total',
        'Days of one site that changed later and were rolled up again.',
      ),
    },
    seconds: {
      hour: metrics.seconds(
        'footfall_processor_rollup_seconds',
        'Time to roll up a batch of finalized hours of all sites.',
      ),
      day: metrics.seconds(
        'footfall_processor_rollup_day_seconds',
        'Time to roll up a batch of finalized days of all sites.',
      ),
    },
    endSeconds: {
      hour: metrics.gauge(
        'footfall_processor_rollup_end_seconds',
        'End of the last hour that was rolled up for the first time, as a Unix time.',
      ),
      day: metrics.gauge(
        'footfall_processor_rollup_day_end_seconds',
        'End of the last day that was rolled up for the first time, as a Unix time.',
      ),
    },
  };
}
