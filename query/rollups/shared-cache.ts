import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';

const ENTRIES_MAX = 5_000;
/** A key and what belongs to it. */
const ENTRY_BYTES = 300;

/** A cache whose entries are loaded once for all questions that wait for them. Keys begin with a site and a space. */
export class SharedCache<Value extends object> {
  readonly #values: LRUCache<string, Value>;
  readonly #loading = new Map<string, Promise<Value>>();
  readonly #asked = new LRUCache<string, true>({ max: ENTRIES_MAX });
  readonly #bytesOf: (value: Value) => number;

  /** @param bytesOf the bytes of an entry, about; all together have at most `bytesMax` */
  constructor(bytesMax: number, bytesOf: (value: Value) => number) {
    this.#values = new LRUCache({ max: ENTRIES_MAX, maxSize: bytesMax });
    this.#bytesOf = bytesOf;
  }

  /**
   * Whether there was a question under this key before. Loading takes longer than answering one question without it, and late
   * changes may give the next question another key.
   */
  isAskedAgain(key: string): boolean {
    const isAgain = this.#asked.has(key);
    this.#asked.set(key, true);
    return isAgain;
  }

  /** The entry under a key, if it is cached. */
  peek(key: string): Value | undefined {
    return this.#values.peek(key);
  }

  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const found = this.#values.get(key);
    if (found !== undefined) return found;
    const others = this.#loading.get(key);
    // A load ends when the client leaves that began it: then this one loads for itself.
    if (others !== undefined) return others.catch(load);
    const loading = load();
    this.#loading.set(key, loading);
    const isWanted = () => this.#loading.get(key) === loading;
    try {
      const value = await loading;
      // Evicted meanwhile: what was loaded may have been erased.
      if (isWanted()) this.#set(key, value);
      return value;
    } finally {
      if (isWanted()) this.#loading.delete(key);
    }
  }

  /** Puts another entry in the place of a cached one, or counts its bytes again when it has grown. */
  replace(key: string, value: Value, by: Value = value): void {
    if (this.#values.peek(key) === value) this.#set(key, by);
  }

  /** Evicts the entries of a site. */
  evict(storedId: string): void {
    deleteKeys(this.#values, `${storedId} `);
    deleteKeys(this.#loading, `${storedId} `);
    deleteKeys(this.#asked, `${storedId} `);
  }

  #set(key: string, value: Value): void {
    this.#values.set(key, value, { size: ENTRY_BYTES + this.#bytesOf(value) });
  }
}
