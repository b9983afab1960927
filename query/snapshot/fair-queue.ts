import { RejectError } from '../reject.ts';

/** Bounds of a queue, for all sites together and for one site. */
export interface FairQueueLimits {
  readonly runningMax: number;
  /** Leaves capacity for other sites, however much one site asks. */
  readonly siteRunningMax: number;
  readonly waitingMax: number;
  readonly siteWaitingMax: number;
}

interface WaitingTask {
  readonly site: string;
  readonly begin: () => void;
}

/** Runs a limited number of tasks at a time: next is the longest waiting one whose site is below its limit. */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting: WaitingTask[] = [];
  #count = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Runs a task as soon as the limits allow.
   * @throws {RejectError} 503 `busy`, at once, when too many tasks wait, of all sites or of this one
   */
  async run<T>(site: string, task: () => Promise<T>): Promise<T> {
    if (this.#mayRun(site)) this.#begin(site);
    else await this.#wait(site);
    try {
      return await task();
    } finally {
      this.#end(site);
    }
  }

  /** Begins a task that ends when the caller calls the result, which it must do exactly once. Rejects as `run` does. */
  async acquire(site: string): Promise<() => void> {
    if (this.#mayRun(site)) this.#begin(site);
    else await this.#wait(site);
    return () => this.#end(site);
  }

  #mayRun(site: string): boolean {
    const { runningMax, siteRunningMax } = this.#limits;
    return this.#count < runningMax && (this.#running.get(site) ?? 0) < siteRunningMax;
  }

  #wait(site: string): Promise<void> {
    const { waitingMax, siteWaitingMax } = this.#limits;
    const ofSite = this.#waiting.reduce((count, waiting) => count + (waiting.site === site ? 1 : 0), 0);
    if (this.#waiting.length >= waitingMax) throw new RejectError('busy', 'too many questions are waiting');
    if (ofSite >= siteWaitingMax)
      throw new RejectError('busy', 'too many questions about this site are waiting');
    return new Promise((begin) => this.#waiting.push({ site, begin }));
  }

  #begin(site: string): void {
    this.#count += 1;
    this.#running.set(site, (this.#running.get(site) ?? 0) + 1);
  }

  #end(site: string): void {
    this.#count -= 1;
    const left = (this.#running.get(site) ?? 0) - 1;
    if (left > 0) this.#running.set(site, left);
    else this.#running.delete(site);
    const next = this.#waiting.findIndex((waiting) => this.#mayRun(waiting.site));
    if (next === -1) return;
    // The waiting task counts as running at once, before a new one can take its capacity.
    for (const { site: nextSite, begin } of this.#waiting.splice(next, 1)) {
      this.#begin(nextSite);
      begin();
    }
  }
}
