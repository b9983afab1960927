/** The reason why a semaphore gave no permit: the queue is full, or the caller left it. */
export class SemaphoreError extends Error {
  override readonly name = 'SemaphoreError';
  readonly reason: 'full' | 'aborted';

  constructor(reason: SemaphoreError['reason']) {
    super(reason === 'full' ? 'too many wait for a permit' : 'the caller left the queue');
    this.reason = reason;
  }
}

interface Waiter {
  readonly start: () => void;
}

/** Lets a fixed number of operations run concurrently; the others wait in the order in which they came. */
export class Semaphore {
  readonly #permits: number;
  readonly #waitingMax: number;
  readonly #waiting: Waiter[] = [];
  #running = 0;

  /** Beyond `waitingMax` waiting callers the next is rejected; without it the queue has no bound. */
  constructor(permits: number, waitingMax: number = Number.POSITIVE_INFINITY) {
    this.#permits = permits;
    this.#waitingMax = waitingMax;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Runs `work` with a permit. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Resolves with the permit's release, which the caller calls exactly once. `aborted` leaves the queue.
   * @throws {SemaphoreError} when the queue is full, or when `aborted` fires before there is a permit
   */
  async acquire(aborted?: AbortSignal): Promise<() => void> {
    if (this.#running < this.#permits) this.#running += 1;
    else await this.#wait(aborted);
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next.start();
    };
  }

  #wait(aborted: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) throw new SemaphoreError('full');
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        start: () => {
          aborted?.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(new SemaphoreError('aborted'));
      };
      this.#waiting.push(waiter);
      if (aborted?.aborted) leave();
      else aborted?.addEventListener('abort', leave, { once: true });
    });
  }
}
