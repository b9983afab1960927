import type { Counter, Metrics } from '../../infra/metrics.ts';
import { RejectError } from '../reject.ts';
import { type FairQueueLimits, type Full, QueueShares, type Task, type Waiter } from './queue-shares.ts';

// p-queue and bottleneck are rejected: neither divides its capacity among teams and their sites, nor lets a running
// task lend its permit to others.

/** Why a task left the queue. `slow`: its reader was too slow while others waited. Each reason is a counter. */
const QUEUE_ENDS = ['done', 'full', 'waited', 'left', 'slow'] as const;
export type QueueEnd = (typeof QUEUE_ENDS)[number];

export interface FairQueueOptions {
  /** The label of its metrics. */
  readonly name: string;
  readonly limits: FairQueueLimits;
  readonly metrics: Metrics;
}

/** The right to run one task. */
export interface Permit {
  /** Ending this task would let a waiting one begin. */
  readonly isWanted: boolean;
  /** The team's recent use of the store exceeds its share. */
  readonly isOverShare: boolean;
  /** Another team has a running or a waiting task. */
  readonly isContended: boolean;
  /**
   * Lends the capacity to the next task, if one waits for it, and takes it back. This wait has no deadline and is
   * possible in a full queue, because the task has begun already. Only the task itself may call it, and must do nothing
   * else meanwhile.
   * @throws {RejectError} `left`, when the client disconnects meanwhile
   */
  yield(): Promise<void>;
  /** Ends the task. Later calls have no effect. */
  release(end?: QueueEnd): void;
}

/** The end of a rejection's message, by what is full. */
const FULL: Readonly<Record<Full, string>> = {
  site: 'about this site are waiting',
  team: 'of this team are waiting',
  all: 'are waiting',
};

/**
 * Runs a limited number of tasks at a time. Next is a task of the team with the least recent use (`queue-shares.ts`):
 * time counts, not the number of tasks. No team can have the last quarter of the capacity, and the last place is for a
 * team without tasks, so another team's task begins immediately. Long tasks can have half of what may run and wait, so
 * short ones wait only for short ones. Within a site, a short task passes long ones that have no room.
 */
export class FairQueue {
  readonly #waitMaxMs: number;
  readonly #shares: QueueShares;
  readonly #ends: Readonly<Record<QueueEnd, Counter>>;

  constructor({ name, limits, metrics }: FairQueueOptions) {
    this.#waitMaxMs = limits.waitMaxMs;
    this.#shares = new QueueShares(limits);
    const queue = { queue: name };
    metrics.gaugeOf('query_queue_running', 'tasks that run now, by queue', queue, () => this.running);
    metrics.gaugeOf('query_queue_waiting', 'tasks that wait now, by queue', queue, () => this.waiting);
    const ends = {} as Record<QueueEnd, Counter>;
    for (const reason of QUEUE_ENDS)
      ends[reason] = metrics.counter('query_queue_ended_total', 'tasks that left the queue, by reason', {
        ...queue,
        reason,
      });
    this.#ends = ends;
  }

  get running(): number {
    return this.#shares.running;
  }

  get waiting(): number {
    return this.#shares.waiting;
  }

  /** Runs a task as soon as the limits allow. Rejects like `acquire`. */
  async run<T>(task: Task, work: (permit: Permit) => Promise<T>): Promise<T> {
    const permit = await this.acquire(task);
    try {
      return await work(permit);
    } finally {
      permit.release();
    }
  }

  /**
   * Resolves when the task may begin. The caller releases the permit.
   * @throws {RejectError} immediately 503 `busy` when too many tasks wait; 503 `waited` when the request has waited for
   *   `waitMaxMs`; `left` when the client has gone
   */
  async acquire(task: Task): Promise<Permit> {
    const { requester } = task;
    if (requester.gone?.aborted) throw this.#rejected('left');
    if (this.#shares.mayRun(task)) this.#begin(task);
    else {
      this.#rejectFull(task);
      const leftMs = this.#waitMaxMs - requester.waitedMs(performance.now());
      if (leftMs <= 0) throw this.#rejected('waited');
      await this.#wait(task, leftMs);
    }
    return this.#permitOf(task);
  }

  #permitOf(task: Task): Permit {
    const { requester } = task;
    let isRunning = true;
    const shares = this.#shares;
    const isWanted = () => isRunning && shares.isWanted(task, performance.now());
    return {
      get isWanted() {
        return isWanted();
      },
      get isOverShare() {
        return shares.isOverShare(task, performance.now());
      },
      get isContended() {
        return shares.isContended(task);
      },
      yield: async () => {
        if (!isWanted()) return;
        isRunning = false;
        this.#end(task);
        await this.#wait(task, undefined);
        isRunning = true;
      },
      release: (end = requester.gone?.aborted ? 'left' : 'done') => {
        if (!isRunning) return;
        isRunning = false;
        this.#ends[end].add();
        this.#end(task);
      },
    };
  }

  #rejectFull(task: Task): void {
    const full = this.#shares.fullness(task);
    if (full === undefined) return;
    throw this.#rejected(
      'full',
      `${task.isLong ? 'too many long questions' : 'too many questions'} ${FULL[full]}`,
    );
  }

  /** Resolves when the task has begun. Without `waitMaxMs` the wait has no limit. */
  #wait(task: Task, waitMaxMs: number | undefined): Promise<void> {
    const { requester, isLong = false } = task;
    requester.beginWait(performance.now());
    return new Promise((resolve, reject) => {
      let deadline: NodeJS.Timeout | undefined;
      const leave = () => {
        clearTimeout(deadline);
        requester.gone?.removeEventListener('abort', onGone);
        requester.endWait(performance.now());
        this.#shares.leave(task, waiter, performance.now());
      };
      const fail = (end: 'waited' | 'left') => {
        leave();
        reject(this.#rejected(end));
      };
      const onGone = () => fail('left');
      const waiter: Waiter = {
        isLong,
        begin: () => {
          leave();
          this.#begin(task);
          resolve();
        },
      };
      this.#shares.wait(task, waiter, performance.now());
      requester.gone?.addEventListener('abort', onGone);
      if (waitMaxMs !== undefined) deadline = setTimeout(() => fail('waited'), waitMaxMs);
      if (requester.gone?.aborted) onGone();
    });
  }

  #rejected(end: 'full' | 'waited' | 'left', full = ''): RejectError {
    this.#ends[end].add();
    if (end === 'full') return new RejectError('busy', full);
    if (end === 'left') return new RejectError('left', 'the client has gone');
    const seconds = this.#waitMaxMs / 1000;
    return new RejectError(
      'waited',
      `too many questions are running; this one waited for ${seconds} seconds`,
    );
  }

  #begin(task: Task): void {
    this.#shares.run(task, 1, performance.now());
  }

  #next(): Waiter | undefined {
    return this.#shares.next(performance.now());
  }

  #end(task: Task): void {
    this.#shares.run(task, -1, performance.now());
    // The waiting task counts as running immediately, before a new one can take its capacity. Two may begin: one
    // instead of this one, and one of its team, which may now use the last place.
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.begin();
  }
}
