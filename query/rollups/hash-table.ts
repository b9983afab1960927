import { randomBytes } from 'node:crypto';

const CAPACITY_MIN = 16;
/** Fill of a new or grown table, and its maximum. */
const FILLED = 0.64;
const FILLED_MAX = 0.8;
/** An empty slot. Hashes are never negative. */
const EMPTY = -1;
/** A hash with its mark. */
const PLACE_BYTES = 9;
const VALUES_OF_32_BITS = 2 ** 32;
/** Odd and random, so that no client can choose profile ids whose hashes collide. */
const [LOW_FACTOR = 1, HIGH_FACTOR = 1] = randomInts();

/**
 * A hash table for hashes of visitors or sessions (`hashText` in `processor/rows.ts`), each with a mark. Linear
 * probing: a hash whose slot is taken goes to the next free one.
 */
export class HashTable {
  #hashes: Float64Array;
  #marks: Uint8Array;
  #size = 0;

  /** @param hashes get the mark 1 */
  constructor(hashes: readonly number[] = []) {
    const capacity = Math.max(CAPACITY_MIN, Math.ceil(hashes.length / FILLED));
    this.#hashes = new Float64Array(capacity).fill(EMPTY);
    this.#marks = new Uint8Array(capacity);
    for (const hash of hashes) this.set(hash, 1);
  }

  /** The number of hashes. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#hashes.length * PLACE_BYTES;
  }

  /** The mark of a hash; undefined for a hash that is not in the table. */
  markOf(hash: number): number | undefined {
    const place = this.#placeOf(hash);
    return this.#hashes[place] === EMPTY ? undefined : this.#marks[place];
  }

  /** Sets the mark of a hash and adds the hash if it is new. */
  set(hash: number, mark: number): void {
    const place = this.#placeOf(hash);
    if (this.#hashes[place] === EMPTY) {
      this.#hashes[place] = hash;
      this.#size += 1;
    }
    this.#marks[place] = mark;
    if (this.#size > this.#hashes.length * FILLED_MAX) this.#grow();
  }

  /** Adds a new hash with the mark 1; returns false for a known one. */
  add(hash: number): boolean {
    if (this.markOf(hash) !== undefined) return false;
    this.set(hash, 1);
    return true;
  }

  /** The slot of a hash, or the free slot where it would go. */
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
