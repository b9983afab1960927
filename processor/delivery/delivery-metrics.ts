import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import { DELIVERY_FAILURES, type DeliveryFailure, type DeliveryStep } from '../integration.ts';

/** What the delivery of events says of itself. How each integration is doing is in its record. */
export interface DeliveryMetrics {
  /** Of the integration that is furthest behind. */
  readonly lagSeconds: Gauge;
  readonly failing: Gauge;
  readonly steps: Readonly<Record<DeliveryStep['kind'], Counter>>;
  readonly files: Counter;
  readonly rows: Counter;
  readonly bytes: Counter;
  readonly failures: Readonly<Record<DeliveryFailure, Counter>>;
  readonly stepSeconds: Histogram;
}

export function createDeliveryMetrics(metrics: Metrics): DeliveryMetrics {
  const steps = (kind: DeliveryStep['kind']) =>
    metrics.counter('footfall_delivery_steps_total', 'steps that were committed', { kind });
  const failures = DELIVERY_FAILURES.map((reason) => [
    reason,
    metrics.counter('footfall_delivery_failures_total', 'tries that failed and are made again', { reason }),
  ]);
  return {
    lagSeconds: metrics.gauge(
      'footfall_delivery_lag_seconds',
      'age of what the integration that is furthest behind has brought; without those that are paused',
    ),
    failing: metrics.gauge('footfall_delivery_failing', 'integrations that fail now'),
    steps: { new: steps('new'), backfill: steps('backfill') },
    files: metrics.counter(
      'footfall_delivery_files_total',
      'files that were written, also those that do not count',
    ),
    rows: metrics.counter('footfall_delivery_rows_total', 'rows of steps that were committed'),
    bytes: metrics.counter('footfall_delivery_bytes_total', 'bytes of files that were written'),
    failures: Object.fromEntries(failures) as Record<DeliveryFailure, Counter>,
    stepSeconds: metrics.seconds(
      'footfall_delivery_step_seconds',
      'from the beginning of a step that goes well to its commit',
    ),
  };
}
