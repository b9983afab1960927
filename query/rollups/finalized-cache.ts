import { LRUCache } from 'lru-cache';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import { Requester } from '../snapshot/requester.ts';
import { Otherwise, orElse, type Reason } from '../ways.ts';

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
  readonly loading = new Map<string, Promise<object>>();
  readonly asked = new LRUCache<string, true>({ max: ENTRIES_MAX });
  /** By key, the reason to cache nothing under it. */
  readonly rejected = new LRUCache<string, Reason>({ max: ENTRIES_MAX });

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
  /** Loads the finalized part. None when one statement over everything is as fast, or there is too much to cache. */
  readonly load: (rest: Promise<Rest>) => Promise<Value | Otherwise>;
  readonly askRest: () => Promise<Rest>;
  /** None when the rest has too much to be added. The finalized part may learn from the rest. */
  readonly merge: (finalized: Value, rest: Rest) => Promise<Answer | Otherwise> | Answer | Otherwise;
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

  /** Answers from the cached part and the rest, unless one statement over everything is to answer. */
  async ask<Rest, Answer>(
    key: string,
    { load, askRest, merge }: InTwoParts<Value, Rest, Answer>,
  ): Promise<Answer | Otherwise> {
    const declined = this.declines(key);
    if (declined !== undefined) return declined;
    const asked = askRest();
    const [finalized, rest] = await Promise.all([this.get(key, () => load(asked)), asked]);
    if (finalized instanceof Otherwise) return finalized;
    const answer = await merge(finalized, rest);
    if (answer instanceof Otherwise) this.reject(key, answer.why);
    else this.recount(key, finalized);
    return answer;
  }

  /**
   * The reason not to answer a question under this key from the cache; undefined without one. The first question does
   * not wait for a load: it takes longer than an answer without the cache, and late changes may give the next question
   * another key.
   */
  declines(key: string): Otherwise | undefined {
    const rejected = this.rejection(key);
    if (rejected !== undefined) return rejected;
    const { asked } = this.#options.space;
    const ofKind = this.#ofKind(key);
    const isAgain = this.#options.isEager || asked.has(ofKind);
    asked.set(ofKind, true);
    return isAgain ? undefined : new Otherwise('first-question');
  }

  /** The reason to cache nothing under the key, if there is one. */
  rejection(key: string): Otherwise | undefined {
    const why = this.#options.space.rejected.get(this.#ofKind(key));
    return why && new Otherwise(why);
  }

  /** The entry under a key, if it is cached. */
  peek(key: string): Value | undefined {
    return this.#options.space.values.peek(this.#ofKind(key)) as Value | undefined;
  }

  /** The entry under a key. None when nothing is to be cached: `load` may say so, and the cache remembers it. */
  async get(key: string, load: () => Promise<Value | Otherwise>): Promise<Value | Otherwise> {
    const { values, loading } = this.#options.space;
    const ofKind = this.#ofKind(key);
    const found = values.get(ofKind) as Value | undefined;
    if (found !== undefined) {
      Requester.noteWay({ part: this.#options.kind, engine: 'cache', why: 'finalized' });
      return found;
    }
    const rejected = this.rejection(key);
    if (rejected !== undefined) return rejected;
    const others = loading.get(ofKind) as Promise<Value | Otherwise> | undefined;
    // A load ends when the client that began it leaves. Then this question loads for itself.
    if (others !== undefined) return others.catch(load);
    const mine = load();
    loading.set(ofKind, mine);
    const isWanted = () => loading.get(ofKind) === mine;
    try {
      const value = await mine;
      // Evicted meanwhile: the loaded value may have been erased.
      if (!isWanted()) return value;
      if (value instanceof Otherwise) this.reject(key, value.why);
      else this.#set(key, value);
      return value;
    } finally {
      if (isWanted()) loading.delete(ofKind);
    }
  }

  /** The entry under a key, loaded every time where nothing is cached. */
  async getOrLoad(key: string, load: () => Promise<Value>): Promise<Value> {
    return orElse(await this.get(key, load), load);
  }

  /** Updates the size of an entry that may have grown. */
  recount(key: string, value: Value): void {
    if (this.peek(key) === value) this.#set(key, value);
  }

  /** Evicts an entry for good. */
  reject(key: string, why: Reason): void {
    const { values, rejected } = this.#options.space;
    values.delete(this.#ofKind(key));
    rejected.set(this.#ofKind(key), why);
  }

  /** An entry without room is rejected: otherwise every question would load it. */
  #set(key: string, value: Value): void {
    const { space, bytesOf } = this.#options;
    const size = ENTRY_BYTES + bytesOf(value);
    if (size > space.entryMaxBytes) this.reject(key, 'too-many');
    else space.values.set(this.#ofKind(key), value, { size });
  }

  #ofKind(key: string): string {
    return `${key} ${this.#options.kind}`;
  }
}
