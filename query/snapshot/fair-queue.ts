import { RejectError } from '../reject.ts';

export interface FairQueueLimits {
  /** That run at a time. */
  readonly runningMax: number;
  /** Of one site: what others ask finds a turn, however much it asks. */
  readonly siteRunningMax: number;
  /** That wait for their turn. */
  readonly waitingMax: number;
  readonly siteWaitingMax: number;
}

interface Waiting {
  readonly site: string;
  readonly begin: () => void;
}

/** Whose turn it is: who waits longest, among the sites that have not as many running as they may. */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #running = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #count = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = limits;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Does something in turn.
   * @throws {RejectError} 503 `busy` at once, when too many wait already, of all sites or of this one
   */
  async take<T>(site: string, act: () => Promise<T>): Promise<T> {
    if (this.#mayRun(site)) this.#begin(site);
    else await this.#wait(site);
    try {
      return await act();
    } finally {
      this.#end(site);
    }
  }

  /** The same for what ends by a call, which is to be made once. */
  async begin(site: string): Promise<() => void> {
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
    if (this.#waiting.length >= waitingMax) throw new RejectError('busy', 'too many questions wait');
    if (ofSite >= siteWaitingMax) throw new RejectError('busy', 'too many questions about this site wait');
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
    // The turn is handed over before anybody else can take it.
    for (const { site: whose, begin } of this.#waiting.splice(next, 1)) {
      this.#begin(whose);
      begin();
    }
  }
}
