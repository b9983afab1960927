import { exception } from './exceptions.ts';

interface Waiter {
  readonly start: () => void;
}

/** So many may run, so many may wait; the next is refused. First come, first served. */
export class Slots {
  readonly #runningMax: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiter[] = [];
  #running = 0;

  constructor({ runningMax, waitingMax }: { runningMax: number; waitingMax: number }) {
    this.#runningMax = runningMax;
    this.#waitingMax = waitingMax;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when it is our turn; the caller must call what it gets exactly once. Leaves the queue on `gone`. */
  async acquire(gone: AbortSignal): Promise<() => void> {
    if (this.#running >= this.#runningMax) await this.#wait(gone);
    else this.#running += 1;
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next.start();
    };
  }

  #wait(gone: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw exception(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        `Too many simultaneous queries. Maximum: ${this.#runningMax}, and ${this.#waitingMax} waiting.`,
      );
    }
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        start: () => {
          gone.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(exception('QUERY_WAS_CANCELLED', 'Query was cancelled: the client went away.'));
      };
      this.#waiting.push(waiter);
      if (gone.aborted) leave();
      else gone.addEventListener('abort', leave, { once: true });
    });
  }
}
