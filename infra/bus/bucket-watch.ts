import { Semaphore } from '../concurrency/semaphore.ts';
import { type Logger, reasonOf } from '../log.ts';
import type { Counter, Metrics } from '../metrics.ts';
import { BucketFeed, type FeedOptions, type FeedSource, type KeyedValue } from './bucket-feed.ts';
import { busError } from './bus-error.ts';
import { firstAnswer } from './first-answer.ts';

/** The delay before a failed watch is tried again. */
const AGAIN_MS = 1_000;
/** The revision of a key in another stream: above all of this one. */
const FOREIGN = Number.POSITIVE_INFINITY;
const LOST = 'the connection is lost';

/**
 * The watches of one connection. Only one at a time catches up, because the server closes a connection for which more than 64 MiB
 * wait, and a feed may have 32 MiB under way.
 */
export class BucketWatches {
  readonly catchUps = new Semaphore(1);
  readonly messages: Counter;
  readonly #losses: Counter;
  readonly #log: Logger;
  readonly #all = new Set<BucketWatch>();
  #isUp = true;

  constructor(log: Logger, metrics: Metrics) {
    this.#log = log;
    metrics.gaugeOf(
      'footfall_bus_mirrors_behind',
      'Mirrors of a bucket that do not have everything that is stored: the process is not ready meanwhile.',
      {},
      () => this.behind,
    );
    this.messages = metrics.counter(
      'footfall_bus_mirror_messages_total',
      'Messages with a key of a bucket that mirrors received.',
    );
    this.#losses = metrics.counter(
      'footfall_bus_mirror_losses_total',
      'Times that a mirror got no more changes although the bus was reachable; it continues behind the last one.',
    );
  }

  /** The number of watches that do not have everything that is stored. */
  get behind(): number {
    let count = 0;
    for (const watch of this.#all) if (!watch.isCurrent) count += 1;
    return count;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Logs the first, second, fourth, … loss, because all mirrors lose their feeds together. */
  noteLoss(error: unknown): void {
    this.#losses.add();
    const times = this.#losses.value;
    if (Number.isInteger(Math.log2(times)))
      this.#log.warn({ times, reason: reasonOf(error) }, 'bus: a mirror gets no changes, trying again');
  }

  add(watch: BucketWatch): void {
    this.#all.add(watch);
  }

  delete(watch: BucketWatch): void {
    this.#all.delete(watch);
  }

  /** The connection is lost. Feeds end now, or all of them would continue together once it is back. */
  lose(): void {
    this.#isUp = false;
    for (const watch of this.#all) watch.lose();
  }

  /** The connection is back. */
  resume(): void {
    this.#isUp = true;
    for (const watch of this.#all) watch.resume();
  }
}

export interface WatchOptions {
  readonly source: FeedSource;
  readonly watches: BucketWatches;
  readonly filter: string;
  readonly withValues: boolean;
  /** Must not throw. */
  readonly change: (value: KeyedValue) => void;
}

/**
 * Follows the keys of a bucket that match a filter, through lost connections and servers. Earlier changes are not sent again:
 *
 *     lost at revision 70 ─▶ feed from 71 on ─▶ list of keys, without values ─▶ current
 *
 * Messages from 71 on include removals whose markers are still stored. The list shows the keys that went without one: the sweeper
 * overwrites markers, and values expire.
 */
export class BucketWatch {
  readonly #options: WatchOptions;
  /** The keys that exist, each with its revision. */
  readonly #known = new Map<string, number>();
  /** The last revision that came. */
  #revision = 0;
  /** Creation time of the stream that `#revision` belongs to. */
  #created = '';
  /** The feed of values, and beside it the feed of keys while the list is read. */
  readonly #feeds = new Set<BucketFeed>();
  #ended: BucketFeed['ended'] | undefined;
  /** Numbers the attempts to catch up. Feeds that an earlier attempt still opens are closed. */
  #attempt = 0;
  #isCurrent = false;
  #isOver = false;
  /** Ends the present attempt. */
  #abandon: (error: Error) => void = () => {};
  #wake: () => void = () => {};

  private constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** Resolves once everything that is stored now has arrived. @throws {BusError} when the server sends nothing */
  static async start(options: WatchOptions): Promise<BucketWatch> {
    const watch = new BucketWatch(options);
    options.watches.add(watch);
    try {
      await watch.#begin();
    } catch (error) {
      watch.stop();
      throw error;
    }
    void watch.#follow(); // Catches everything.
    return watch;
  }

  get isCurrent(): boolean {
    return this.#isCurrent;
  }

  stop(): void {
    this.#isOver = true;
    this.#options.watches.delete(this);
    this.lose();
    this.#wake();
  }

  lose(): void {
    this.#isCurrent = false;
    this.#attempt += 1;
    for (const feed of this.#feeds) feed.stop();
    this.#feeds.clear();
    this.#abandon(new Error(LOST));
  }

  resume(): void {
    this.#wake();
  }

  /** The first catching up. Continues after a lost connection, and after a failure if the last attempt made progress. */
  async #begin(): Promise<void> {
    for (;;) {
      const before = this.#revision;
      try {
        await this.#catchUp();
        return;
      } catch (error) {
        if (this.#isOver || (this.#options.watches.isUp && this.#revision === before)) throw error;
        await this.#pause();
      }
    }
  }

  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const error = await this.#ended;
      this.lose();
      this.#ended = undefined;
      if (error !== undefined) this.#options.watches.noteLoss(error);
      if (this.#isOver) return;
      await this.#pause();
      try {
        await this.#catchUp();
      } catch (failure) {
        // Tried again. The bus logs a lost connection itself.
        if (this.#options.watches.isUp && !this.#isOver) this.#options.watches.noteLoss(failure);
      }
    }
  }

  /** Waits for a moment, and while there is no connection until it is back. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.watches.isUp ? setTimeout(resolve, AGAIN_MS).unref() : undefined;
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async #catchUp(): Promise<void> {
    const lost = new Promise<never>((_, reject) => {
      this.#abandon = reject;
    });
    lost.catch(() => {});
    try {
      await Promise.race([this.#attemptIn(this.#attempt), lost]);
    } catch (error) {
      this.lose();
      throw busError('watch', error);
    }
  }

  async #attemptIn(attempt: number): Promise<void> {
    const { source, filter, withValues, watches } = this.#options;
    const isFirst = this.#created === '';
    const { created, state } = await firstAnswer(() => source.manager.streams.info(source.stream));
    const release = await watches.catchUps.acquire();
    try {
      if (attempt !== this.#attempt) throw new Error(LOST);
      // Another stream of this name, or one that lost its end, has other values under the same revisions.
      if (created !== this.#created || state.last_seq < this.#revision) this.#startOver();
      this.#created = created;
      const from = this.#revision === 0 ? undefined : this.#revision + 1;
      const take = (value: KeyedValue) => this.#take(value);
      const feed = await this.#opened(attempt, { filter, from, withValues, take });
      this.#ended = feed.ended;
      await feed.caughtUp;
      if (!isFirst) await this.#removeMissing(attempt);
      this.#isCurrent = attempt === this.#attempt;
    } finally {
      release();
    }
  }

  #startOver(): void {
    this.#revision = 0;
    for (const key of this.#known.keys()) this.#known.set(key, FOREIGN);
  }

  async #opened(attempt: number, options: FeedOptions): Promise<BucketFeed> {
    const feed = await BucketFeed.open(this.#options.source, options);
    if (attempt === this.#attempt) {
      this.#feeds.add(feed);
      return feed;
    }
    feed.stop();
    throw new Error(LOST);
  }

  #take(value: KeyedValue): void {
    const { change, watches } = this.#options;
    const { key, bytes, revision } = value;
    watches.messages.add();
    this.#revision = revision;
    // The next lines compare revisions, and another stream's may be higher.
    if ((this.#known.get(key) ?? 0) > revision) change({ key, bytes: undefined, revision: 0 });
    if (bytes === undefined) this.#known.delete(key);
    else this.#known.set(key, revision);
    change(value);
  }

  /** Removes the keys that are gone from the bucket. Keys newer than the list are certain. */
  async #removeMissing(attempt: number): Promise<void> {
    const { filter, change } = this.#options;
    if (this.#known.size === 0) return;
    const before = this.#revision;
    const present = new Set<string>();
    const take = ({ key, bytes }: KeyedValue) => {
      if (bytes === undefined) present.delete(key);
      else present.add(key);
    };
    const feed = await this.#opened(attempt, { filter, from: undefined, withValues: false, take });
    await feed.caughtUp;
    feed.stop();
    this.#feeds.delete(feed);
    for (const [key, revision] of this.#known) {
      const isNewer = revision > before && revision !== FOREIGN;
      if (isNewer || present.has(key)) continue;
      this.#known.delete(key);
      change({ key, bytes: undefined, revision: 0 });
    }
  }
}
