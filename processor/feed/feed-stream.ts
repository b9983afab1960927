import type { Bus } from '../../infra/bus/bus.ts';

/**
 * CONTRACT with the programs that follow a site's feed; processor/feed/README.md describes it.
 *
 * One stream, `feed`. A message holds events of one site, of one flush of one lane, as lines of JSON (`FedEvent`), on
 * `feed.<site>.<lane>`; its headers have flush and place. Every message names its predecessor on the subject,
 * `Nats-Expected-Last-Subject-Sequence`, and the bus rejects it after any other.
 */
export const FEED_STREAM = 'feed';
const EVERY_FEED = `${FEED_STREAM}.>`;

const LANE_HEADER = 'footfall-partition';
const FLUSH_HEADER = 'footfall-flush';
const FIRST_HEADER = 'footfall-first';
const COUNT_HEADER = 'footfall-count';

/** The limits of the stream. The oldest messages go first. */
export interface FeedLimits {
  readonly bytesMax: number;
  readonly ageMaxMs: number;
}

/** The events that a message holds. */
export interface FeedPosition {
  readonly lane: number;
  readonly flushNumber: number;
  /** Place of its first event among the site's events of that flush, from 0. */
  readonly first: number;
  readonly count: number;
}

/** Makes sure that the stream exists with these limits. */
export function ensureFeedStream(bus: Bus, { bytesMax, ageMaxMs }: FeedLimits): Promise<void> {
  return bus.ensureStream(FEED_STREAM, EVERY_FEED, bytesMax, { oldestGo: true, ageMaxMs });
}

export function feedHeadersOf({ lane, flushNumber, first, count }: FeedPosition): Record<string, string> {
  return {
    [LANE_HEADER]: String(lane),
    [FLUSH_HEADER]: String(flushNumber),
    [FIRST_HEADER]: String(first),
    [COUNT_HEADER]: String(count),
  };
}

/** The position in a message's headers; undefined when they are not ours. */
export function feedPositionOf(headers: Readonly<Record<string, string>>): FeedPosition | undefined {
  const number = (name: string) => Number(headers[name] ?? Number.NaN);
  const place = {
    lane: number(LANE_HEADER),
    flushNumber: number(FLUSH_HEADER),
    first: number(FIRST_HEADER),
    count: number(COUNT_HEADER),
  };
  return Object.values(place).every(Number.isInteger) ? place : undefined;
}
