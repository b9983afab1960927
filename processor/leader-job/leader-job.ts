import type { Clock } from '../../infra/clock.ts';
import { type Backoff, backoffMs } from '../../infra/concurrency/backoff.ts';
import { Notify } from '../../infra/concurrency/notify.ts';
import { isRetryable, noteRetry } from '../../infra/concurrency/retry.ts';
import { type Logger, reasonOf } from '../../infra/log.ts';
import type { LeaderJobMetrics, LeaderJobName } from './leader-job-metrics.ts';

/** Dependencies of every job of the leader, which is the process that owns the first lane. */
export interface LeaderDeps {
  /** True if this process is the leader. For moments two processes may be, so every job must be safe to run twice at the same time. */
  readonly isLeader: () => boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly jobMetrics: LeaderJobMetrics;
}

export interface LeaderJobOptions extends LeaderDeps {
  readonly name: LeaderJobName;
  /** The wait after a pass that succeeded, and between looks for the leadership. */
  readonly intervalMs: number;
  /** The wait after a pass that failed. */
  readonly backoff: Backoff;
  /** Does all due work. It calls `throwIfOver` between its calls, so that the process can stop. */
  readonly pass: () => Promise<void>;
  /** Called at every interval while another process leads, such as to reset gauges. */
  readonly standBy?: () => void;
}

/** Thrown between two calls of a pass that is to end: the process stops, or another process leads. */
export class JobOverError extends Error {
  override readonly name = 'JobOverError';
}

/**
 * Runs passes of one job while this process leads. A pass that fails is counted, logged and retried after a back-off,
 * whatever the error, because the process has no other way to make progress.
 */
export class LeaderJob {
  readonly #options: LeaderJobOptions;
  readonly #notify = new Notify();
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LeaderJobOptions) {
    this.#options = options;
  }

  /** True if a running pass has to end. */
  get isOver(): boolean {
    return this.#isStopping || !this.#options.isLeader();
  }

  /** @throws {JobOverError} */
  throwIfOver(): void {
    if (this.isOver) throw new JobOverError(`the ${this.#options.name} job is over`);
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Cuts every sleep short, and resolves once the call that a pass is in has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#notify.end();
    await this.#running;
  }

  /** Ends every present sleep, both between two passes and inside a pass. */
  wake(): void {
    this.#notify.wake();
  }

  /** Resolves after `ms`, or sooner by `wake` or `stop`. */
  sleep(ms: number): Promise<void> {
    return this.#notify.sleep(ms);
  }

  async #run(): Promise<void> {
    const { isLeader, standBy, intervalMs, backoff, random } = this.#options;
    let failures = 0;
    while (!this.#isStopping) {
      if (isLeader()) {
        failures = (await this.#pass(failures)) ? 0 : failures + 1;
      } else {
        failures = 0;
        standBy?.();
      }
      await this.sleep(failures === 0 ? intervalMs : backoffMs(backoff, failures - 1, random()));
    }
  }

  /** False when the pass failed. `failures` counts the failures in a row before it. */
  async #pass(failures: number): Promise<boolean> {
    const { name, pass, clock, log, jobMetrics } = this.#options;
    try {
      await pass();
      jobMetrics.passes.add();
      jobMetrics.lastSuccessSeconds.set(clock.nowMs() / 1000);
      return true;
    } catch (error) {
      if (error instanceof JobOverError) return true;
      if (isRetryable(error)) {
        noteRetry(
          { operation: `${name} pass`, log, fields: {}, retries: jobMetrics.failures },
          failures,
          error,
        );
      } else {
        jobMetrics.failures.add();
        log.error({ reason: reasonOf(error), attempt: failures }, `${name} pass failed, retrying`);
      }
      return false;
    }
  }
}
