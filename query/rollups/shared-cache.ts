import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';

const ENTRIES_MAX = 5_000;
/** A key and what belongs to it. */
const ENTRY_BYTES = 300;

/** What a cache may take, and when it loads. */
export interface SharedCacheOptions<Value> {
  /** Of all entries together. */
  readonly bytesMax: number;
  /** The bytes of an entry, about. */
  readonly bytesOf: (value: Value) => number;
  /** Whether the first question under a key already loads. */
  readonly isEager: boolean;
}

/**
 * A cache whose entries are loaded once for all questions that wait for them. It remembers under which keys nothing is to be
 * cached, too. Keys begin with a site and a space.
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
   * Whether a question under this key is to be answered from here: not where nothing is to be cached, and not the first one.
   * Loading takes longer than answering one question without it, and late changes may give the next question another key.
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

  /** The entry under a key. Undefined where nothing is to be cached: `load` may say so, and the cache remembers it. */
  async get(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const found = this.#values.get(key);
    if (found !== undefined || this.#rejected.has(key)) return found;
    const others = this.#loading.get(key);
    // A load ends when the client leaves that began it: then this one loads for itself.
    if (others !== undefined) return others.catch(load);
    const loading = load();
    this.#loading.set(key, loading);
    const isWanted = () => this.#loading.get(key) === loading;
    try {
      const value = await loading;
      // Evicted meanwhile: what was loaded may have been erased.
      if (!isWanted()) return value;
      if (value === undefined) this.#rejected.set(key, true);
      else this.#set(key, value);
      return value;
    } finally {
      if (isWanted()) this.#loading.delete(key);
    }
  }

  /** Counts the bytes of an entry again, which may have grown. */
  recount(key: string, value: Value): void {
    if (this.#values.peek(key) === value) this.#set(key, value);
  }

  /** Evicts an entry and caches nothing under its key from now on: one statement answers as fast, or there is too much. */
  reject(key: string): void {
    this.#values.delete(key);
    this.#rejected.set(key, true);
  }

  /** Evicts the entries of a site. */
  evict(storedId: string): void {
    for (const keys of [this.#values, this.#loading, this.#asked, this.#rejected])
      deleteKeys(keys, `${storedId} `);
  }

  /** Rejects an entry that there is no room for: it would be loaded for every question. */
  #set(key: string, value: Value): void {
    const { bytesMax, bytesOf } = this.#options;
    const size = ENTRY_BYTES + bytesOf(value);
    if (size > bytesMax) this.reject(key);
    else this.#values.set(key, value, { size });
  }
}
