import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache/cache-keys.ts';
import { CACHED_HASHES_MAX, ROW_HASHES_MAX } from '../sql/rollup-texts.ts';

const ANSWERS_MAX = 10_000;
const HASH_BYTES = 8;

/** Distinct visitors or sessions of a rollup, as hashes. */
export interface HashSet {
  readonly count: number;
  /** Ascending; empty where rows cannot add to the set. */
  readonly hashes: Float64Array;
}

/** The set from an answer: `count` ascending doubles in base64. */
export function hashSetOf(count: number, base64: string): HashSet {
  // Doubles are little-endian on every processor that both the store and this process run on.
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return { count, hashes: new Float64Array(bytes.buffer) };
}

/** The size of the union of a set, if there is one, and `more`, whose members are distinct. */
export function countWith(set: HashSet | undefined, more: Iterable<number>): number {
  let count = set?.count ?? 0;
  for (const hash of more) if (set === undefined || !isIn(set.hashes, hash)) count += 1;
  return count;
}

/**
 * What rollups say, cached between questions under a key that names them: it never changes. An answer includes the hashes
 * of its visitors, so that this process can add those of the rows. Where they are too many, the cache remembers that
 * instead, and the store is asked about those of the rows (`known-members.ts`).
 */
export class RollupCache<RollupAnswer> {
  readonly #answers: LRUCache<string, { readonly answer: RollupAnswer | undefined; readonly hashes: number }>;
  /** The most hashes of one answer. */
  readonly hashesMax: number;

  /** @param bytesMax the bytes of all answers; one has at most half of them */
  constructor(bytesMax: number, hashesMax = CACHED_HASHES_MAX) {
    this.hashesMax = Math.min(hashesMax, Math.floor(bytesMax / HASH_BYTES / 2));
    this.#answers = new LRUCache({
      max: ANSWERS_MAX,
      maxSize: Math.max(1, Math.floor(bytesMax)),
      sizeCalculation: ({ hashes }) => 1 + hashes * HASH_BYTES,
    });
  }

  /** Evicts the answers of a site, whose keys begin with its `storedId` and a space. */
  evict(storedId: string): void {
    deleteKeys(this.#answers, `${storedId} `);
  }

  /** Whether the answer under this key is known to have too many hashes. */
  hasTooMany(key: string): boolean {
    const found = this.#answers.peek(key);
    return found !== undefined && found.answer === undefined;
  }

  /** Notes how many hashes the rows add to an answer; returns whether they are too many. */
  noteRows(key: string, count: number): boolean {
    const areTooMany = count > Math.min(ROW_HASHES_MAX, this.hashesMax);
    if (areTooMany) this.#answers.set(key, { answer: undefined, hashes: 0 });
    return areTooMany;
  }

  /** Notes how many hashes an answer has that is not cached yet, so that too many are not asked for. */
  noteCount(key: string, count: number): void {
    if (count > this.hashesMax && !this.#answers.has(key))
      this.#answers.set(key, { answer: undefined, hashes: 0 });
  }

  /** The answer under a key, loaded if it is not cached; undefined when it has too many hashes. */
  async get(
    key: string,
    load: () => Promise<{ readonly answer: RollupAnswer; readonly hashes: number }>,
  ): Promise<RollupAnswer | undefined> {
    const found = this.#answers.get(key);
    if (found !== undefined) return found.answer;
    const loaded = await load();
    const cached = loaded.hashes > this.hashesMax ? { answer: undefined, hashes: 0 } : loaded;
    this.#answers.set(key, cached);
    return cached.answer;
  }
}

/** Whether an ascending list has a value. */
function isIn(sorted: Float64Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}
