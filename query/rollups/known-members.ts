import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { HashTable } from './hash-table.ts';

/** Maximum number of known hashes in the sets of one question. */
export const KNOWN_MAX: number = 3 * ROW_HASHES_MAX;
const SET_BYTES = 300;

/** The marks of a hash outside and inside of the set. */
const OUTSIDE = 0;
const INSIDE = 1;

/** Hashes by the name of their set. */
export type HashesBySet = ReadonlyMap<string, readonly number[]>;

/**
 * Membership of hashes in sets that never change and are too large for this process. The store is asked about each hash
 * once, so a repeated question asks only about new hashes.
 */
export class KnownMembers {
  /** By set, the known hashes with the mark `INSIDE` or `OUTSIDE`. */
  readonly #sets = new Map<string, HashTable>();

  /** Approximate size. */
  get bytes(): number {
    return this.#sum((table) => table.bytes + SET_BYTES);
  }

  /** The number of known hashes, over all sets. */
  get size(): number {
    return this.#sum((table) => table.size);
  }

  /**
   * Counts the hashes outside of their sets.
   * @param wanted distinct hashes by set
   * @param ask finds these distinct hashes in the sets; `unknown` has them by the set in question. More sets and
   *   hashes in the result are harmless
   */
  async countOutside(
    wanted: HashesBySet,
    ask: (hashes: readonly number[], unknown: HashesBySet) => Promise<HashesBySet>,
  ): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    const unknown = new Map<string, readonly number[]>();
    for (const [name, hashes] of wanted) {
      const { outside, more } = this.#told(name, hashes);
      counts.set(name, outside);
      if (more.length > 0) unknown.set(name, more);
    }
    if (unknown.size === 0) return counts;
    this.learn(unknown, await ask(distinctHashes(unknown), unknown));
    for (const [name, hashes] of unknown) {
      const { outside } = this.#told(name, hashes);
      counts.set(name, (counts.get(name) ?? 0) + outside);
    }
    return counts;
  }

  /** Notes the found hashes as inside of their sets, and the other asked ones as outside. */
  learn(asked: HashesBySet, found: HashesBySet): void {
    for (const [name, hashes] of asked) {
      const table = this.#sets.get(name) ?? new HashTable();
      this.#sets.set(name, table);
      for (const hash of hashes) if (table.markOf(hash) === undefined) table.set(hash, OUTSIDE);
      const foundHere = new HashTable(found.get(name) ?? []);
      for (const hash of hashes) if (foundHere.markOf(hash) !== undefined) table.set(hash, INSIDE);
    }
  }

  /** The number of hashes known to be outside of a set, and the unknown hashes. */
  #told(
    name: string,
    hashes: readonly number[],
  ): { readonly outside: number; readonly more: readonly number[] } {
    const table = this.#sets.get(name);
    if (table === undefined) return { outside: 0, more: hashes };
    let outside = 0;
    const more: number[] = [];
    for (const hash of hashes) {
      const mark = table.markOf(hash);
      if (mark === OUTSIDE) outside += 1;
      else if (mark === undefined) more.push(hash);
    }
    return { outside, more };
  }

  #sum(of: (table: HashTable) => number): number {
    let sum = 0;
    for (const table of this.#sets.values()) sum += of(table);
    return sum;
  }
}

/** The hashes of all sets, without repetition. */
export function distinctHashes(sets: HashesBySet): readonly number[] {
  return [...new Set([...sets.values()].flat())];
}
