/** One request and its outcome in a word. Times of this process's clock. */
export interface Observation {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly saw: string;
}

export interface ProbePlan {
  /** Names the probe in comparisons. */
  readonly name: string;
  /** Pause between an answer and the next request. */
  readonly everyMs: number;
  /** Sends one request and returns its outcome in a word; an error counts as an observation. */
  readonly ask: () => Promise<string>;
}

/** Sends one request after the other until `stop`, and records every outcome. */
export class Probe {
  readonly name: string;
  readonly observations: Observation[] = [];
  readonly #plan: ProbePlan;
  readonly #finished: Promise<void>;
  #stopped = false;

  /** Begins immediately. */
  constructor(plan: ProbePlan) {
    this.name = plan.name;
    this.#plan = plan;
    this.#finished = this.#run();
  }

  /** The outcome of the last answered request; empty before the first. */
  get last(): string {
    return this.observations.at(-1)?.saw ?? '';
  }

  /** The outcomes of the requests that lie wholly inside a time. */
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
