import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';

/** What every lane of a process counts into. */
export interface LaneMetrics {
  readonly events: Counter;
  readonly repeats: Counter;
  readonly deadLetters: Counter;
  readonly flushes: Counter;
  readonly flushRetries: Counter;
  readonly busRetries: Counter;
  readonly readRetries: Counter;
  readonly flushRows: Counter;
  readonly flushSeconds: Histogram;
  readonly foldSeconds: Histogram;
  readonly sessionLoads: Counter;
  readonly sessionLoadRetries: Counter;
  readonly sessionQuestionFailures: Counter;
  readonly failures: Counter;
  readonly fencings: Counter;
}

export function createLaneMetrics(metrics: Metrics): LaneMetrics {
  return {
    events: metrics.counter('footfall_processor_events_total', 'Events folded.'),
    repeats: metrics.counter(
      'footfall_processor_repeats_total',
      'Events that came again and changed nothing.',
    ),
    deadLetters: metrics.counter('footfall_processor_dead_letters_total', 'Messages that could not be read.'),
    flushes: metrics.counter('footfall_processor_flushes_total', 'Flushes that reached the store.'),
    flushRetries: metrics.counter('footfall_processor_flush_retries_total', 'Inserts that were tried again.'),
    busRetries: metrics.counter(
      'footfall_processor_bus_retries_total',
      'Writes of intents, checkpoints, leases and stream trims that were retried.',
    ),
    readRetries: metrics.counter(
      'footfall_processor_read_retries_total',
      'Reads of event streams that were retried.',
    ),
    flushRows: metrics.counter('footfall_processor_flush_rows_total', 'Rows that reached the store.'),
    flushSeconds: metrics.seconds('footfall_processor_flush_seconds', 'From the intent to the checkpoint.'),
    foldSeconds: metrics.seconds(
      'footfall_processor_fold_seconds',
      'One piece of messages through the thread.',
    ),
    sessionLoads: metrics.counter(
      'footfall_processor_session_loads_total',
      'Times that ended sessions were loaded for what is credited to them.',
    ),
    sessionLoadRetries: metrics.counter(
      'footfall_processor_session_load_retries_total',
      'Loads of ended sessions that were tried again.',
    ),
    sessionQuestionFailures: metrics.counter(
      'footfall_processor_session_question_failures_total',
      'Questions for ended sessions that the store did not answer in time.',
    ),
    failures: metrics.counter(
      'footfall_processor_lane_failures_total',
      'Times that a lane stopped on an error.',
    ),
    fencings: metrics.counter(
      'footfall_processor_fencings_total',
      'Partitions that another process took over.',
    ),
  };
}

/** What one lane shows of itself when somebody looks. Partitions are a closed set. */
export interface LaneGauges {
  readonly lagMessages: Gauge;
  readonly checkpointMs: Gauge;
  readonly sessions: Gauge;
  readonly inFlightRows: Gauge;
}

export function createLaneGauges(metrics: Metrics, partition: number, nowMs: () => number): LaneGauges {
  const labels = { partition: String(partition) };
  const checkpointMs = metrics.gauge(
    'footfall_processor_checkpoint_time_seconds',
    'When the last checkpoint was written, as a Unix time.',
    labels,
  );
  metrics.gaugeOf(
    'footfall_processor_checkpoint_age_seconds',
    'Time since the last checkpoint.',
    labels,
    () => (checkpointMs.value === 0 ? 0 : Math.max(0, nowMs() / 1000 - checkpointMs.value)),
  );
  return {
    lagMessages: metrics.gauge('footfall_processor_lag_messages', 'Messages of the bus that wait.', labels),
    checkpointMs,
    sessions: metrics.gauge('footfall_processor_sessions', 'Sessions held.', labels),
    inFlightRows: metrics.gauge('footfall_processor_open_batch_rows', 'Rows that wait for a flush.', labels),
  };
}
