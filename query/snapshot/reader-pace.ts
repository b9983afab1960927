/** Minimum pace of a reader while others wait for the capacity of its stream. */
export interface PaceLimits {
  readonly bytesPerSecMin: number;
  /** The rate is averaged over this time. Only time spent waiting for the reader counts. */
  readonly windowMs: number;
}

/**
 * Measures how fast a reader takes a stream:
 *
 *     store    ├──makes──┤          ├─makes─┤
 *     reader             ├──takes───┤       ├────takes────┤    these times count, against the bytes taken in them
 *
 * While no other stream waits, nothing counts and a reader may be as slow as it likes. Times are in milliseconds of any
 * steady clock.
 */
export class ReaderPace {
  readonly #limits: PaceLimits;
  #bytes = 0;
  #countedMs = 0;
  /** Start of the wait for the reader; undefined while the store is waited for. */
  #sinceMs: number | undefined;

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** The reader was given bytes; the wait for it begins. */
  gave(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** The reader took these bytes and waits for more. */
  took(bytes: number, nowMs: number): void {
    this.#bytes += bytes;
    this.#countedMs += nowMs - (this.#sinceMs ?? nowMs);
    this.#sinceMs = undefined;
  }

  /** The reader took less than the minimum over the last window. Call it regularly. */
  isTooSlow(doOthersWait: boolean, nowMs: number): boolean {
    const countedMs = this.#countedMs + (nowMs - (this.#sinceMs ?? nowMs));
    const { bytesPerSecMin, windowMs } = this.#limits;
    if (doOthersWait && countedMs < windowMs) return false;
    const isEnough = this.#bytes * 1000 >= bytesPerSecMin * countedMs;
    this.#bytes = 0;
    this.#countedMs = 0;
    if (this.#sinceMs !== undefined) this.#sinceMs = nowMs;
    return doOthersWait && !isEnough;
  }
}
