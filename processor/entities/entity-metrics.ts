import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import { OUTCOMES, type Outcome } from './document.ts';

/** What the record lanes of a process count into. */
export interface EntityMetrics {
  readonly updates: Readonly<Record<Outcome, Counter>>;
  readonly deadLetters: Counter;
  readonly flushedEntities: Counter;
  readonly flushSeconds: Histogram;
  readonly storeRetries: Counter;
  readonly busRetries: Counter;
  readonly readRetries: Counter;
  readonly failures: Counter;
}

export function createEntityMetrics(metrics: Metrics): EntityMetrics {
  return {
    updates: metrics.reasons(
      'footfall_entities_updates_total',
      'Updates of profiles, groups, orders and tallies, by what became of them.',
      OUTCOMES,
    ),
    deadLetters: metrics.counter('footfall_entities_dead_letters_total', 'Messages that could not be read.'),
    flushedEntities: metrics.counter('footfall_entities_flushed_total', 'Records that reached the store.'),
    flushSeconds: metrics.seconds('footfall_entities_flush_seconds', 'From the insert to the checkpoint.'),
    storeRetries: metrics.counter(
      'footfall_entities_store_retries_total',
      'Loads and inserts of entities that were retried.',
    ),
    busRetries: metrics.counter(
      'footfall_entities_bus_retries_total',
      'Revenue events, checkpoints and stream trims of entity lanes that were retried.',
    ),
    readRetries: metrics.counter(
      'footfall_entities_read_retries_total',
      'Reads of entity streams that were retried.',
    ),
    failures: metrics.counter(
      'footfall_entities_lane_failures_total',
      'Times that a lane stopped on an error.',
    ),
  };
}

/** What one record lane shows of itself. */
export interface EntityGauges {
  readonly lagMessages: Gauge;
  readonly dirtyEntities: Gauge;
  readonly checkpointMs: Gauge;
}

export function createEntityGauges(metrics: Metrics, partition: number): EntityGauges {
  const labels = { partition: String(partition) };
  return {
    lagMessages: metrics.gauge('footfall_entities_lag_messages', 'Messages of updates that wait.', labels),
    dirtyEntities: metrics.gauge('footfall_entities_dirty', 'Records that wait for a flush.', labels),
    checkpointMs: metrics.gauge(
      'footfall_entities_checkpoint_time_seconds',
      'When the last checkpoint was written, as a Unix time.',
      labels,
    ),
  };
}
