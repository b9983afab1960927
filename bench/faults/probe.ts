/** One request and what came of it, in a word. Times of this process's clock. */
export interface Observation {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly saw: string;
}

export interface ProbePlan {
  /** Names it in what a test compares. */
  readonly name: string;
  /** Between an answer and the next request. */
  readonly everyMs: number;
  /** Sends one request and says in a word what came of it; what it throws is an observation too. */
  readonly ask: () => Promise<string>;
}

/** Sends one request after the other until `stop`, and keeps what came of each. */
export class Probe {
  readonly name: string;
  readonly observations: Observation[] = [];
  readonly #plan: ProbePlan;
  readonly #finished: Promise<void>;
  #stopped = false;

  /** Begins at once. */
  constructor(plan: ProbePlan) {
    this.name = plan.name;
    this.#plan = plan;
    this.#finished = this.#run();
  }

  /** What came of the last request that was answered; empty before the first. */
  get last(): string {
    return this.observations.at(-1)?.saw ?? '';
  }

  /** What came of the requests that lie in a time as a whole. */
  within(fromMs: number, untilMs: number): Observation[] {
    return this.observations.filter(
      ({ startedAtMs, endedAtMs }) => startedAtMs >= fromMs && endedAtMs <= untilMs,
    );
  }

  /** Resolves when the last request has been answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#finished;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const startedAtMs = Date.now();
      const saw = await this.#plan.ask().catch((error: unknown) => `failed: ${String(error)}`);
      this.observations.push({ startedAtMs, endedAtMs: Date.now(), saw });
      await new Promise((resolve) => setTimeout(resolve, this.#plan.everyMs));
    }
  }
}
