import { closeGap, isFull, placeOf } from './probing.ts';

const FIRST_CAPACITY = 16;

/**
 * A set of numbers above 0, up to 2^32. Open addressing in one typed array takes about 7 bytes a number instead of the 40
 * of a Set, which counts with one number for each visitor and minute.
 */
export class NumberSet {
  #slots = new Uint32Array(FIRST_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Memory of the table. */
  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** Adds `value`; false when it was there. */
  add(value: number): boolean {
    const place = placeOf(this.#slots, value);
    if (this.#slots[place] === value) return false;
    this.#slots[place] = value;
    this.#size += 1;
    if (isFull(this.#size, this.#slots)) this.#grow();
    return true;
  }

  /** Removes `value`; false when it was not there. */
  delete(value: number): boolean {
    const place = placeOf(this.#slots, value);
    if (this.#slots[place] !== value) return false;
    closeGap(this.#slots, place);
    this.#size -= 1;
    return true;
  }

  has(value: number): boolean {
    return this.#slots[placeOf(this.#slots, value)] === value;
  }

  /** The numbers, in no particular order. */
  values(): number[] {
    return Array.from(this.#slots.filter((value) => value !== 0));
  }

  #grow(): void {
    const larger = new Uint32Array(this.#slots.length * 2);
    for (const value of this.#slots) if (value !== 0) larger[placeOf(larger, value)] = value;
    this.#slots = larger;
  }
}
