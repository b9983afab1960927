/** How slow a reader may be while others wait for what its stream occupies. */
export interface PaceLimits {
  readonly bytesPerSecMin: number;
  /** The time over which the rate is averaged. Only time in which the reader is waited for counts. */
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
  /** Since when the reader is waited for; undefined while the store is. */
  #sinceMs: number | undefined;

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** From now on the reader is waited for: it was given bytes. */
  gave(nowMs: number): void {
    this.#sinceMs = nowMs;
  }

  /** The reader took these bytes and waits for more. */
  took(bytes: number, nowMs: number): void {
    this.#bytes += bytes;
    this.#countedMs += nowMs - (this.#sinceMs ?? nowMs);
    this.#sinceMs = undefined;
  }

  /** Whether the reader took less than it must over the last window. Call it every now and then. */
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
