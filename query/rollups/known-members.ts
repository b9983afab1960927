import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';

/** The most hashes that are known of the sets of one question. */
export const KNOWN_MAX: number = 3 * ROW_HASHES_MAX;
const HASH_BYTES = 8;
const SET_BYTES = 300;

/** What is known of one set: which hashes are in it, and which are not. Both ascending. */
interface KnownHashes {
  readonly inside: Float64Array;
  readonly outside: Float64Array;
}

const NOTHING: KnownHashes = { inside: new Float64Array(), outside: new Float64Array() };

/** Hashes by the name of their set. */
export type HashesBySet = ReadonlyMap<string, readonly number[]>;

/**
 * Which hashes are in sets that never change and are too large to be here. The store is asked once about each hash, so that a
 * repeated question asks only about what is new.
 */
export class KnownMembers {
  readonly #sets = new Map<string, KnownHashes>();
  #size = 0;

  /** What it holds, about. */
  get bytes(): number {
    return this.#size * HASH_BYTES + this.#sets.size * SET_BYTES;
  }

  /** How many hashes are known, in all sets. */
  get size(): number {
    return this.#size;
  }

  /**
   * How many of the hashes are not in their sets.
   * @param wanted distinct hashes of each set
   * @param ask which of these distinct hashes are in which sets; `unknown` has them by the set that they are needed of. More
   *   sets and hashes than asked about are harmless
   */
  async countOutside(
    wanted: HashesBySet,
    ask: (hashes: readonly number[], unknown: HashesBySet) => Promise<HashesBySet>,
  ): Promise<ReadonlyMap<string, number>> {
    const unknown = new Map<string, readonly number[]>();
    for (const [name, hashes] of wanted) {
      const { inside, outside } = this.#sets.get(name) ?? NOTHING;
      const more = hashes.filter((hash) => !isIn(inside, hash) && !isIn(outside, hash));
      if (more.length > 0) unknown.set(name, more);
    }
    if (unknown.size > 0) this.learn(unknown, await ask(distinctHashes(unknown), unknown));
    const counts = new Map<string, number>();
    for (const [name, hashes] of wanted) {
      const { outside } = this.#sets.get(name) ?? NOTHING;
      counts.set(
        name,
        hashes.reduce((count, hash) => count + (isIn(outside, hash) ? 1 : 0), 0),
      );
    }
    return counts;
  }

  /** Notes which of the hashes are in their sets, and that the others are not. */
  learn(asked: HashesBySet, found: HashesBySet): void {
    for (const [name, hashes] of asked) {
      const foundHere = new Set(found.get(name));
      const { inside, outside } = this.#sets.get(name) ?? NOTHING;
      // Another question may have learnt some of these meanwhile.
      const next = {
        inside: united(
          inside,
          hashes.filter((hash) => foundHere.has(hash)),
        ),
        outside: united(
          outside,
          hashes.filter((hash) => !foundHere.has(hash)),
        ),
      };
      this.#size += next.inside.length + next.outside.length - inside.length - outside.length;
      this.#sets.set(name, next);
    }
  }
}

/** The hashes of all sets, each once. */
export function distinctHashes(sets: HashesBySet): readonly number[] {
  return [...new Set([...sets.values()].flat())];
}

/** Whether an ascending list has a value. */
export function isIn(sorted: Float64Array, value: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === value;
}

function united(sorted: Float64Array, more: readonly number[]): Float64Array {
  const added = more.filter((hash) => !isIn(sorted, hash));
  if (added.length === 0) return sorted;
  const all = new Float64Array(sorted.length + added.length);
  all.set(sorted);
  all.set(added, sorted.length);
  return all.sort();
}
