/** Failures in a row, without a checkpoint between them, from which on a lane counts as failing. */
const FAILURES = 2;
/** A lane that has run for this long since its last failure has recovered, even if it had nothing to store. */
const RECOVERED_AFTER_MS = 60_000;

/** Notices when a lane is restarted again and again. */
export class LaneHealth {
  #failures = 0;
  #lastFailureMs = 0;
  /** The checkpoint at the last failure, by its sequence. */
  #sequence = 0;

  /** Notes that the lane failed at `nowMs`, of any monotonic clock, with everything up to `sequence` in the store. */
  failed(sequence: number, nowMs: number): void {
    this.#failures = this.#failures > 0 && sequence === this.#sequence ? this.#failures + 1 : 1;
    this.#sequence = sequence;
    this.#lastFailureMs = nowMs;
  }

  /** True if it fails, with everything up to `sequence` in the store by now. */
  isFailing(sequence: number, nowMs: number): boolean {
    if (this.#failures < FAILURES || sequence > this.#sequence) return false;
    return nowMs - this.#lastFailureMs <= RECOVERED_AFTER_MS;
  }
}
