import { randomBytes } from 'node:crypto';

const CAPACITY_MIN = 16;
/** How full a new or grown table is, and how full it may be at most. */
const FILLED = 0.64;
const FILLED_MAX = 0.8;
/** Marks a place without a hash, which is never negative. */
const EMPTY = -1;
/** A hash with its mark. */
const PLACE_BYTES = 9;
const VALUES_OF_32_BITS = 2 ** 32;
/** Odd and random, so that no client can choose ids of profiles whose hashes all share one place. */
const [LOW_FACTOR = 1, HIGH_FACTOR = 1] = randomInts();

/**
 * A hash table of hashes of visitors or sessions (`hashText` in `processor/rows.ts`), each with a mark. It uses linear probing: a hash
 * whose place is taken goes to the next free one.
 */
export class HashTable {
  #hashes: Float64Array;
  #marks: Uint8Array;
  #size = 0;

  /** @param hashes have the mark 1 */
  constructor(hashes: readonly number[] = []) {
    const capacity = Math.max(CAPACITY_MIN, Math.ceil(hashes.length / FILLED));
    this.#hashes = new Float64Array(capacity).fill(EMPTY);
    this.#marks = new Uint8Array(capacity);
    for (const hash of hashes) this.set(hash, 1);
  }

  /** How many hashes it has. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#hashes.length * PLACE_BYTES;
  }

  /** The mark of a hash; undefined for one that it does not have. */
  markOf(hash: number): number | undefined {
    const place = this.#placeOf(hash);
    return this.#hashes[place] === EMPTY ? undefined : this.#marks[place];
  }

  /** Gives a hash a mark, whether it was here or not. */
  set(hash: number, mark: number): void {
    const place = this.#placeOf(hash);
    if (this.#hashes[place] === EMPTY) {
      this.#hashes[place] = hash;
      this.#size += 1;
    }
    this.#marks[place] = mark;
    if (this.#size > this.#hashes.length * FILLED_MAX) this.#grow();
  }

  /** Gives a hash the mark 1 if it is new; returns whether it is. */
  add(hash: number): boolean {
    if (this.markOf(hash) !== undefined) return false;
    this.set(hash, 1);
    return true;
  }

  /** The place of a hash, or the free one where it would go. */
  #placeOf(hash: number): number {
    const hashes = this.#hashes;
    const mixed = Math.imul(hash, LOW_FACTOR) + Math.imul(hash / VALUES_OF_32_BITS, HIGH_FACTOR);
    let place = Math.floor(((mixed >>> 0) / VALUES_OF_32_BITS) * hashes.length);
    while (hashes[place] !== EMPTY && hashes[place] !== hash) {
      place += 1;
      if (place === hashes.length) place = 0;
    }
    return place;
  }

  #grow(): void {
    const [hashes, marks] = [this.#hashes, this.#marks];
    const capacity = Math.ceil(this.#size / FILLED);
    this.#hashes = new Float64Array(capacity).fill(EMPTY);
    this.#marks = new Uint8Array(capacity);
    for (const [before, hash] of hashes.entries()) {
      if (hash === EMPTY) continue;
      const place = this.#placeOf(hash);
      this.#hashes[place] = hash;
      this.#marks[place] = marks[before] ?? 0;
    }
  }
}

function randomInts(): Int32Array {
  return new Int32Array(Uint8Array.from(randomBytes(8)).buffer).map((value) => value | 1);
}
