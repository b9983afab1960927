import type { JetStreamManager, KV, NatsConnection } from 'nats';
import type { Logger } from '../log.ts';
import { BucketFeed, type FeedSource, type KeyedValue } from './bucket-feed.ts';
import { BucketWatch, type BucketWatches } from './bucket-watch.ts';
import { BusError, busError, isAbsent, isForming } from './bus-error.ts';
import type { NoteFault } from './bus-faults.ts';
import { firstAnswer } from './first-answer.ts';

/** A list that takes longer has lost its connection. */
const LIST_MAX_MS = 20_000;

export type { KeyedValue };

/**
 * The longest key, in bytes. A key is a part of subjects, and the server closes the connection of the whole process at a line of more than
 * 4,096 bytes; so a longer key does not exist and is never sent.
 */
export const KEY_MAX_BYTES = 2_048;

/** Before the name of a bucket, the name of its stream. */
export const STREAM_PREFIX = 'KV_';

/** The stream of a bucket, and the parts that the bucket shares with its connection. */
export interface KeyedBytesDeps {
  readonly connection: NatsConnection;
  readonly inboxPrefix: string | undefined;
  readonly manager: JetStreamManager;
  readonly stream: string;
  /** True if replaced and removed values are overwritten in the stream's files. */
  readonly erases: boolean;
  readonly watches: BucketWatches;
  /** Counts and logs a record that a watcher could not use. */
  readonly noteFault: NoteFault;
}

/**
 * Named bytes with compare-and-set. Keys: letters, digits, `-`, `_`, `.`, `=`.
 *
 * The server forgets a replaced value and leaves its bytes in the file. So the stream has room for more than one message
 * of a key, and each successful write then overwrites the previous value. A `BucketSweeper` overwrites what a crash leaves
 * between these two steps, and the markers of removed keys, because a marker still contains its key.
 *
 *     put      new value ─▶ old value overwritten
 *     remove   marker ─▶ value overwritten ··· every watcher has seen the marker ─▶ marker overwritten
 */
export class KeyedBytes {
  /** The library's own mark of a bucket that any of its servers may be asked about is no part of its types. */
  readonly #kv: KV & { direct?: boolean };
  readonly #deps: KeyedBytesDeps;

  constructor(kv: KV, deps: KeyedBytesDeps) {
    this.#kv = kv;
    this.#deps = deps;
  }

  async get(key: string): Promise<KeyedValue | undefined> {
    if (isTooLong(key)) return undefined;
    try {
      const ask = () => firstAnswer(() => this.#kv.get(key));
      const entry = await ask().catch((error: unknown) => {
        if (this.#kv.direct !== true || !isForming(busError('get', error))) throw error;
        // A bucket that got more copies meanwhile is read only from its leader.
        this.#kv.direct = false;
        return ask();
      });
      return entry === null ? undefined : keyedValue(entry);
    } catch (error) {
      throw busError(`get ${shown(key)}`, error);
    }
  }

  /**
   * Writes `key` if it still has `revision` (0: it does not exist); returns the new revision. The value before it is
   * overwritten in the file; if that fails, the write has succeeded all the same and a sweeper repeats it.
   */
  async put(key: string, bytes: Uint8Array, revision: number): Promise<number> {
    rejectTooLong(key);
    let written: number;
    try {
      written =
        revision === 0 ? await this.#kv.create(key, bytes) : await this.#kv.update(key, bytes, revision);
    } catch (error) {
      throw busError(`put ${shown(key)}`, error);
    }
    if (this.#deps.erases && revision !== 0) await this.#erase(revision).catch(() => undefined);
    return written;
  }

  /** Writes a key that was never written, not even removed; returns its revision. Unlike `put` it reads nothing. */
  async putFirst(key: string, bytes: Uint8Array): Promise<number> {
    rejectTooLong(key);
    try {
      return await this.#kv.put(key, bytes, { previousSeq: 0 });
    } catch (error) {
      throw busError(`put ${shown(key)}`, error);
    }
  }

  /**
   * Removes `key`, if it still has `revision` where one is given; watchers see it without bytes. Resolves once its value
   * is overwritten in the file. A removal that failed can be repeated.
   */
  async remove(key: string, revision?: number): Promise<void> {
    if (isTooLong(key)) return;
    try {
      await this.#kv.delete(key, revision === undefined ? {} : { previousSeq: revision });
      if (this.#deps.erases) await this.#eraseBeforeLast(this.#subjectOf(key));
    } catch (error) {
      throw busError(`remove ${shown(key)}`, error);
    }
  }

  /** Overwrites all replaced or removed values that are still in the file; returns their number. */
  async eraseReplaced(): Promise<number> {
    const { manager, stream } = this.#deps;
    try {
      const { state } = await manager.streams.info(stream);
      if (state.messages === (state.num_subjects ?? 0)) return 0;
      const { state: counted } = await manager.streams.info(stream, { subjects_filter: '>' });
      let erased = 0;
      for (const [subject, messages] of Object.entries(counted.subjects ?? {}))
        if (messages > 1) erased += await this.#eraseBeforeLast(subject);
      return erased;
    } catch (error) {
      throw busError('erase replaced values', error);
    }
  }

  /** Overwrites the marker of a removed key. A watcher that has not seen it yet learns of the removal when it reconnects. */
  async eraseMarker(revision: number): Promise<void> {
    try {
      await this.#erase(revision);
    } catch (error) {
      throw busError('erase a marker', error);
    }
  }

  /**
   * Makes the server write its list of keys again, which still names keys with overwritten markers. It would do so by
   * itself within minutes.
   */
  async refreshKeyList(): Promise<void> {
    const { manager, stream } = this.#deps;
    try {
      const { state } = await manager.streams.info(stream);
      if (state.first_seq > 1) await manager.streams.purge(stream, { seq: state.first_seq });
    } catch (error) {
      throw busError('refresh the list of keys', error);
    }
  }

  /**
   * The keys that exist. This uses another request than `list`, because some users of the bus have a right only for this one.
   * @throws {BusError} `timeout` when the server falls silent; the library by itself would wait for ever
   */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    let isLate = false;
    let stop = () => {};
    const timer = setTimeout(() => {
      isLate = true;
      stop();
    }, LIST_MAX_MS);
    try {
      const found = await this.#kv.keys();
      stop = () => found.stop();
      if (isLate) stop();
      for await (const key of found) keys.push(key);
    } catch (error) {
      throw busError('keys', error);
    } finally {
      clearTimeout(timer);
    }
    if (isLate) throw new BusError('bus: keys: no answer in time', 'timeout', undefined);
    return keys;
  }

  /**
   * The present values of the keys that match `filter`, in which `*` matches any text without a dot. All of them are in memory together.
   */
  async list(filter: string): Promise<KeyedValue[]> {
    const values = new Map<string, KeyedValue>();
    const late = AbortSignal.timeout(LIST_MAX_MS);
    let release = () => {};
    let stop = () => {};
    const take = (value: KeyedValue) => {
      if (value.bytes === undefined) values.delete(value.key);
      else values.set(value.key, value);
    };
    try {
      release = await this.#deps.watches.catchUps.acquire(late);
      const feed = await BucketFeed.open(this.#source(), {
        filter,
        from: undefined,
        withValues: true,
        take,
      });
      stop = () => feed.stop();
      late.addEventListener('abort', stop);
      await feed.caughtUp;
      return [...values.values()];
    } catch (error) {
      if (late.aborted) throw new BusError(`bus: list ${shown(filter)}: no answer in time`, 'timeout', error);
      throw busError(`list ${shown(filter)}`, error);
    } finally {
      late.removeEventListener('abort', stop);
      stop();
      release();
    }
  }

  /**
   * Calls `change` for every present key that matches `filter` and then for each change, in order. Resolves after the
   * present keys. The returned function ends it. A record whose `change` throws is counted, logged (to `log`, by
   * default the connection's) and skipped.
   *
   * After a lost connection it continues behind the last change. Then, with revision 0, come removed keys whose markers
   * are gone.
   */
  watch(change: (value: KeyedValue) => void, log?: Logger, filter = '>'): Promise<() => void> {
    return this.#watch(change, log, { filter, withValues: true });
  }

  /** Like `watch`, of all keys; a value that is present comes without its bytes, as an empty one. */
  watchKeys(change: (value: KeyedValue) => void): Promise<() => void> {
    return this.#watch(change, undefined, { filter: '>', withValues: false });
  }

  async #watch(
    change: (value: KeyedValue) => void,
    log: Logger | undefined,
    { filter, withValues }: { readonly filter: string; readonly withValues: boolean },
  ): Promise<() => void> {
    const watch = await BucketWatch.start({
      source: this.#source(),
      watches: this.#deps.watches,
      filter,
      withValues,
      change: (value) => this.#apply(change, value, log),
    });
    return () => watch.stop();
  }

  #source(): FeedSource {
    const { connection, manager, stream, inboxPrefix } = this.#deps;
    return { connection, manager, stream, subjects: this.#subjectOf(''), inboxPrefix };
  }

  /** Overwrites all messages of a subject but its last. */
  async #eraseBeforeLast(subject: string): Promise<number> {
    const { manager, stream } = this.#deps;
    for (let erased = 0; ; erased += 1) {
      // The library's type of a request leaves this kind out.
      const first: { readonly seq: number; readonly next_by_subj: string } = {
        seq: 1,
        next_by_subj: subject,
      };
      try {
        const { seq } = await manager.streams.getMessage(stream, first);
        const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
        if (seq >= last.seq) return erased;
        await this.#erase(seq);
      } catch (error) {
        // Another process was faster.
        if (isAbsent(error)) return erased;
        throw error;
      }
    }
  }

  /** Overwrites one message in the file; a message that no longer exists is fine. */
  async #erase(sequence: number): Promise<void> {
    const { manager, stream } = this.#deps;
    try {
      await manager.streams.deleteMessage(stream, sequence, true);
    } catch (error) {
      // The server's error does not say why.
      const stored = manager.streams.getMessage(stream, { seq: sequence });
      const isGone = await stored.then(() => false, isAbsent);
      if (!isGone) throw error;
    }
  }

  #subjectOf(key: string): string {
    return `$KV.${this.#deps.stream.slice(STREAM_PREFIX.length)}.${key}`;
  }

  #apply(change: (value: KeyedValue) => void, value: KeyedValue, log: Logger | undefined): void {
    try {
      change(value);
    } catch (error) {
      this.#deps.noteFault(error, log, { key: value.key, revision: value.revision });
    }
  }
}

function isTooLong(key: string): boolean {
  return Buffer.byteLength(key) > KEY_MAX_BYTES;
}

/** @throws {BusError} `too-large` */
function rejectTooLong(key: string): void {
  if (isTooLong(key))
    throw new BusError(`bus: a key is longer than ${KEY_MAX_BYTES} bytes`, 'too-large', undefined);
}

function keyedValue(entry: {
  key: string;
  value: Uint8Array;
  revision: number;
  operation: string;
}): KeyedValue {
  return {
    key: entry.key,
    bytes: entry.operation === 'PUT' ? entry.value : undefined,
    revision: entry.revision,
  };
}

/** A key as shown in errors, which are logged: without the text after the first dot, because keys may name people. */
function shown(key: string): string {
  return key.replace(/\..*$/, '.…');
}
