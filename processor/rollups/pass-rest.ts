/** The state at the beginning of a pass. */
export interface PassState {
  /** The last flush of each lane. */
  readonly flushed: readonly number[];
  /** End of the finalized hours, in milliseconds since 1970. */
  readonly finalizedMs: number;
}

/**
 * Knows when a further pass would find nothing: the last complete pass saw every mark as quiet, no lane has flushed since, and no further
 * hour is finalized. A service at rest then asks the store nothing.
 */
export class PassRest {
  readonly #quietMs: number;
  #flushed = '';
  /** Since when complete passes have seen these flushes. */
  #sinceMs = 0;
  #finalizedMs = 0;
  #isResting = false;

  /** @param quietMs for how long after a flush its marks may be too new to be looked at */
  constructor(quietMs: number) {
    this.#quietMs = quietMs;
  }

  /** True if a pass that begins with this state would find nothing. */
  isResting({ flushed, finalizedMs }: PassState): boolean {
    return this.#isResting && finalizedMs === this.#finalizedMs && flushed.join() === this.#flushed;
  }

  /** Notes that a pass did everything that was due. */
  completed({ flushed, finalizedMs }: PassState, beganMs: number): void {
    const joined = flushed.join();
    if (joined !== this.#flushed) {
      this.#flushed = joined;
      this.#sinceMs = beganMs;
    }
    this.#finalizedMs = finalizedMs;
    this.#isResting = beganMs - this.#sinceMs >= this.#quietMs;
  }

  /** Notes that something else than a flush may have made work. */
  disturb(): void {
    this.#flushed = '';
    this.#isResting = false;
  }
}
