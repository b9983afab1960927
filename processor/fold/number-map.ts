import { closeGap, isFull, placeOf } from './probing.ts';

const FIRST_CAPACITY = 8;

/**
 * Maps numbers to numbers. All keys are above 0; keys and values are at most 2^53. An entry takes about 30 bytes, half
 * of an entry in a Map.
 */
export class NumberMap {
  #keys = new Float64Array(FIRST_CAPACITY);
  #values = new Float64Array(FIRST_CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Memory of the table. */
  get bytes(): number {
    return this.#keys.byteLength + this.#values.byteLength;
  }

  /** The value of `key`; undefined for none. */
  get(key: number): number | undefined {
    const place = placeOf(this.#keys, key);
    return this.#keys[place] === key ? this.#values[place] : undefined;
  }

  /** Sets the value of `key`; false when it had one. */
  set(key: number, value: number): boolean {
    const place = placeOf(this.#keys, key);
    this.#values[place] = value;
    if (this.#keys[place] === key) return false;
    this.#keys[place] = key;
    this.#size += 1;
    if (isFull(this.#size, this.#keys)) this.#grow();
    return true;
  }

  /** Removes `key`; false when it was not there. */
  delete(key: number): boolean {
    const place = placeOf(this.#keys, key);
    if (this.#keys[place] !== key) return false;
    closeGap(this.#keys, place, this.#values);
    this.#size -= 1;
    return true;
  }

  /** The keys, in no particular order. */
  keys(): number[] {
    return Array.from(this.#keys.filter((key) => key !== 0));
  }

  /** The values, in the order of `keys`. */
  values(): number[] {
    const keys = this.#keys;
    return Array.from(this.#values.filter((_, place) => keys[place] !== 0));
  }

  #grow(): void {
    const keys = new Float64Array(this.#keys.length * 2);
    const values = new Float64Array(keys.length);
    this.#keys.forEach((key, from) => {
      if (key === 0) return;
      const place = placeOf(keys, key);
      keys[place] = key;
      values[place] = this.#values[from] ?? 0;
    });
    this.#keys = keys;
    this.#values = values;
  }
}
