import { CACHED_HASHES_MAX, ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { Otherwise } from '../ways.ts';
import { type CacheSpace, FinalizedCache } from './finalized-cache.ts';

const HASH_BYTES = 8;

/** Distinct visitors or sessions of a rollup, as hashes. */
export interface HashSet {
  readonly count: number;
  /** Ascending; empty if rows cannot add to the set. */
  readonly hashes: Float64Array;
}

/** The set from an answer: `count` ascending doubles in base64. */
export function hashSetOf(count: number, base64: string): HashSet {
  // The store and this process run only on little-endian processors.
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return { count, hashes: new Float64Array(bytes.buffer) };
}

/** The size of the union of a set, if there is one, and `more`, which has distinct hashes. */
export function countWith(set: HashSet | undefined, more: Iterable<number>): number {
  let count = set?.count ?? 0;
  for (const hash of more) if (set === undefined || !isIn(set.hashes, hash)) count += 1;
  return count;
}

/** An answer with its number of hashes. */
interface LoadedAnswer<RollupAnswer> {
  readonly answer: RollupAnswer;
  readonly hashes: number;
}

/**
 * Answers from rollups, cached under a key that names the rollups, so they never change. An answer includes the hashes
 * of its visitors, and this process adds the visitors of rows. If there are too many, the cache remembers only that,
 * and the store is asked about each visitor of the rows (`known-members.ts`).
 */
export class RollupCache<RollupAnswer> {
  readonly #cache: FinalizedCache<LoadedAnswer<RollupAnswer>>;
  /** Maximum number of hashes in one answer. */
  readonly hashesMax: number;

  constructor(space: CacheSpace, kind: string, hashesMax = CACHED_HASHES_MAX) {
    this.hashesMax = Math.min(hashesMax, Math.floor(space.entryMaxBytes / HASH_BYTES));
    this.#cache = new FinalizedCache({
      ...{ space, kind },
      bytesOf: ({ hashes }) => hashes * HASH_BYTES,
      isEager: true,
    });
  }

  /** The answer under this key is known to have too many hashes. */
  hasTooMany(key: string): boolean {
    return this.#cache.rejection(key) !== undefined;
  }

  /** Notes the number of hashes that rows add to an answer; returns true if there are too many. */
  noteRows(key: string, count: number): boolean {
    const areTooMany = count > Math.min(ROW_HASHES_MAX, this.hashesMax);
    if (areTooMany) this.#cache.reject(key, 'too-many');
    return areTooMany;
  }

  /** Notes the number of hashes of an answer that is not cached yet, so that too many are never loaded. */
  noteCount(key: string, count: number): void {
    if (count > this.hashesMax && this.#cache.peek(key) === undefined) this.#cache.reject(key, 'too-many');
  }

  /** The answer under a key, loaded if necessary; none if it has too many hashes. */
  async get(key: string, load: () => Promise<LoadedAnswer<RollupAnswer>>): Promise<RollupAnswer | Otherwise> {
    const cached = await this.#cache.get(key, async () => {
      const loaded = await load();
      return loaded.hashes > this.hashesMax ? new Otherwise('too-many') : loaded;
    });
    return cached instanceof Otherwise ? cached : cached.answer;
  }
}

/** An ascending list contains the value. */
function isIn(sorted: Float64Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}
