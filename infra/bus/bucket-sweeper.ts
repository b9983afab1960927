import type { Clock } from '../clock.ts';
import type { KeyedBytes, KeyedValue } from './keyed-bytes.ts';

/** Time for every connected watcher to see the marker of a removed key. */
export const MARKER_AGE_MS = 20_000;

export interface BucketSweeperOptions {
  readonly bucket: KeyedBytes;
  readonly clock: Clock;
  /** The age at which a marker is overwritten, from when this sweeper saw it. */
  readonly markerAgeMs?: number;
}

/**
 * Overwrites in the files of a bucket what its writers could not: the markers of removed keys, which watchers have to
 * see first, and the remains of processes that ended in the middle of a write. It stores no progress, so a sweeper may
 * be stopped at any point, and two may run concurrently. One sweeper per bucket is enough.
 */
export class BucketSweeper {
  readonly #options: BucketSweeperOptions;
  /** By revision, when this sweeper saw the marker. */
  readonly #markers = new Map<number, number>();
  #stopWatching: () => void = () => {};
  /** True if the server's list of keys may still name removed ones. */
  #isListStale = false;
  /** True if replaced values may be stored: at the beginning, and after every write. */
  #mayHaveReplaced = true;

  private constructor(options: BucketSweeperOptions) {
    this.#options = options;
  }

  /** Resolves once every marker that is stored now is known. */
  static async open(options: BucketSweeperOptions): Promise<BucketSweeper> {
    const sweeper = new BucketSweeper(options);
    sweeper.#stopWatching = await options.bucket.watchKeys((value) => sweeper.#note(value));
    return sweeper;
  }

  /**
   * Overwrites everything that is due.
   * @throws {BusError} the rest is due again
   */
  async sweep(): Promise<void> {
    const { bucket, clock, markerAgeMs = MARKER_AGE_MS } = this.#options;
    await this.#eraseReplaced();
    const dueMs = clock.nowMs() - markerAgeMs;
    for (const [revision, seenMs] of this.#markers) {
      if (seenMs > dueMs) continue;
      await bucket.eraseMarker(revision);
      this.#markers.delete(revision);
      this.#isListStale = true;
    }
    if (!this.#isListStale) return;
    await bucket.refreshKeyList();
    this.#isListStale = false;
  }

  /** Asks the server only after a write: on an idle service, such questions would be much of the work. */
  async #eraseReplaced(): Promise<void> {
    if (!this.#mayHaveReplaced) return;
    this.#mayHaveReplaced = false;
    try {
      // Replaced values may come from a burst of writes, so the next sweep looks once more.
      this.#mayHaveReplaced = (await this.#options.bucket.eraseReplaced()) > 0 || this.#mayHaveReplaced;
    } catch (error) {
      this.#mayHaveReplaced = true;
      throw error;
    }
  }

  stop(): void {
    this.#stopWatching();
  }

  #note({ bytes, revision }: KeyedValue): void {
    this.#mayHaveReplaced = true;
    // Revision 0: the marker no longer exists.
    if (bytes === undefined && revision !== 0) this.#markers.set(revision, this.#options.clock.nowMs());
  }
}
