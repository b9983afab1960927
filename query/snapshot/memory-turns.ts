import type { Metrics } from '../../infra/metrics.ts';
import { FairQueue } from './fair-queue.ts';
import type { Task } from './queue-shares.ts';

/**
 * For how long statements are answered from memory in one turn of the event loop; what is on its way through the process, events
 * included, waits no longer. The last one may take more: some 9 ms (held-rows/README.md).
 */
const TURN_MAX_MS = 4;
/** One at a time, so that who is next is decided as late as possible. */
const LIMITS = {
  runningMax: 1,
  siteRunningMax: 1,
  waitingMax: 1_000,
  teamWaitingMax: 750,
  siteWaitingMax: 500,
  waitMaxMs: 30_000,
};

/**
 * Whose statement is answered from memory next. That takes the thread, which also takes events and answers every other question, so it is
 * shared among teams and clients like the store.
 */
export class MemoryTurns {
  readonly #queue: FairQueue;
  #spentMs = 0;

  constructor(metrics: Metrics) {
    this.#queue = new FairQueue({ name: 'memory', limits: LIMITS, metrics });
  }

  /**
   * Resolves when it is the task's turn. The caller does its work without waiting for anything, and calls the result.
   * @throws {RejectError} as `FairQueue.acquire` does
   */
  async take(task: Task): Promise<() => void> {
    const permit = await this.#queue.acquire(task);
    const startedMs = performance.now();
    return () => {
      if (this.#spentMs === 0)
        setImmediate(() => {
          this.#spentMs = 0;
        });
      this.#spentMs += performance.now() - startedMs;
      if (this.#spentMs < TURN_MAX_MS) permit.release();
      else setImmediate(() => permit.release());
    };
  }
}
