import { LRUCache } from 'lru-cache';
import { feedSubjectOf } from '../../infra/accounts/accounts.ts';
import type { SiteId, StoredId } from '../../infra/accounts/ids.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { noteRetry } from '../../infra/concurrency/retry.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import { feedMessagesOf, type MessageSizes } from './feed-messages.ts';
import type { FeedMetrics } from './feed-metrics.ts';
import {
  ensureFeedStream,
  FEED_STREAM,
  type FeedLimits,
  feedHeadersOf,
  feedPositionOf,
} from './feed-stream.ts';
import { rowsOfSites, type SiteRows } from './site-rows.ts';

const PUBLISH_TIMEOUT_MS = 10_000;
const GROUP_MAX_BYTES = 262_144;
/** Headers count towards the size of a message. */
const HEADERS_MAX_BYTES = 1_024;
/**
 * Sites that are published at the same time: the bus writes one message after the other, but their round trips overlap.
 */
const SITES_AT_ONCE = 8;
/** Maximum number of times that the bus rejects a message while it takes the lane's record: with the waits between, most of a minute. */
const TRIES_MAX = 15;

/**
 * Maximum number of sites whose last message or rejection by the bus a lane remembers. Beyond it, the site with the
 * oldest publication is evicted: its last message is read back from the bus, and a rejected message is retried in full.
 */
const SITES_MAX = 10_000;

/** Shared by the feeds of all lanes of a process. */
export interface FeedDeps {
  /** The sites that want a feed now: their public id by the id that they are stored under. */
  readonly sites: ReadonlyMap<StoredId, SiteId>;
  readonly limits: FeedLimits;
  readonly metrics: FeedMetrics;
}

export interface LaneFeedOptions {
  readonly lane: number;
  readonly bus: Bus;
  readonly log: Logger;
  readonly feeds: FeedDeps;
  /** For tests: instead of `SITES_MAX`. */
  readonly feedSitesMax?: number;
}

/** A lane's memory of sites. */
interface KnownSites {
  /** Sequence of a site's last message, as far as known; 0: it has none. */
  readonly lastSequences: LRUCache<string, number>;
  /** Sites whose message the bus rejected on every attempt. Nothing waits for them until the bus takes one again. */
  readonly rejected: LRUCache<string, true>;
}

/** The events of a flush: RowBinary rows. */
export interface FedFlush {
  readonly flushNumber: number;
  /** The first flush of the same messages, if the store refused it: the feed may have a part of it. */
  readonly fedFrom?: number | undefined;
  readonly events: Buffer;
}

/**
 * Waits after a failure until the bus works and the lane is known to be ours. Throws when it is not, or when the
 * lane ends.
 */
export type Recover = (error: BusError, attempt: number) => Promise<void>;

/**
 * Brings the events of one lane to the feeds of their sites, each once and in order, for as long as its `Lane` lives.
 *
 * A flush may be repeated, and for a moment two owners may do the same one. The last message of a subject names its
 * flush and its place in it, which shows the feed's position. Every message names its predecessor, so the bus takes
 * only the first of two messages with the same predecessor. Both owners have the same events at the same places, so
 * either may win.
 */
export class LaneFeed {
  readonly #options: LaneFeedOptions;
  readonly #sizes: MessageSizes;
  #made: KnownSites | undefined;

  constructor(options: LaneFeedOptions) {
    this.#options = options;
    const messageMaxBytes = options.bus.messageMaxBytes - HEADERS_MAX_BYTES;
    this.#sizes = { messageMaxBytes, groupMaxBytes: Math.min(GROUP_MAX_BYTES, messageMaxBytes) };
  }

  /** Made for the first site with a feed: such a cache allocates the room of all its entries immediately, which most lanes never need. */
  get #known(): KnownSites {
    const max = this.#options.feedSitesMax ?? SITES_MAX;
    this.#made ??= { lastSequences: new LRUCache({ max }), rejected: new LRUCache({ max }) };
    return this.#made;
  }

  /**
   * Publishes the events that are not in the feed yet. While the bus is unavailable it waits. A message that a working bus keeps rejecting
   * is given up, together with the site's remaining events of the flush, counted and logged: the store must not wait for it.
   */
  async publish(flush: FedFlush, recover: Recover): Promise<void> {
    const { sites } = this.#options.feeds;
    if (sites.size === 0) return;
    const waiting = await rowsOfSites(flush.events, sites);
    const work = async () => {
      for (let site = waiting.pop(); site !== undefined; site = waiting.pop())
        await this.#publishSite(site, flush, recover);
    };
    const done = await Promise.allSettled(Array.from({ length: SITES_AT_ONCE }, work));
    for (const one of done) if (one.status === 'rejected') throw one.reason;
  }

  async #publishSite(site: SiteRows, flush: FedFlush, recover: Recover): Promise<void> {
    const { lane, log, feeds } = this.#options;
    const progress = { next: 0 };
    for (let attempt = 0; ; ) {
      const before = progress.next;
      try {
        await this.#publishRest(site, flush, progress, recover);
        this.#known.rejected.delete(site.storedId);
        return;
      } catch (error) {
        if (!(error instanceof BusError)) throw error;
        this.#known.lastSequences.delete(site.storedId);
        if (progress.next > before) attempt = 0;
        const fields = { lane, flushNumber: flush.flushNumber, site: site.projectId };
        noteRetry(
          { operation: 'publication to a feed', log, fields, retries: feeds.metrics.retries },
          attempt,
          error,
        );
        await recover(error, attempt);
        attempt += 1;
        if (attempt < (this.#known.rejected.has(site.storedId) ? 1 : TRIES_MAX)) continue;
        this.#known.rejected.set(site.storedId, true);
        const events = site.starts.length - progress.next;
        feeds.metrics.lost.add(events);
        log.error(
          { ...fields, events, reason: reasonOf(error) },
          'the bus rejects events of a flush, the feed continues without them',
        );
        return;
      }
    }
  }

  /** `progress.next` is the place of the first event that is not known to be in the feed; it is updated on the way. */
  async #publishRest(
    site: SiteRows,
    { flushNumber, fedFrom = flushNumber, events }: FedFlush,
    progress: { next: number },
    recover: Recover,
  ): Promise<void> {
    const { lane, bus, feeds } = this.#options;
    const { storedId } = site;
    let last =
      this.#known.lastSequences.get(storedId) ??
      (await this.#findLast(storedId, { flushNumber, fedFrom }, progress, recover));
    for (const { first, count, bytes, shortened } of feedMessagesOf(events, site, {
      from: progress.next,
      ...this.#sizes,
    })) {
      last = await bus.append(feedSubjectOf(storedId, lane), {
        bytes,
        headers: feedHeadersOf({ lane, flushNumber, first, count }),
        after: last,
        timeoutMs: PUBLISH_TIMEOUT_MS,
      });
      this.#known.lastSequences.set(storedId, last);
      progress.next = first + count;
      feeds.metrics.messages.add();
      feeds.metrics.events.add(count);
      feeds.metrics.shortened.add(shortened);
    }
  }

  /** The sequence of the site's last message; 0 without one. Notes how much of the flush is in the feed. */
  async #findLast(
    storedId: StoredId,
    { flushNumber, fedFrom }: { readonly flushNumber: number; readonly fedFrom: number },
    progress: { next: number },
    recover: Recover,
  ): Promise<number> {
    const { lane, bus, feeds } = this.#options;
    const last = await bus.lastOf(FEED_STREAM, feedSubjectOf(storedId, lane));
    if (last === undefined) {
      // The stream may have been deleted, and without it nothing can be appended.
      await ensureFeedStream(bus, feeds.limits);
      return 0;
    }
    const place = feedPositionOf(last.headers);
    if (place === undefined) return last.sequence;
    // Messages of ours may have been removed since, so this only moves forward.
    if (fedFrom <= place.flushNumber && place.flushNumber <= flushNumber)
      progress.next = Math.max(progress.next, place.first + place.count);
    // Either another owner is ahead, and `recover` throws; or the lanes count flushes from the beginning again, and so does the feed.
    if (place.flushNumber > flushNumber)
      await recover(
        new BusError(`the feed already has flush ${place.flushNumber}`, 'conflict', undefined),
        0,
      );
    return last.sequence;
  }
}
