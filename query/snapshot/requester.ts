import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<Requester>();
/** Requests inside of `run`. */
let running = 0;

/**
 * The request that a statement belongs to. It follows the request through every `await`, so that none of the questions
 * between the endpoint and the queue has to pass it on, and none can forget it.
 */
export class Requester {
  readonly team: string;
  /** Aborted once the client has gone. */
  readonly gone: AbortSignal | undefined;
  #waits = 0;
  #waitingSinceMs = 0;
  #waitedMs = 0;

  constructor(team: string, gone?: AbortSignal) {
    this.team = team;
    this.gone = gone;
  }

  /** The requester whose `run` the caller is in. */
  static get current(): Requester | undefined {
    return current.getStore();
  }

  /** Runs `answer`, and everything that it waits for, as this request. */
  async run<Answer>(answer: () => Promise<Answer>): Promise<Answer> {
    running += 1;
    try {
      return await current.run(this, answer);
    } finally {
      running -= 1;
      // On Node 20 and 22 an `await` anywhere in the process, in collecting, too, takes 0.18 µs while a storage is in use
      // and 0.07 µs otherwise (medians of 7 runs of 5·10⁵), so it is in use only while a question is.
      if (running === 0) current.disable();
    }
  }

  /** How long its statements have waited in queues, in milliseconds; a time in which several wait counts once. */
  waitedMs(nowMs: number): number {
    return this.#waitedMs + (this.#waits > 0 ? nowMs - this.#waitingSinceMs : 0);
  }

  beginWait(nowMs: number): void {
    if (this.#waits === 0) this.#waitingSinceMs = nowMs;
    this.#waits += 1;
  }

  /** Ends the wait of one `beginWait`. */
  endWait(nowMs: number): void {
    this.#waitedMs = this.waitedMs(nowMs);
    this.#waitingSinceMs = nowMs;
    this.#waits -= 1;
  }
}
