/** Reproducible pseudo-random numbers (mulberry32): the same for the same seed. Not for secrets. */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** A whole number from 0 to below `bound`. */
  below(bound: number): number {
    return this.integer(0, bound - 1);
  }

  /** True in `share` of the cases. */
  chance(share: number): boolean {
    return this.next() < share;
  }

  /** One of `values`, the first ones far more often, as with pages and countries. */
  favourite<Value>(values: readonly [Value, ...Value[]]): Value {
    return values[Math.floor(this.next() ** 2.5 * values.length)] ?? values[0];
  }

  /** One of `values`, all equally likely. */
  one<Value>(values: readonly [Value, ...Value[]]): Value {
    return values[Math.floor(this.next() * values.length)] ?? values[0];
  }

  /** Waiting time between independent events, `meanMs` on average. */
  waitMs(meanMs: number): number {
    return -Math.log(1 - this.next()) * meanMs;
  }
}
