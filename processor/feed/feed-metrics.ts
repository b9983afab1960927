import type { Counter, Metrics } from '../../infra/metrics.ts';

/** What every feed of a process counts into. */
export interface FeedMetrics {
  readonly events: Counter;
  readonly messages: Counter;
  readonly retries: Counter;
  readonly shortened: Counter;
  readonly lost: Counter;
}

export function createFeedMetrics(metrics: Metrics): FeedMetrics {
  return {
    events: metrics.counter('footfall_feed_events_total', 'Events that went to the feeds of their sites.'),
    messages: metrics.counter('footfall_feed_messages_total', 'Messages of feeds.'),
    retries: metrics.counter(
      'footfall_feed_retries_total',
      'Messages of feeds that were not taken at once, and were tried again.',
    ),
    shortened: metrics.counter(
      'footfall_feed_shortened_events_total',
      'Events that went to a feed without their properties, since they were too long.',
    ),
    lost: metrics.counter(
      'footfall_feed_lost_events_total',
      'Events that are stored and lack in a feed: the bus refused them again and again.',
    ),
  };
}
