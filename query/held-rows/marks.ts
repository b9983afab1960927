const CODES_MIN = 1024;
const MARK_MAX = 2 ** 31 - 1;

/** Counts different codes: which ones came since the last `clear`. Clearing costs nothing, however many codes there are. */
export class Marks {
  #marks = new Int32Array(CODES_MIN);
  #mark = 0;

  /** Forgets all codes. From now on they are below `codes`. */
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

  /** Whether a code comes for the first time since then. */
  isNew(code: number): boolean {
    if (this.#marks[code] === this.#mark) return false;
    this.#marks[code] = this.#mark;
    return true;
  }
}

/**
 * Memory for numbers that one computation after the other uses. Made anew for each, megabytes outside of the heap would have the
 * garbage collector run all the time.
 */
export class Scratch {
  #numbers = new Int32Array(CODES_MIN);

  /** So many numbers, of any value. They are valid until the next call. */
  take(length: number): Int32Array {
    if (length > this.#numbers.length) this.#numbers = new Int32Array(length * 2);
    return this.#numbers.subarray(0, length);
  }
}

/** By group, its items in the order in which they came. */
export type ItemsOf = (group: number) => Int32Array;

/** Sorts items by group, in one computation after the other. */
export class Grouping {
  readonly #starts = new Scratch();
  readonly #next = new Scratch();
  readonly #sorted = new Scratch();

  /** `groupOf` has the group of each item, below `groups`. Valid until the next call. */
  sort(items: Int32Array, groupOf: Int32Array, groups: number): ItemsOf {
    /** By group, the place of its first item; and at last the number of items. */
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
