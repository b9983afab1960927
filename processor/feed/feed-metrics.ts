import type { Counter, Metrics } from '../../infra/metrics.ts';

/** Metrics that all feeds of a process share. */
export interface FeedMetrics {
  readonly events: Counter;
  readonly messages: Counter;
  readonly retries: Counter;
  readonly shortened: Counter;
  readonly lost: Counter;
}

export function createFeedMetrics(metrics: Metrics): FeedMetrics {
  return {
    events: metrics.counter(
      'footfall_feed_events_total',
      'Events that were published to the feeds of their sites.',
    ),
    messages: metrics.counter('footfall_feed_messages_total', 'Messages that were published to feeds.'),
    retries: metrics.counter(
      'footfall_feed_retries_total',
      'Messages of feeds whose publication was retried.',
    ),
    shortened: metrics.counter(
      'footfall_feed_shortened_events_total',
      'Events that are in a feed without their properties, because they were too long.',
    ),
    lost: metrics.counter(
      'footfall_feed_lost_events_total',
      'Stored events that are missing from a feed, because the bus kept rejecting them.',
    ),
  };
}
