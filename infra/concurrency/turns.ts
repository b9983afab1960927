/** The time for which one work holds the event loop, in milliseconds: short beside the time that a request may take. */
export const TURN_MS = 2;

export interface TurnOptions {
  readonly turnMs?: number;
  /** Monotonic milliseconds. */
  readonly nowMs?: () => number;
}

/**
 * Divides long synchronous work into short turns; the event loop serves everything else between them. In each round of
 * the loop, one waiting work gets a turn: the one with the longest wait. So other requests stay fast beside any number
 * of long works.
 *
 * ```ts
 * const turn = turns.begin();
 * for (const row of rows) {
 *   if (turn.isOver()) await turn.next();
 *   fold(row);
 * }
 * ```
 *
 * A process shares one `Turns` among works of a kind. Everything may have changed after `next`: a caller checks that its request is still
 * open.
 */
export class Turns {
  readonly #turnMs: number;
  readonly #nowMs: () => number;
  readonly #waiting: (() => void)[] = [];

  constructor({ turnMs = TURN_MS, nowMs = () => performance.now() }: TurnOptions = {}) {
    this.#turnMs = turnMs;
    this.#nowMs = nowMs;
  }

  /** Works that wait for their next turn. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** A work whose first turn begins now. */
  begin(): WorkTurn {
    return new WorkTurn({ turnMs: this.#turnMs, nowMs: this.#nowMs, wait: () => this.#wait() });
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#resume);
    });
  }

  readonly #resume = (): void => {
    this.#waiting.shift()?.();
    // An immediate that is set during immediates runs in the next round, behind the requests that have arrived.
    if (this.#waiting.length > 0) setImmediate(this.#resume);
  };
}

/** One work of `Turns`. */
export class WorkTurn {
  readonly #options: Required<TurnOptions> & { readonly wait: () => Promise<void> };
  #endMs: number;

  constructor(options: Required<TurnOptions> & { readonly wait: () => Promise<void> }) {
    this.#options = options;
    this.#endMs = options.nowMs() + options.turnMs;
  }

  /** True if the turn has lasted long enough. Reads the clock, which takes some 50 ns: ask for each row, not for each byte. */
  isOver(): boolean {
    return this.#options.nowMs() >= this.#endMs;
  }

  /** Resolves when the next turn begins. */
  async next(): Promise<void> {
    const { wait, nowMs, turnMs } = this.#options;
    await wait();
    this.#endMs = nowMs() + turnMs;
  }
}
