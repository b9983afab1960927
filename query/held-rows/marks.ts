const CODES_MIN = 1024;
const MARK_MAX = 2 ** 31 - 1;

/** Counts distinct codes since the last `clear`. Clearing costs nothing for any number of codes. */
export class Marks {
  #marks = new Int32Array(CODES_MIN);
  #mark = 0;

  /** Forgets all codes. From now on codes are below `codes`. */
  clear(codes: number): void {
    if (codes > this.#marks.length) {
      this.#marks = new Int32Array(codes * 2);
      this.#mark = 0;
    } else if (this.#mark === MARK_MAX) {
      this.#marks.fill(0);
      this.#mark = 0;
    }
    this.#mark += 1;
  }

  /** The code is the first of its kind since `clear`. */
  isNew(code: number): boolean {
    if (this.#marks[code] === this.#mark) return false;
    this.#marks[code] = this.#mark;
    return true;
  }
}

/**
 * Memory for numbers that computations reuse. Allocating megabytes outside of the heap each time would keep the garbage
 * collector running.
 */
export class Scratch {
  #numbers = new Int32Array(CODES_MIN);

  /** An array of this length with any content, valid until the next call. */
  take(length: number): Int32Array {
    if (length > this.#numbers.length) this.#numbers = new Int32Array(length * 2);
    return this.#numbers.subarray(0, length);
  }
}

/** A group's items in their order of arrival. */
export type ItemsOf = (group: number) => Int32Array;

/** Sorts items by group, with memory that computations reuse. */
export class Grouping {
  readonly #starts = new Scratch();
  readonly #next = new Scratch();
  readonly #sorted = new Scratch();

  /** `groupOf` has the group of each item, below `groups`. Valid until the next call. */
  sort(items: Int32Array, groupOf: Int32Array, groups: number): ItemsOf {
    /** By group, the index of its first item; at the end the number of items. */
    const starts = this.#starts.take(groups + 1).fill(0);
    for (let place = 0; place < items.length; place += 1) {
      const group = (groupOf[place] ?? 0) + 1;
      starts[group] = (starts[group] ?? 0) + 1;
    }
    for (let group = 1; group <= groups; group += 1)
      starts[group] = (starts[group] ?? 0) + (starts[group - 1] ?? 0);
    const next = this.#next.take(groups);
    next.set(starts.subarray(0, groups));
    const sorted = this.#sorted.take(items.length);
    for (let place = 0; place < items.length; place += 1) {
      const group = groupOf[place] ?? 0;
      const to = next[group] ?? 0;
      sorted[to] = items[place] ?? 0;
      next[group] = to + 1;
    }
    return (group) => sorted.subarray(starts[group], starts[group + 1]);
  }
}
