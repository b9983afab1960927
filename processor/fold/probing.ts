/** The largest fill of a table: above it, probing gets long. */
const FILL_MAX = 0.7;

/**
 * A table of numbers by open addressing: 0 marks a free place, and the length is a power of two. `NumberSet` and `NumberMap` own one each.
 */
export type Numbers = Float64Array | Uint32Array;

/** True if a table with this many numbers must grow. */
export function isFull(size: number, table: Numbers): boolean {
  return size > table.length * FILL_MAX;
}

/** The position of `value`, or the free position where it would go. */
export function placeOf(table: Numbers, value: number): number {
  const mask = table.length - 1;
  let place = startOf(table, value);
  while (table[place] !== 0 && table[place] !== value) place = (place + 1) & mask;
  return place;
}

/**
 * Removes the number at `place`. Numbers behind it move into the gap, unless that would put them before the start of their search; the
 * values of `beside` at their places move along.
 */
export function closeGap(table: Numbers, place: number, beside?: Numbers): void {
  const mask = table.length - 1;
  let free = place;
  for (let next = (place + 1) & mask; table[next] !== 0; next = (next + 1) & mask) {
    const moved = table[next] ?? 0;
    if (((next - startOf(table, moved)) & mask) < ((next - free) & mask)) continue;
    table[free] = moved;
    if (beside !== undefined) beside[free] = beside[next] ?? 0;
    free = next;
  }
  table[free] = 0;
}

/** The position where the search for `value` begins. */
function startOf(table: Numbers, value: number): number {
  // Hashes need no mixing; the multiplication spreads numbers that are not hashes.
  return (Math.imul((value % 4_294_967_296) | 0, 0x9e3779b1) >>> 7) & (table.length - 1);
}
