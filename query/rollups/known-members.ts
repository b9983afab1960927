import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { HashTable } from './hash-table.ts';

/** The most hashes that are known of the sets of one question. */
export const KNOWN_MAX: number = 3 * ROW_HASHES_MAX;
const SET_BYTES = 300;

/** The mark of a hash that is not in the set, and of one that is. */
const OUTSIDE = 0;
const INSIDE = 1;

/** Hashes by the name of their set. */
export type HashesBySet = ReadonlyMap<string, readonly number[]>;

/**
 * Which hashes are in sets that never change and are too large to be here. The store is asked once about each hash, so that a
 * repeated question asks only about what is new.
 */
export class KnownMembers {
  /** What is known of each set: `INSIDE` and `OUTSIDE`. */
  readonly #sets = new Map<string, HashTable>();

  /** What it holds, about. */
  get bytes(): number {
    return this.#sum((table) => table.bytes + SET_BYTES);
  }

  /** How many hashes are known, in all sets. */
  get size(): number {
    return this.#sum((table) => table.size);
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

  /** Notes which of the hashes are in their sets, and that the others are not. */
  learn(asked: HashesBySet, found: HashesBySet): void {
    for (const [name, hashes] of asked) {
      const table = this.#sets.get(name) ?? new HashTable();
      this.#sets.set(name, table);
      for (const hash of hashes) if (table.markOf(hash) === undefined) table.set(hash, OUTSIDE);
      const foundHere = new HashTable(found.get(name) ?? []);
      for (const hash of hashes) if (foundHere.markOf(hash) !== undefined) table.set(hash, INSIDE);
    }
  }

  /** How many of the hashes are known to be outside of a set, and those of which nothing is known. */
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

/** The hashes of all sets, each once. */
export function distinctHashes(sets: HashesBySet): readonly number[] {
  return [...new Set([...sets.values()].flat())];
}
