const CAPACITY_MIN = 64;
/** Marks a place without a hash, which is never negative. */
const EMPTY = -1;
/** A hash with its mark. */
const SLOT_BYTES = 9;

/**
 * Hashes of visitors or sessions (`hashText` in `processor/rows.ts`), each with a mark. Any of their bits are as good as others, so
 * the lower ones are a place in a table.
 */
export class HashTable {
  /** By place, a hash or `EMPTY`; a taken place passes on to the next one. At least half of them are empty. */
  #hashes: Float64Array;
  #marks: Uint8Array;
  #size = 0;

  /** @param hashes have the mark 1 */
  constructor(hashes: readonly number[] = []) {
    let capacity = CAPACITY_MIN;
    while (capacity < 2 * hashes.length) capacity *= 2;
    this.#hashes = new Float64Array(capacity).fill(EMPTY);
    this.#marks = new Uint8Array(capacity);
    for (const hash of hashes) this.set(hash, 1);
  }

  /** How many hashes it has. */
  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#hashes.length * SLOT_BYTES;
  }

  /** The mark of a hash; undefined for one that it does not have. */
  markOf(hash: number): number | undefined {
    const place = this.#placeOf(hash);
    return this.#hashes[place] === EMPTY ? undefined : this.#marks[place];
  }

  /** Whether a hash is new. Then it has the mark 1. */
  add(hash: number): boolean {
    if (this.markOf(hash) !== undefined) return false;
    this.set(hash, 1);
    return true;
  }

  /** Gives a hash a mark, whether it was here or not. */
  set(hash: number, mark: number): void {
    const place = this.#placeOf(hash);
    if (this.#hashes[place] === EMPTY) {
      this.#hashes[place] = hash;
      this.#size += 1;
    }
    this.#marks[place] = mark;
    if (this.#size * 2 > this.#hashes.length) this.#grow();
  }

  /** Where a hash is, or would be. */
  #placeOf(hash: number): number {
    const hashes = this.#hashes;
    const last = hashes.length - 1;
    // `|` takes the lower 32 bits.
    let place = (hash | 0) & last;
    while (hashes[place] !== EMPTY && hashes[place] !== hash) place = (place + 1) & last;
    return place;
  }

  #grow(): void {
    const [hashes, marks] = [this.#hashes, this.#marks];
    this.#hashes = new Float64Array(hashes.length * 2).fill(EMPTY);
    this.#marks = new Uint8Array(marks.length * 2);
    for (const [before, hash] of hashes.entries()) {
      if (hash === EMPTY) continue;
      const place = this.#placeOf(hash);
      this.#hashes[place] = hash;
      this.#marks[place] = marks[before] ?? 0;
    }
  }
}
