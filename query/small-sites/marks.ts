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

/** By group, its items in the order in which they came. */
export type ItemsOf = (group: number) => Int32Array;

/** Sorts items by group; `groupOf` has the group of each item, below `groups`. */
export function grouped(items: Int32Array, groupOf: Int32Array, groups: number): ItemsOf {
  /** By group, the place of its first item; and at last the number of items. */
  const starts = new Int32Array(groups + 1);
  for (let place = 0; place < items.length; place += 1) {
    const group = (groupOf[place] ?? 0) + 1;
    starts[group] = (starts[group] ?? 0) + 1;
  }
  for (let group = 1; group <= groups; group += 1)
    starts[group] = (starts[group] ?? 0) + (starts[group - 1] ?? 0);
  const next = starts.slice(0, groups);
  const sorted = new Int32Array(items.length);
  for (let place = 0; place < items.length; place += 1) {
    const group = groupOf[place] ?? 0;
    const to = next[group] ?? 0;
    sorted[to] = items[place] ?? 0;
    next[group] = to + 1;
  }
  return (group) => sorted.subarray(starts[group], starts[group + 1]);
}
