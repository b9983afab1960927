import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import { OUTCOMES, type Outcome } from './document.ts';

/** What the record lanes of a process count into. */
export interface RecordMetrics {
  readonly updates: Readonly<Record<Outcome, Counter>>;
  readonly deadLetters: Counter;
  readonly flushedRecords: Counter;
  readonly flushSeconds: Histogram;
  readonly storeRetries: Counter;
  readonly failures: Counter;
}

export function createRecordMetrics(metrics: Metrics): RecordMetrics {
  return {
    updates: metrics.reasons(
      'footfall_records_updates_total',
      'Updates of profiles, groups, orders and tallies, by what became of them.',
      OUTCOMES,
    ),
    deadLetters: metrics.counter('footfall_records_dead_letters_total', 'Messages that could not be read.'),
    flushedRecords: metrics.counter('footfall_records_flushed_total', 'Records that reached the store.'),
    flushSeconds: metrics.seconds('footfall_records_flush_seconds', 'From the insert to the checkpoint.'),
    storeRetries: metrics.counter('footfall_records_store_retries_total', 'Calls of the store tried again.'),
    failures: metrics.counter(
      'footfall_records_lane_failures_total',
      'Times that a lane stopped on an error.',
    ),
  };
}

/** What one record lane shows of itself. */
export interface RecordGauges {
  readonly lagMessages: Gauge;
  readonly dirtyRecords: Gauge;
  readonly checkpointMs: Gauge;
}

export function createRecordGauges(metrics: Metrics, partition: number): RecordGauges {
  const labels = { partition: String(partition) };
  return {
    lagMessages: metrics.gauge('footfall_records_lag_messages', 'Messages of updates that wait.', labels),
    dirtyRecords: metrics.gauge('footfall_records_dirty', 'Records that wait for a flush.', labels),
    checkpointMs: metrics.gauge(
      'footfall_records_checkpoint_time_seconds',
      'When the last checkpoint was written, as a Unix time.',
      labels,
    ),
  };
}
