import { LRUCache } from 'lru-cache';
import { deleteKeys } from '../../infra/cache-keys.ts';
import { FINALIZED_HASHES_MAX, ROW_HASHES_MAX } from '../sql/rollup-texts.ts';

/** Hashes that the answers to one kind of question may keep, eight bytes each, and how many answers. */
const HASHES_MAX = 4_000_000;
const ANSWERS_MAX = 10_000;

/** Who was there by sums, as hashes. */
export interface HashSet {
  readonly count: number;
  /** Ascending; empty where nobody can come besides. */
  readonly hashes: Float64Array;
}

/** The set that a statement gives as so many doubles in base64, ascending. */
export function hashSetOf(count: number, base64: string): HashSet {
  // The engine's doubles are ours: little-endian on every processor that both run on.
  const bytes = Uint8Array.from(Buffer.from(base64, 'base64'));
  return { count, hashes: new Float64Array(bytes.buffer) };
}

/** How many are in a set, if there is one, together with `more`, each of whom is named once. */
export function countWith(set: HashSet | undefined, more: Iterable<number>): number {
  let count = set?.count ?? 0;
  for (const hash of more) if (set === undefined || !isIn(set.hashes, hash)) count += 1;
  return count;
}

/**
 * What is read from sums, kept between questions: under a key that names its sums it never changes. It comes with the
 * hashes of who was there, so that those of the rows can be added here. Where they are too many for that, this is
 * remembered instead, and the store adds them.
 */
export class RollupCache<Answer> {
  readonly #answers: LRUCache<string, { readonly answer: Answer | undefined; readonly hashes: number }>;
  /** Hashes of one answer that are not too many. */
  readonly hashesMax: number;

  constructor(hashesMax = FINALIZED_HASHES_MAX) {
    this.hashesMax = hashesMax;
    this.#answers = new LRUCache({
      max: ANSWERS_MAX,
      maxSize: HASHES_MAX,
      sizeCalculation: ({ hashes }) => 1 + hashes,
    });
  }

  /** Lets go of a site's answers, whose keys begin with what it is stored under and a space. */
  forget(storedId: string): void {
    deleteKeys(this.#answers, `${storedId} `);
  }

  /** Whether it is known that there are too many under this key. */
  hasTooMany(key: string): boolean {
    const found = this.#answers.peek(key);
    return found !== undefined && found.answer === undefined;
  }

  /** Notes how many the rows name beside these sums; returns whether they are too many. */
  noteRows(key: string, count: number): boolean {
    const areTooMany = count > Math.min(ROW_HASHES_MAX, this.hashesMax);
    if (areTooMany) this.#answers.set(key, { answer: undefined, hashes: 0 });
    return areTooMany;
  }

  /** The answer under a key, which `load` gives with the number of its hashes; undefined when those are too many. */
  async get(
    key: string,
    load: () => Promise<{ readonly answer: Answer; readonly hashes: number }>,
  ): Promise<Answer | undefined> {
    const found = this.#answers.get(key);
    if (found !== undefined) return found.answer;
    const loaded = await load();
    const kept = loaded.hashes > this.hashesMax ? { answer: undefined, hashes: 0 } : loaded;
    this.#answers.set(key, kept);
    return kept.answer;
  }
}

function isIn(sorted: Float64Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}
