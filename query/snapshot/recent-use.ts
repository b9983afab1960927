/** The store time of the last quarter of a minute counts most: 15 s after a task has ended, 37 % of it is left. */
const REMEMBERED_MS = 15_000;
/** A running task counts as a second from its first moment on, so that tasks that begin together are distinguished. */
const ADVANCE = 1_000 / REMEMBERED_MS;

/**
 * An owner's recent average number of running tasks: two tasks without a pause are 2, one of 150 ms some 15 s ago is
 * 0.004. It measures time, not tasks, and includes tasks that still run.
 */
export class RecentUse {
  #average = 0;
  #running = 0;
  #atMs = 0;

  /** Notes that a task begins; with -1 that it ends. */
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

  /** Decides the order: the owner with the least is next. */
  weight(nowMs: number): number {
    return this.average(nowMs) + this.#running * ADVANCE;
  }
}

/** Owners from the least use to the most; equal ones in the order of the list. */
export function byUse<Owner extends { readonly use: RecentUse }>(
  owners: Iterable<Owner>,
  nowMs: number,
): Owner[] {
  return Array.from(owners, (owner) => ({ owner, weight: owner.use.weight(nowMs) }))
    .sort((a, b) => a.weight - b.weight)
    .map(({ owner }) => owner);
}

/** Makes room for one more owner: forgets the one with the least recent use among those without a task. */
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
