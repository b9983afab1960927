import type { Metrics } from '../metrics.ts';

/** Work is counted over this time, as a sliding window of two halves that follow one another. */
export const CPU_WINDOW_MS = 10_000;
/** Counted for the head and the answer of a rejected request, which are not measured. */
const REJECTION_MS = 0.03;
/** The process is busy once requests wait this long until they are read. */
const BUSY_WAIT_MS = 250;
/**
 * CPU time that the rejected requests of one network may cost in a window, busy or not: a tenth of a core, the cost of 30,000 wrong
 * secrets. An honest sender has few, and they cost little.
 */
export const REJECTED_CPU_MAX_MS = 1_000;
/** With less counted work in the window, it is not the requests that keep the process busy, and refusing them would not help. */
const COUNTED_MIN_MS = 2_000;
/** An owner below this share of the window is never refused, on however busy a process. */
const SMALL_SHARE = 0.02;
/** Owners that are counted in half a window; when another one comes, one with little work is replaced. */
export const CPU_OWNERS_MAX = 4_096;
/** Owners that are compared to find the one with the least work, so that a flood of new owners costs little. */
const PROBES_MAX = 8;

/** The reason for refusing an owner. */
export const CPU_REFUSALS = ['share', 'rejected'] as const;
export type CpuRefusal = (typeof CPU_REFUSALS)[number];

export interface CpuBudgetOptions {
  readonly metrics: Metrics;
  /** The service in this process that it limits, for metrics. */
  readonly service: string;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

interface Owners {
  /** Milliseconds of work by owner. */
  readonly workMs: Map<string, number>;
  totalMs: number;
}

/**
 * Counts the milliseconds of work that each owner of requests costs the process: a proven client, or else the network
 * of an address. While the process is busy, owners above their fair share are refused before any other; a single owner
 * may use the whole machine.
 *
 * The fair share is four fifths of the window's work, divided by its owners: an owner that needs less leaves the rest
 * to the others. Rejected requests count separately, against an absolute limit.
 */
export class CpuBudget {
  readonly #nowMs: () => number;
  readonly #halves: [Owners, Owners] = [emptyOwners(), emptyOwners()];
  readonly #rejected: [Owners, Owners] = [emptyOwners(), emptyOwners()];
  #half = 0;
  /** The share as computed last, and when. */
  #fairShareMs = Number.POSITIVE_INFINITY;
  #sharedAtMs = Number.NEGATIVE_INFINITY;
  #workMs = 0;
  readonly #refused: Readonly<Record<CpuRefusal, { add(): void }>>;

  constructor({ metrics, service, nowMs = () => performance.now() }: CpuBudgetOptions) {
    this.#nowMs = nowMs;
    const refused = {} as Record<CpuRefusal, { add(): void }>;
    for (const reason of CPU_REFUSALS)
      refused[reason] = metrics.counter(
        'cpu_refusals_total',
        'requests refused for the work of their sender, by reason',
        {
          service,
          reason,
        },
      );
    this.#refused = refused;
    metrics.gaugeOf(
      'cpu_counted_seconds_total',
      'work on requests that was counted against their senders',
      { service },
      () => this.#workMs / 1000,
    );
  }

  /** Now, for `count`. */
  begin(): number {
    return this.#nowMs();
  }

  /** Counts the work since `begunMs` for an owner. */
  count(owner: string, begunMs: number): void {
    const nowMs = this.#nowMs();
    this.#add(owner, nowMs, Math.max(0, nowMs - begunMs));
  }

  /** Counts work that was measured elsewhere. */
  countWork(owner: string, workMs: number): void {
    this.#add(owner, this.#nowMs(), workMs);
  }

  /** Counts the work since `begunMs` on a request that was rejected, for the network that it came from. */
  countRejected(network: string, begunMs: number): void {
    const nowMs = this.#nowMs();
    this.#advance(nowMs);
    add(this.#rejected[0], network, Math.max(0, nowMs - begunMs) + REJECTION_MS);
  }

  /** True if the owner has more than its fair share. Ask only while the process is busy; counts a refusal. */
  refuses(owner: string): boolean {
    const nowMs = this.#nowMs();
    this.#advance(nowMs);
    const [current, before] = this.#halves;
    if (current.totalMs + before.totalMs < COUNTED_MIN_MS) return false;
    const spentMs = (current.workMs.get(owner) ?? 0) + (before.workMs.get(owner) ?? 0);
    if (spentMs <= SMALL_SHARE * CPU_WINDOW_MS || spentMs <= this.#fairShare(nowMs)) return false;
    this.#refused.share.add();
    return true;
  }

  /** True if the rejected requests of all networks together cost more than one network may. Otherwise no network has to be determined. */
  get hasRejected(): boolean {
    const [current, before] = this.#rejected;
    return current.totalMs + before.totalMs > REJECTED_CPU_MAX_MS;
  }

  /** True if a network's rejected requests have cost so much that its next ones are refused by their heads. Counts a refusal. */
  refusesRejected(network: string): boolean {
    this.#advance(this.#nowMs());
    const [current, before] = this.#rejected;
    const spentMs = (current.workMs.get(network) ?? 0) + (before.workMs.get(network) ?? 0);
    if (spentMs <= REJECTED_CPU_MAX_MS) return false;
    this.#refused.rejected.add();
    return true;
  }

  /** Number of owners that are counted. */
  get owners(): number {
    return this.#halves[0].workMs.size + this.#halves[1].workMs.size;
  }

  /** The largest share that all owners above it can have, as `max-min` fairness gives it. Computed at most ten times a second. */
  #fairShare(nowMs: number): number {
    if (nowMs - this.#sharedAtMs < CPU_WINDOW_MS / 100) return this.#fairShareMs;
    this.#sharedAtMs = nowMs;
    const spent = new Map(this.#halves[0].workMs);
    for (const [owner, workMs] of this.#halves[1].workMs) spent.set(owner, (spent.get(owner) ?? 0) + workMs);
    const ascending = [...spent.values()].sort((one, other) => one - other);
    // Total demand is the counted work; while requests wait, owners can have less.
    let leftMs = FAIR_PART * ascending.reduce((sum, workMs) => sum + workMs, 0);
    let left = ascending.length;
    for (const workMs of ascending) {
      if (workMs > leftMs / left) break;
      leftMs -= workMs;
      left -= 1;
    }
    // A single owner competes with none.
    this.#fairShareMs = ascending.length < 2 || left === 0 ? Number.POSITIVE_INFINITY : leftMs / left;
    return this.#fairShareMs;
  }

  #add(owner: string, nowMs: number, workMs: number): void {
    this.#advance(nowMs);
    this.#workMs += workMs;
    add(this.#halves[0], owner, workMs);
  }

  #advance(nowMs: number): void {
    const half = Math.floor(nowMs / (CPU_WINDOW_MS / 2));
    if (half === this.#half) return;
    const isNext = half === this.#half + 1;
    for (const halves of [this.#halves, this.#rejected]) {
      halves[1] = isNext ? halves[0] : emptyOwners();
      halves[0] = emptyOwners();
    }
    this.#half = half;
  }
}

/** The part of the counted work that owners share while a process is busy, so that there are some above their share. */
const FAIR_PART = 0.8;

/** True if the process is busy: requests wait at least `BUSY_WAIT_MS` until they are read. */
export function isBusyAt(waitMs: number): boolean {
  return waitMs >= BUSY_WAIT_MS;
}

function emptyOwners(): Owners {
  return { workMs: new Map(), totalMs: 0 };
}

function add(owners: Owners, owner: string, workMs: number): void {
  owners.totalMs += workMs;
  const known = owners.workMs.get(owner);
  if (known === undefined && owners.workMs.size >= CPU_OWNERS_MAX) evictSmall(owners.workMs);
  owners.workMs.set(owner, (known ?? 0) + workMs);
}

/** Makes room at the expense of the owner with the least work among the oldest, which are looked at in turn. */
function evictSmall(workMs: Map<string, number>): void {
  let least: string | undefined;
  let leastMs = Number.POSITIVE_INFINITY;
  const probed: [string, number][] = [];
  for (const [owner, spentMs] of workMs) {
    probed.push([owner, spentMs]);
    if (spentMs < leastMs) [least, leastMs] = [owner, spentMs];
    if (probed.length === PROBES_MAX) break;
  }
  // The others go to the end, so that the next search looks at different ones.
  for (const [owner, spentMs] of probed) {
    workMs.delete(owner);
    if (owner !== least) workMs.set(owner, spentMs);
  }
}
