import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import { DELIVERY_FAILURES, type DeliveryFailure, type DeliveryStep } from '../integration.ts';

/** Metrics of all deliveries together. The state of each integration is in its record. */
export interface DeliveryMetrics {
  /** The greatest lag of any integration. */
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
    metrics.counter('footfall_delivery_steps_total', 'Steps committed.', { kind });
  const failures = DELIVERY_FAILURES.map((reason) => [
    reason,
    metrics.counter('footfall_delivery_failures_total', 'Attempts that failed and are retried, by reason.', {
      reason,
    }),
  ]);
  return {
    lagSeconds: metrics.gauge(
      'footfall_delivery_lag_seconds',
      'Age of the newest delivered state of the integration that is furthest behind. Without paused ones.',
    ),
    failing: metrics.gauge('footfall_delivery_failing', 'Integrations that are failing now.'),
    steps: { new: steps('new'), backfill: steps('backfill') },
    files: metrics.counter(
      'footfall_delivery_files_total',
      'Files written, including those that no manifest names.',
    ),
    rows: metrics.counter('footfall_delivery_rows_total', 'Rows of committed steps.'),
    bytes: metrics.counter('footfall_delivery_bytes_total', 'Bytes of the files written.'),
    failures: Object.fromEntries(failures) as Record<DeliveryFailure, Counter>,
    stepSeconds: metrics.seconds(
      'footfall_delivery_step_seconds',
      'Time from the beginning of a step to its commit, for steps without a failure.',
    ),
  };
}
