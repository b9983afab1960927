import type { Clock } from '../clock.ts';
import { type Logger, reasonOf } from '../log.ts';
import type { Counter } from '../metrics.ts';
import { type Backoff, backoffMs } from './backoff.ts';
import { Notify } from './notify.ts';

/** The supervised work, and the rules for its restart. */
export interface SupervisorOptions {
  /** The name in log lines, such as `lane`. */
  readonly name: string;
  readonly log: Logger;
  /** Fields of the log lines, such as the lane. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly backoff: Backoff;
  /** A failure after a run of this length is backed off from like a first one. */
  readonly healthyAfterMs: number;
  /** Counts runs that ended with an error. */
  readonly failures: Pick<Counter, 'add'>;
  /** Works until `interrupt` or an error. When it resolves before that, it runs again immediately. */
  readonly run: () => Promise<void>;
  /** Asks the current run to end; called once. A run that has nothing to interrupt yet looks at `stopping` itself. */
  readonly interrupt: () => Promise<void>;
  /** True for an error that is no failure, which the function has counted and logged itself. */
  readonly isExpected?: (error: unknown) => boolean;
}

/** Keeps one long-running task going: restarts it with back-off when it fails, until it is stopped. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #notify = new Notify();
  #running: Promise<void> = Promise.resolve();
  #stopping = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  start(): void {
    this.#running = this.#supervise();
  }

  /** Resolves when the task has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#notify.end();
    await this.#options.interrupt();
    await this.#running;
  }

  /** Ends the current sleeps. */
  wake(): void {
    this.#notify.wake();
  }

  /** Resolves after `ms`, by `wake`, or at the stop. */
  sleep(ms: number): Promise<void> {
    return this.#notify.sleep(ms);
  }

  async #supervise(): Promise<void> {
    const { clock, backoff, random, healthyAfterMs, run } = this.#options;
    for (let attempt = 0; !this.#stopping; ) {
      const startedMs = clock.nowMs();
      try {
        await run();
        continue;
      } catch (error) {
        this.#note(error);
      }
      if (clock.nowMs() - startedMs > healthyAfterMs) attempt = 0;
      await this.#notify.sleep(backoffMs(backoff, attempt, random()));
      attempt += 1;
    }
  }

  #note(error: unknown): void {
    const { name, log, fields, failures, isExpected } = this.#options;
    const reason = reasonOf(error);
    if (this.#stopping) {
      log.info({ ...fields, reason }, `${name} ended with an error while it was being stopped`);
    } else if (isExpected?.(error) !== true) {
      failures.add();
      log.error({ ...fields, reason }, `${name} failed, restarting`);
    }
  }
}
