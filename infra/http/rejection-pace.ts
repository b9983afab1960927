/** Rejections in a millisecond. With some 0.1 ms of work for each, rejected senders take a tenth of a core at most. */
const PER_MS = 1;
/** In one turn, after a long one. */
const PER_TURN_MAX = 5;
/** With more that wait, a rejection is sent immediately. While the event loop is free, none waits for longer than 5 s. */
const WAITING_MAX = 5_000;

/** True for the statuses of senders rejected for earlier requests, or for a wrong secret. */
export function isPaced(status: number): boolean {
  return status === 429 || status === 401;
}

/**
 * Spreads the answers to senders that are rejected for a wrong secret or for too many requests. A sender repeats a request as soon as it has its
 * answer; a thousand connections that are answered together come back together, and every other request waits for all of them.
 */
export class RejectionPace {
  #waiting: (() => void)[] = [];
  #first = 0;
  #timer: NodeJS.Timeout | undefined;
  #turnMs = 0;
  readonly #nowMs: () => number;

  /** `nowMs` is monotonic. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Calls `answer` when its turn comes: immediately, unless another rejection was sent in this millisecond. */
  add(answer: () => void): void {
    if (this.waiting >= WAITING_MAX) {
      answer();
      return;
    }
    if (this.#timer === undefined) {
      answer();
      this.#turnMs = this.#nowMs();
      this.#timer = setTimeout(this.#turn, 1 / PER_MS);
      return;
    }
    this.#waiting.push(answer);
  }

  /** Rejections that wait. */
  get waiting(): number {
    return this.#waiting.length - this.#first;
  }

  readonly #turn = (): void => {
    const nowMs = this.#nowMs();
    const due = Math.max(1, Math.floor((nowMs - this.#turnMs) * PER_MS));
    // Timers are late by fractions of a millisecond, which count for the next turn. The delay of a long turn is not
    // made up for.
    this.#turnMs = due > PER_TURN_MAX ? nowMs : this.#turnMs + due / PER_MS;
    for (let count = 0; count < Math.min(due, PER_TURN_MAX) && this.waiting > 0; count += 1) {
      this.#waiting[this.#first]?.();
      this.#first += 1;
    }
    this.#timer = this.waiting > 0 ? setTimeout(this.#turn, 1 / PER_MS) : undefined;
    if (this.#timer !== undefined && this.#first < WAITING_MAX) return;
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  };
}
