const FIRST_CAPACITY = 16;
/** The largest fill of the table: above it, probing gets long. */
const FILL_MAX = 0.7;

type Numbers = Float64Array | Uint32Array;

/**
 * A set of numbers above 0, up to 2^53, or to 2^32 when it is told so. Open addressing in one typed array takes about 15
 * bytes a number, or half of that, instead of the 40 of a Set, which counts with one number for each visitor and minute.
 */
export class NumberSet {
  #slots: Numbers;
  #size = 0;

  constructor(bits: 32 | 64 = 64) {
    this.#slots = bits === 32 ? new Uint32Array(FIRST_CAPACITY) : new Float64Array(FIRST_CAPACITY);
  }

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
    if (this.#size > this.#slots.length * FILL_MAX) this.#grow();
    return true;
  }

  /** Removes `value`; false when it was not there. */
  delete(value: number): boolean {
    const slots = this.#slots;
    let free = placeOf(slots, value);
    if (slots[free] !== value) return false;
    const mask = slots.length - 1;
    // Numbers behind the gap move into it, unless that would put them in front of where their search begins.
    for (let place = (free + 1) & mask; slots[place] !== 0; place = (place + 1) & mask) {
      const moved = slots[place] ?? 0;
      if (((place - startOf(slots, moved)) & mask) < ((place - free) & mask)) continue;
      slots[free] = moved;
      free = place;
    }
    slots[free] = 0;
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
    const length = this.#slots.length * 2;
    const larger = this.#slots instanceof Uint32Array ? new Uint32Array(length) : new Float64Array(length);
    for (const value of this.#slots) if (value !== 0) larger[placeOf(larger, value)] = value;
    this.#slots = larger;
  }
}

/** The position of `value`, or the free position where it would go. */
function placeOf(slots: Numbers, value: number): number {
  const mask = slots.length - 1;
  let place = startOf(slots, value);
  while (slots[place] !== 0 && slots[place] !== value) place = (place + 1) & mask;
  return place;
}

/** The position where the search for `value` begins. */
function startOf(slots: Numbers, value: number): number {
  // Hashes need no mixing; the multiplication spreads numbers that are not hashes.
  return (Math.imul((value % 4_294_967_296) | 0, 0x9e3779b1) >>> 7) & (slots.length - 1);
}
