/** The program's source of time. Pure code receives times as numbers and never sees a clock. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that a test moves by hand. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Moves the clock forward by `ms`. */
  advance(ms: number): void {
    this.#nowMs += ms;
  }
}
