import type { Counter, Gauge, Histogram, Metrics } from '../../infra/metrics.ts';

/** Metrics that all lanes of a process share. */
export interface LaneMetrics {
  readonly events: Counter;
  readonly repeats: Counter;
  readonly saturatedSums: Counter;
  readonly deadLetters: Counter;
  readonly setAside: Counter;
  readonly siteFailures: Counter;
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
  readonly handOvers: Counter;
}

export function createLaneMetrics(metrics: Metrics): LaneMetrics {
  return {
    events: metrics.counter('footfall_processor_events_total', 'Events that were folded.'),
    repeats: metrics.counter(
      'footfall_processor_repeats_total',
      'Events that were received again and changed nothing.',
    ),
    saturatedSums: metrics.counter(
      'footfall_processor_saturated_sums_total',
      'Amounts that the revenue of their session had no room for, because it is at the bound of its column.',
    ),
    deadLetters: metrics.counter(
      'footfall_processor_dead_letters_total',
      'Messages of events that could not be read and were moved to the dead letters.',
    ),
    setAside: metrics.counter(
      'footfall_processor_set_aside_events_total',
      'Events that were moved to the dead letters because they could not be stored.',
    ),
    siteFailures: metrics.counter(
      'footfall_processor_site_failures_total',
      'Restarts of a lane without events that could not be stored.',
    ),
    flushes: metrics.counter('footfall_processor_flushes_total', 'Flushes with rows that are in the store.'),
    flushRetries: metrics.counter(
      'footfall_processor_flush_retries_total',
      'Inserts of flushes that were retried.',
    ),
    busRetries: metrics.counter(
      'footfall_processor_bus_retries_total',
      'Writes of intents, checkpoints, leases and stream trims that were retried.',
    ),
    readRetries: metrics.counter(
      'footfall_processor_read_retries_total',
      'Reads of event streams that were retried.',
    ),
    flushRows: metrics.counter(
      'footfall_processor_flush_rows_total',
      'Rows that were inserted into the store.',
    ),
    flushSeconds: metrics.seconds(
      'footfall_processor_flush_seconds',
      'Time of a flush, from its cut to the stream trim.',
    ),
    foldSeconds: metrics.seconds(
      'footfall_processor_fold_seconds',
      'Time that a worker thread takes to fold a group of messages.',
    ),
    sessionLoads: metrics.counter(
      'footfall_processor_session_loads_total',
      'Loads of ended sessions for payments that are credited to them.',
    ),
    sessionLoadRetries: metrics.counter(
      'footfall_processor_session_load_retries_total',
      'Loads of ended sessions that were retried.',
    ),
    sessionQuestionFailures: metrics.counter(
      'footfall_processor_session_question_failures_total',
      'Look-ups of ended sessions that the store did not answer in time.',
    ),
    failures: metrics.counter(
      'footfall_processor_lane_failures_total',
      'Times that a lane failed and was restarted.',
    ),
    fencings: metrics.counter(
      'footfall_processor_fencings_total',
      'Times that another process took a lane over.',
    ),
    handOvers: metrics.counter(
      'footfall_processor_hand_overs_total',
      'Lanes that were handed over to a processor that had fewer.',
    ),
  };
}

/** Gauges of one lane, all 0 while another process owns it. Lanes are a closed set. */
export interface LaneGauges {
  readonly owned: Gauge;
  readonly lagMessages: Gauge;
  readonly checkpointMs: Gauge;
  readonly sessions: Gauge;
  readonly inFlightRows: Gauge;
  readonly watchedSites: Gauge;
}

export function createLaneGauges(metrics: Metrics, lane: number, nowMs: () => number): LaneGauges {
  const labels = { lane: String(lane) };
  const checkpointMs = metrics.gauge(
    'footfall_processor_checkpoint_time_seconds',
    'Unix time of the last checkpoint.',
    labels,
  );
  metrics.gaugeOf(
    'footfall_processor_checkpoint_age_seconds',
    'Time since the last checkpoint.',
    labels,
    () => (checkpointMs.value === 0 ? 0 : Math.max(0, nowMs() / 1000 - checkpointMs.value)),
  );
  return {
    owned: metrics.gauge(
      'footfall_processor_lane_owned',
      '1 while this process owns the lane, also while it catches up.',
      labels,
    ),
    lagMessages: metrics.gauge(
      'footfall_processor_lag_messages',
      'Messages of the event stream that are not folded.',
      labels,
    ),
    checkpointMs,
    sessions: metrics.gauge('footfall_processor_sessions', 'Sessions in memory.', labels),
    inFlightRows: metrics.gauge('footfall_processor_open_batch_rows', 'Rows in the open batch.', labels),
    watchedSites: metrics.gauge(
      'footfall_processor_watched_sites',
      'Sites whose live visitors are told to query processes.',
      labels,
    ),
  };
}
