import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';

const ENTRIES_MAX = 5_000;
/** A key with its entry. */
const ENTRY_BYTES = 300;

/** The limit of a cache, and its time to load. */
export interface SharedCacheOptions<Value> {
  /** For all entries together. */
  readonly bytesMax: number;
  /** Approximate size of an entry. */
  readonly bytesOf: (value: Value) => number;
  /** The first question under a key loads; otherwise the second. */
  readonly isEager: boolean;
}

/**
 * A cache that loads an entry once for all questions that wait for it. It also remembers rejected keys, whose entries
 * are never cached. Keys begin with a site and a space.
 */
export class SharedCache<Value extends object> {
  readonly #values: LRUCache<string, Value>;
  readonly #loading = new Map<string, Promise<Value | undefined>>();
  readonly #asked = new LRUCache<string, true>({ max: ENTRIES_MAX });
  readonly #rejected = new LRUCache<string, true>({ max: ENTRIES_MAX });
  readonly #options: SharedCacheOptions<Value>;

  constructor(options: SharedCacheOptions<Value>) {
    this.#values = new LRUCache({ max: ENTRIES_MAX, maxSize: Math.max(1, Math.floor(options.bytesMax)) });
    this.#options = options;
  }

  /**
   * The cache may answer a question under this key: it is not the first one, and the key is not rejected. Loading takes
   * longer than one answer without the cache, and late changes may give the next question another key.
   */
  mayAnswer(key: string): boolean {
    if (this.#rejected.has(key)) return false;
    const isAgain = this.#options.isEager || this.#asked.has(key);
    this.#asked.set(key, true);
    return isAgain;
  }

  /** The entry under a key, if it is cached. */
  peek(key: string): Value | undefined {
    return this.#values.peek(key);
  }

  /** The entry under a key. Undefined when nothing is to be cached: `load` may say so, and the cache remembers it. */
  async get(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const found = this.#values.get(key);
    if (found !== undefined || this.#rejected.has(key)) return found;
    const others = this.#loading.get(key);
    // A load ends when the client that began it leaves. Then this question loads for itself.
    if (others !== undefined) return others.catch(load);
    const loading = load();
    this.#loading.set(key, loading);
    const isWanted = () => this.#loading.get(key) === loading;
    try {
      const value = await loading;
      // Evicted meanwhile: the loaded value may have been erased.
      if (!isWanted()) return value;
      if (value === undefined) this.#rejected.set(key, true);
      else this.#set(key, value);
      return value;
    } finally {
      if (isWanted()) this.#loading.delete(key);
    }
  }

  /** Updates the size of an entry that may have grown. */
  recount(key: string, value: Value): void {
    if (this.#values.peek(key) === value) this.#set(key, value);
  }

  /** Evicts an entry for good: one statement is as fast, or there is too much. */
  reject(key: string): void {
    this.#values.delete(key);
    this.#rejected.set(key, true);
  }

  /** Evicts the entries of a site. */
  evict(storedId: StoredId): void {
    for (const keys of [this.#values, this.#loading, this.#asked, this.#rejected])
      deleteKeys(keys, `${storedId} `);
  }

  /** An entry without room is rejected: otherwise every question would load it. */
  #set(key: string, value: Value): void {
    const { bytesMax, bytesOf } = this.#options;
    const size = ENTRY_BYTES + bytesOf(value);
    if (size > bytesMax) this.reject(key);
    else this.#values.set(key, value, { size });
  }
}
