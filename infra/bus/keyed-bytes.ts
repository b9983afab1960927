import type { KV } from 'nats';
import type { Logger } from '../log.ts';
import { BusError, busError } from './bus-error.ts';
import type { NoteFault } from './bus-faults.ts';

/** How long after a watch broke it is started again. */
const WATCH_AGAIN_MS = 1_000;
/** A list that takes longer has lost its connection. */
const LIST_MAX_MS = 20_000;

/** A stored value and the revision that a compare-and-set of it must name. */
export interface KeyedValue {
  readonly key: string;
  /** Absent when the key was deleted. */
  readonly bytes: Uint8Array | undefined;
  readonly revision: number;
}

/** A method of the library's buckets that its type `KV` omits. */
interface TrimsTombstones {
  purgeDeletes(olderThanMs: number): Promise<unknown>;
}

/** What a bucket shares with its connection. */
export interface KeyedBytesDeps {
  /** Called after each reconnect. */
  readonly reconnected: Set<() => void>;
  /** Counts and logs a record that a watcher could not use. */
  readonly noteFault: NoteFault;
}

/** Named bytes with compare-and-set. Keys: letters, digits, `-`, `_`, `.`, `=`. */
export class KeyedBytes {
  readonly #kv: KV;
  readonly #deps: KeyedBytesDeps;

  constructor(kv: KV, deps: KeyedBytesDeps) {
    this.#kv = kv;
    this.#deps = deps;
  }

  async get(key: string): Promise<KeyedValue | undefined> {
    try {
      const entry = await this.#kv.get(key);
      return entry === null ? undefined : keyedValue(entry);
    } catch (error) {
      throw busError(`get ${key}`, error);
    }
  }

  /** Writes `key` if it still has `revision` (0: it does not exist); returns the new revision. */
  async put(key: string, bytes: Uint8Array, revision: number): Promise<number> {
    try {
      return revision === 0 ? await this.#kv.create(key, bytes) : await this.#kv.update(key, bytes, revision);
    } catch (error) {
      throw busError(`put ${key}`, error);
    }
  }

  /** Removes `key`, if it still has `revision` where one is given; watchers see it without bytes. */
  async remove(key: string, revision?: number): Promise<void> {
    try {
      await this.#kv.delete(key, revision === undefined ? {} : { previousSeq: revision });
    } catch (error) {
      throw busError(`remove ${key}`, error);
    }
  }

  /** Trims the markers that removed keys leave behind. A watch that was lost meanwhile may not see those removals. */
  async trimTombstones(): Promise<void> {
    try {
      await (this.#kv as KV & TrimsTombstones).purgeDeletes(0);
    } catch (error) {
      throw busError('trim removed keys', error);
    }
  }

  /** The keys that exist. */
  async keys(): Promise<string[]> {
    try {
      const keys: string[] = [];
      for await (const key of await this.#kv.keys()) keys.push(key);
      return keys;
    } catch (error) {
      throw busError('keys', error);
    }
  }

  /**
   * The present values of the keys that match `filter`, in which `*` stands for any text without a dot. All of them are in
   * memory at once.
   */
  async list(filter: string): Promise<KeyedValue[]> {
    const values = new Map<string, KeyedValue>();
    let isComplete = false;
    let stop = () => {};
    const timer = setTimeout(() => stop(), LIST_MAX_MS);
    try {
      const initializedFn = () => {
        isComplete = true;
        stop();
      };
      const watcher = await this.#kv.watch({ key: filter, initializedFn });
      stop = () => watcher.stop();
      if (isComplete) stop();
      for await (const entry of watcher) {
        const value = keyedValue(entry);
        if (value.bytes === undefined) values.delete(value.key);
        else values.set(value.key, value);
      }
    } catch (error) {
      throw busError(`list ${filter}`, error);
    } finally {
      clearTimeout(timer);
    }
    if (!isComplete) throw new BusError(`bus: list ${filter}: no answer in time`, 'timeout', undefined);
    return [...values.values()];
  }

  /**
   * Calls `change` for every present key and then for each change, in order; resolves after the present ones. The
   * returned function ends it. A record for which `change` throws is counted, logged (to `log`, by default the
   * connection's) and skipped.
   *
   * After a lost connection every key comes again: the library would notice the lost watch only by its silence, seconds
   * later.
   */
  async watch(change: (value: KeyedValue) => void, log?: Logger): Promise<() => void> {
    const apply = (value: KeyedValue) => this.#apply(change, value, log);
    let ended = false;
    let current = () => {};
    const start = async () => {
      const { stop, reading } = await this.#watchOnce(apply);
      current();
      current = stop;
      if (ended) stop();
      reading.catch((error: unknown) => {
        this.#deps.noteFault(error, log);
        setTimeout(again, WATCH_AGAIN_MS).unref();
      });
    };
    const again = () => {
      if (!ended) void start().catch(() => {}); // The connection was lost once more; its return calls this again.
    };
    await start();
    this.#deps.reconnected.add(again);
    return () => {
      ended = true;
      this.#deps.reconnected.delete(again);
      current();
    };
  }

  async #watchOnce(apply: (value: KeyedValue) => void): Promise<Watch> {
    let seen: () => void = () => {};
    const caughtUp = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const watcher = await this.#kv.watch({ initializedFn: () => seen() });
    const reading = (async () => {
      for await (const entry of watcher) apply(keyedValue(entry));
    })();
    await Promise.race([caughtUp, reading]);
    return { stop: () => watcher.stop(), reading };
  }

  #apply(change: (value: KeyedValue) => void, value: KeyedValue, log: Logger | undefined): void {
    try {
      change(value);
    } catch (error) {
      this.#deps.noteFault(error, log, { key: value.key, revision: value.revision });
    }
  }
}

/** One watch of the library; `reading` rejects when it breaks. */
interface Watch {
  readonly stop: () => void;
  readonly reading: Promise<void>;
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
