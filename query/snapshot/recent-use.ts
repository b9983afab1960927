/** The store time of the last quarter of a minute counts most: 15 s after a task has ended, 37 % of it is left. */
const REMEMBERED_MS = 15_000;
/** What a running task counts from its first moment on, so that several that begin together are told apart: a second. */
const ADVANCE = 1_000 / REMEMBERED_MS;

/**
 * How many tasks an owner has had running lately, on average over time: two tasks that run without a pause are 2, one of 150 ms
 * some 15 s ago is 0.004. So it measures milliseconds, not tasks, and what is still running counts, too.
 */
export class RecentUse {
  #average = 0;
  #running = 0;
  #atMs = 0;

  /** Notes that a task begins, or with -1 that it ends. */
  add(count: 1 | -1, nowMs: number): void {
    this.average(nowMs);
    this.#running += count;
  }

  average(nowMs: number): number {
    const left = Math.exp((this.#atMs - nowMs) / REMEMBERED_MS);
    this.#average = this.#running + (this.#average - this.#running) * left;
    this.#atMs = nowMs;
    return this.#average;
  }

  /** What decides who is next: the owner with the least. */
  weight(nowMs: number): number {
    return this.average(nowMs) + this.#running * ADVANCE;
  }
}

/** Owners in the order in which they come next: the one with the least use first, and among equals as they are listed. */
export function byUse<Owner extends { readonly use: RecentUse }>(
  owners: Iterable<Owner>,
  nowMs: number,
): Owner[] {
  return Array.from(owners, (owner) => ({ owner, weight: owner.use.weight(nowMs) }))
    .sort((a, b) => a.weight - b.weight)
    .map(({ owner }) => owner);
}

/**
 * Makes room for one more owner. Of those without a task, whose recent use is all that is known of them, the one with the least
 * is forgotten.
 */
export function forgetLeast<Owner extends { readonly use: RecentUse; readonly isIdle: boolean }>(
  owners: Map<string, Owner>,
  most: number,
  nowMs: number,
): void {
  if (owners.size < most) return;
  let [least, leastUse] = ['', Number.POSITIVE_INFINITY];
  for (const [name, { isIdle, use }] of owners) {
    const average = isIdle ? use.average(nowMs) : Number.POSITIVE_INFINITY;
    if (average < leastUse) [least, leastUse] = [name, average];
  }
  owners.delete(least);
}
