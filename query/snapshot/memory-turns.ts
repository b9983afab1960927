import type { Metrics } from '../../infra/metrics.ts';
import { FairQueue } from './fair-queue.ts';
import type { Task } from './queue-shares.ts';

/**
 * Time for statements from memory in one turn of the event loop, which limits how long events and requests wait. The
 * last statement may exceed it: some 9 ms (held-rows/README.md).
 */
const TURN_MAX_MS = 4;
/** One at a time, so that the choice of the next is made as late as possible. */
const LIMITS = {
  runningMax: 1,
  siteRunningMax: 1,
  waitingMax: 1_000,
  teamWaitingMax: 750,
  siteWaitingMax: 500,
  waitMaxMs: 30_000,
};

/**
 * Decides whose statement is answered from memory next. The thread also takes events and answers every other question,
 * so teams and clients share it like the store.
 */
export class MemoryTurns {
  readonly #queue: FairQueue;
  #spentMs = 0;

  constructor(metrics: Metrics) {
    this.#queue = new FairQueue({ name: 'memory', limits: LIMITS, metrics });
  }

  /**
   * Resolves when it is the task's turn. The caller works without an `await`, and then calls the result.
   * @throws {RejectError} like `FairQueue.acquire`
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
