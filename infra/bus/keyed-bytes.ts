import type { KV } from 'nats';
import { busError } from './bus-error.ts';

/** A stored value and the revision that a compare-and-set of it must name. */
export interface KeyedValue {
  readonly key: string;
  /** Absent when the key was deleted. */
  readonly bytes: Uint8Array | undefined;
  readonly revision: number;
}

/** What the library's buckets can do and its type `KV` leaves out. */
interface TrimsTombstones {
  purgeDeletes(olderThanMs: number): Promise<unknown>;
}

/** Named bytes with compare-and-set. Keys: letters, digits, `-`, `_`, `.`, `=`. */
export class KeyedBytes {
  readonly #kv: KV;
  readonly #reconnected: Set<() => void>;

  constructor(kv: KV, reconnected: Set<() => void>) {
    this.#kv = kv;
    this.#reconnected = reconnected;
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

  /** Forgets which keys were removed: until then each leaves its name behind. A watch that was lost may not hear of it. */
  async trimTombstones(): Promise<void> {
    try {
      await (this.#kv as KV & TrimsTombstones).purgeDeletes(0);
    } catch (error) {
      throw busError('forget removed keys', error);
    }
  }

  /** The keys that exist. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for await (const key of await this.#kv.keys()) keys.push(key);
    return keys;
  }

  /**
   * Calls `change` for every present key and then for each change, in order; resolves once the present ones were
   * seen. The returned function ends it. After a lost connection every key is told again: the library would notice the
   * lost watch only by its silence, seconds later.
   */
  async watch(change: (value: KeyedValue) => void): Promise<() => void> {
    let current = await this.#watchOnce(change);
    let ended = false;
    const again = () => {
      void this.#watchOnce(change).then(
        (stop) => {
          (ended ? stop : current)();
          if (!ended) current = stop;
        },
        () => {}, // The connection was lost once more; its return calls this again.
      );
    };
    this.#reconnected.add(again);
    return () => {
      ended = true;
      this.#reconnected.delete(again);
      current();
    };
  }

  async #watchOnce(change: (value: KeyedValue) => void): Promise<() => void> {
    let seen: () => void = () => {};
    const caughtUp = new Promise<void>((resolve) => {
      seen = resolve;
    });
    const watcher = await this.#kv.watch({ initializedFn: () => seen() });
    const reading = (async () => {
      for await (const entry of watcher) change(keyedValue(entry));
    })();
    await Promise.race([caughtUp, reading]);
    return () => watcher.stop();
  }
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
