/**
 * Lets one work at a time at the rollups of a store: a step of a pass, or an erasure. An erasure that waits comes before the next step, so it
 * waits for one bounded step at most and never for a pass over the history of all sites.
 */
export class RollupTurns {
  #isTaken = false;
  readonly #erasures: (() => void)[] = [];
  readonly #steps: (() => void)[] = [];

  /** Runs a step of a pass behind every erasure that waits. */
  step<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#run(this.#steps, work);
  }

  /** Runs an erasure as soon as the running step or erasure has ended. */
  erase<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#run(this.#erasures, work);
  }

  async #run<Result>(queue: (() => void)[], work: () => Promise<Result>): Promise<Result> {
    if (this.#isTaken) await new Promise<void>((resolve) => queue.push(resolve));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      const next = this.#erasures.shift() ?? this.#steps.shift();
      // The turn is handed over, so that nothing can come in between.
      if (next === undefined) this.#isTaken = false;
      else next();
    }
  }
}
