import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';

const ENTRIES_MAX = 40_000;
/** A key with its entry. */
const ENTRY_BYTES = 300;
/** Maximum size of an entry, as a share of the space. */
const ENTRY_SHARE = 1 / 8;

/** The space that all caches of finalized parts in a process share: one limit, and one order of eviction. */
export class CacheSpace {
  /** Maximum size of an entry. */
  readonly entryMaxBytes: number;
  readonly values: LRUCache<string, object>;
  readonly loading = new Map<string, Promise<object | undefined>>();
  readonly asked = new LRUCache<string, true>({ max: ENTRIES_MAX });
  readonly rejected = new LRUCache<string, true>({ max: ENTRIES_MAX });

  constructor(bytesMax: number) {
    this.values = new LRUCache({ max: ENTRIES_MAX, maxSize: Math.max(1, Math.floor(bytesMax)) });
    this.entryMaxBytes = Math.floor(bytesMax * ENTRY_SHARE);
  }

  /** Evicts everything of a site. */
  evict(storedId: StoredId): void {
    for (const keys of [this.values, this.loading, this.asked, this.rejected])
      deleteKeys(keys, `${storedId} `);
  }
}

export interface FinalizedCacheOptions<Value> {
  readonly space: CacheSpace;
  /** The kind of its entries, in one word: caches of one space have different kinds. */
  readonly kind: string;
  /** Approximate size of an entry. */
  readonly bytesOf: (value: Value) => number;
  /** The first question under a key loads; otherwise the second. */
  readonly isEager: boolean;
}

/** A question in two parts: one is finalized and cached, the rest is asked every time. */
export interface InTwoParts<Value, Rest, Answer> {
  /** Loads the finalized part. Undefined when one statement over everything is as fast, or there is too much to cache. */
  readonly load: (rest: Promise<Rest>) => Promise<Value | undefined>;
  readonly askRest: () => Promise<Rest>;
  /** Undefined when the rest has too much to be added. The finalized part may learn from the rest. */
  readonly merge: (finalized: Value, rest: Rest) => Promise<Answer | undefined> | Answer | undefined;
}

/**
 * A cache of the finalized parts of answers, of one kind. A part is loaded once for all questions that wait for it. The
 * cache also remembers rejected keys, whose parts are never cached. Keys begin with a site and a space.
 */
export class FinalizedCache<Value extends object> {
  readonly #options: FinalizedCacheOptions<Value>;

  constructor(options: FinalizedCacheOptions<Value>) {
    this.#options = options;
  }

  /** Answers from the cached part and the rest. Undefined when one statement over everything is to answer. */
  async ask<Rest, Answer>(
    key: string,
    { load, askRest, merge }: InTwoParts<Value, Rest, Answer>,
  ): Promise<Answer | undefined> {
    if (!this.mayAnswer(key)) return undefined;
    const asked = askRest();
    const [finalized, rest] = await Promise.all([this.get(key, () => load(asked)), asked]);
    if (finalized === undefined) return undefined;
    const answer = await merge(finalized, rest);
    if (answer === undefined) this.reject(key);
    else this.recount(key, finalized);
    return answer;
  }

  /**
   * The cache may answer a question under this key: it is not the first one, and the key is not rejected. Loading takes
   * longer than one answer without the cache, and late changes may give the next question another key.
   */
  mayAnswer(key: string): boolean {
    if (this.isRejected(key)) return false;
    const { asked } = this.#options.space;
    const ofKind = this.#ofKind(key);
    const isAgain = this.#options.isEager || asked.has(ofKind);
    asked.set(ofKind, true);
    return isAgain;
  }

  /** The key is known to have nothing to cache. */
  isRejected(key: string): boolean {
    return this.#options.space.rejected.has(this.#ofKind(key));
  }

  /** The entry under a key, if it is cached. */
  peek(key: string): Value | undefined {
    return this.#options.space.values.peek(this.#ofKind(key)) as Value | undefined;
  }

  /** The entry under a key. Undefined when nothing is to be cached: `load` may say so, and the cache remembers it. */
  async get(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const { values, loading } = this.#options.space;
    const ofKind = this.#ofKind(key);
    const found = values.get(ofKind) as Value | undefined;
    if (found !== undefined || this.isRejected(key)) return found;
    const others = loading.get(ofKind) as Promise<Value | undefined> | undefined;
    // A load ends when the client that began it leaves. Then this question loads for itself.
    if (others !== undefined) return others.catch(load);
    const mine = load();
    loading.set(ofKind, mine);
    const isWanted = () => loading.get(ofKind) === mine;
    try {
      const value = await mine;
      // Evicted meanwhile: the loaded value may have been erased.
      if (!isWanted()) return value;
      if (value === undefined) this.reject(key);
      else this.#set(key, value);
      return value;
    } finally {
      if (isWanted()) loading.delete(ofKind);
    }
  }

  /** Updates the size of an entry that may have grown. */
  recount(key: string, value: Value): void {
    if (this.peek(key) === value) this.#set(key, value);
  }

  /** Evicts an entry for good: one statement is as fast, or there is too much. */
  reject(key: string): void {
    const { values, rejected } = this.#options.space;
    values.delete(this.#ofKind(key));
    rejected.set(this.#ofKind(key), true);
  }

  /** An entry without room is rejected: otherwise every question would load it. */
  #set(key: string, value: Value): void {
    const { space, bytesOf } = this.#options;
    const size = ENTRY_BYTES + bytesOf(value);
    if (size > space.entryMaxBytes) this.reject(key);
    else space.values.set(this.#ofKind(key), value, { size });
  }

  #ofKind(key: string): string {
    return `${key} ${this.#options.kind}`;
  }
}
