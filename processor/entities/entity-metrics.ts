import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';
import { OUTCOMES, type Outcome } from './document.ts';

/** Metrics that all entity lanes of a process share. */
export interface EntityMetrics {
  readonly updates: Readonly<Record<Outcome, Counter>>;
  readonly deadLetters: Counter;
  readonly setAside: Counter;
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
      'Updates of profiles, groups, orders and tallies, by outcome.',
      OUTCOMES,
    ),
    deadLetters: metrics.counter(
      'footfall_entities_dead_letters_total',
      'Messages of updates that could not be read and were moved to the dead letters.',
    ),
    setAside: metrics.counter(
      'footfall_entities_set_aside_updates_total',
      'Updates that were moved to the dead letters because they could not be read or stored.',
    ),
    flushedEntities: metrics.counter(
      'footfall_entities_flushed_total',
      'Entities that were inserted into the store.',
    ),
    flushSeconds: metrics.seconds(
      'footfall_entities_flush_seconds',
      'Time of a flush of entities, from the insert to the stream trim.',
    ),
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
      'Times that an entity lane failed and was restarted.',
    ),
  };
}

/** Gauges of one entity lane, all 0 while another process owns it. */
export interface EntityGauges {
  readonly lagMessages: Gauge;
  readonly dirtyEntities: Gauge;
  readonly checkpointMs: Gauge;
}

export function createEntityGauges(metrics: Metrics, lane: number): EntityGauges {
  const labels = { lane: String(lane) };
  return {
    lagMessages: metrics.gauge(
      'footfall_entities_lag_messages',
      'Messages of the update stream that are not applied.',
      labels,
    ),
    dirtyEntities: metrics.gauge(
      'footfall_entities_dirty',
      'Changed entities that wait for a flush.',
      labels,
    ),
    checkpointMs: metrics.gauge(
      'footfall_entities_checkpoint_time_seconds',
      'Unix time of the last checkpoint of entities.',
      labels,
    ),
  };
}
