const FIRST_CAPACITY = 1_024;
/** The fullest a map becomes before it grows: beyond it, a look-up of an absent key walks too far. */
const LOAD_MAX = 0.8;
const GROWTH = 1.5;
const RANGE = 4_294_967_296;

/**
 * A map from 64-bit hashes to numbers from 1 to 65,535, in flat arrays: 10 bytes a place. Once it has grown, more than half of the places
 * are in use, so an entry takes at most 19 bytes. A `Map` with text keys takes ten times as much.
 *
 * Open addressing with linear probing; removal moves later entries back, so that no place is ever a tombstone. Keys that collide in all 64
 * bits are one key.
 */
export class HashedMap {
  readonly #max: number;
  #capacity = FIRST_CAPACITY;
  #high = new Uint32Array(FIRST_CAPACITY);
  #low = new Uint32Array(FIRST_CAPACITY);
  /** 0: the place is free. */
  #values = new Uint16Array(FIRST_CAPACITY);
  #size = 0;

  /** `max`: the most entries. `expected`: makes room for this number immediately. */
  constructor(max: number, expected = 0) {
    this.#max = max;
    if (expected > FIRST_CAPACITY * LOAD_MAX) this.#resize(Math.ceil(Math.min(expected, max) / LOAD_MAX) + 1);
  }

  /** The number of entries. */
  get size(): number {
    return this.#size;
  }

  /** The bytes of its arrays. */
  get bytes(): number {
    return this.#capacity * 10;
  }

  /** The value; 0 when the key is absent. */
  get(high: number, low: number): number {
    return this.#values[this.#find(high, low)] ?? 0;
  }

  /** Adds or replaces a value. False: the map is full, and the key stays absent. */
  set(high: number, low: number, value: number): boolean {
    let place = this.#find(high, low);
    if (this.#values[place] === 0) {
      if (this.#size >= this.#max) return false;
      this.#size += 1;
      if (this.#size > this.#capacity * LOAD_MAX) {
        this.#resize(Math.ceil(this.#capacity * GROWTH));
        place = this.#find(high, low);
      }
      this.#high[place] = high;
      this.#low[place] = low;
    }
    this.#values[place] = value;
    return true;
  }

  /** Removes a key; false when it was absent. */
  delete(high: number, low: number): boolean {
    let free = this.#find(high, low);
    if (this.#values[free] === 0) return false;
    this.#size -= 1;
    for (let place = this.#next(free); this.#values[place] !== 0; place = this.#next(place)) {
      // An entry moves to the free place unless that place is in front of where its search begins.
      const home = this.#home(this.#high[place] ?? 0);
      if (this.#distance(home, place) < this.#distance(free, place)) continue;
      this.#high[free] = this.#high[place] ?? 0;
      this.#low[free] = this.#low[place] ?? 0;
      this.#values[free] = this.#values[place] ?? 0;
      free = place;
    }
    this.#values[free] = 0;
    return true;
  }

  /** Visits all entries, in no order. Nothing may change meanwhile. */
  visit(visit: (high: number, low: number, value: number) => void): void {
    for (let place = 0; place < this.#capacity; place += 1) {
      const value = this.#values[place] ?? 0;
      if (value !== 0) visit(this.#high[place] ?? 0, this.#low[place] ?? 0, value);
    }
  }

  /** The place of the key, or the free place where it would go. */
  #find(high: number, low: number): number {
    let place = this.#home(high);
    while (this.#values[place] !== 0 && (this.#high[place] !== high || this.#low[place] !== low))
      place = this.#next(place);
    return place;
  }

  #home(high: number): number {
    return Math.floor((high / RANGE) * this.#capacity);
  }

  #next(place: number): number {
    return place + 1 === this.#capacity ? 0 : place + 1;
  }

  #distance(from: number, to: number): number {
    return to >= from ? to - from : to + this.#capacity - from;
  }

  #resize(capacity: number): void {
    const [high, low, values] = [this.#high, this.#low, this.#values];
    this.#capacity = capacity;
    this.#high = new Uint32Array(capacity);
    this.#low = new Uint32Array(capacity);
    this.#values = new Uint16Array(capacity);
    for (let old = 0; old < values.length; old += 1) {
      if (values[old] === 0) continue;
      const place = this.#find(high[old] ?? 0, low[old] ?? 0);
      this.#high[place] = high[old] ?? 0;
      this.#low[place] = low[old] ?? 0;
      this.#values[place] = values[old] ?? 0;
    }
  }
}
