import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import type { SumUnit } from './units.ts';

type ByUnit<Metric> = Readonly<Record<SumUnit, Metric>>;

/** What the sums of hours and days say of themselves. */
export interface RollupMetrics {
  readonly summed: ByUnit<Counter>;
  readonly late: ByUnit<Counter>;
  readonly failures: Counter;
  readonly seconds: ByUnit<Histogram>;
  /** Since 1970. */
  readonly endSeconds: ByUnit<Gauge>;
}

export function createRollupMetrics(metrics: Metrics): RollupMetrics {
  return {
    summed: {
      hour: metrics.counter(
        'footfall_processor_rollup_hours_total',
        'hours that were summed up for the first time',
      ),
      day: metrics.counter(
        'footfall_processor_rollup_days_total',
        'days that were summed up for the first time',
      ),
    },
    late: {
      hour: metrics.counter(
        'footfall_processor_rollup_late_hours_total',
        'hours of a site that were summed up again',
      ),
      day: metrics.counter(
        'footfall_processor_rollup_late_days_total',
        'days of a site that were summed up again',
      ),
    },
    failures: metrics.counter(
      'footfall_processor_rollup_failures_total',
      'passes that failed and are tried again',
    ),
    seconds: {
      hour: metrics.seconds('footfall_processor_rollup_seconds', 'time to sum up some hours'),
      day: metrics.seconds('footfall_processor_rollup_day_seconds', 'time to sum up some days'),
    },
    endSeconds: {
      hour: metrics.gauge(
        'footfall_processor_rollup_end_seconds',
        'end of the last hour that was summed up first',
      ),
      day: metrics.gauge(
        'footfall_processor_rollup_day_end_seconds',
        'end of the last day that was summed up first',
      ),
    },
  };
}
