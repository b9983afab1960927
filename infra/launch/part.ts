import { type Child, type ChildPlan, describeExit, startChild } from './child.ts';
import type { LogFile } from './log-file.ts';
import { Problem } from './problem.mjs';
import { goneWithin } from './processes.ts';
import { afterDeath, NO_FAILURES } from './restart-policy.ts';

export interface PartContext {
  readonly name: string;
  readonly plan: ChildPlan;
  readonly log: LogFile;
  readonly onLine: (line: string) => void;
  /** Shows one line on the terminal. */
  readonly say: (text: string) => void;
  /** Called with the process ID of every run. */
  readonly onPid: (pid: number | undefined) => void;
  /** A process that takes longer to end is killed. */
  readonly drainMaxMs: number;
  readonly onGivenUp: (problem: Problem) => void;
  readonly isDiskFull: () => boolean;
}

const READY_MAX_MS = 300_000;
const TAIL_LINES = 12;

/**
 * One part of the service: a process that is restarted whenever it exits. pm2 is not used, because its daemon is one more process in
 * memory, which outlives the terminal.
 */
export class Part {
  readonly #context: PartContext;
  #child: Child | undefined;
  #failures = NO_FAILURES;
  #isStopping = false;
  #wake = () => {};

  constructor(context: PartContext) {
    this.#context = context;
  }

  get name(): string {
    return this.#context.name;
  }

  /**
   * Starts the part and resolves with the content of its ready line. From then on the part is restarted when it exits.
   * A part that exits by itself before it is ready has a lasting reason, so this throws a `Problem`.
   */
  async start(): Promise<Record<string, unknown>> {
    for (;;) {
      const startedAtMs = Date.now();
      const child = await this.#spawn();
      const facts = await this.#untilReady(child);
      if (facts !== undefined) {
        void this.#supervise(child, startedAtMs); // Ends with `stop`, and reports through the context.
        return facts;
      }
      const exit = await child.exited;
      // Killed from outside, for example because the machine ran out of memory: worth a retry.
      const isRetryable = exit.signal !== null && !this.#isStopping;
      if (!isRetryable || !(await this.#waitToRestart(describeExit(exit), Date.now() - startedAtMs))) {
        throw this.#failure(`${this.name} could not be started: it ${describeExit(exit)}.`);
      }
    }
  }

  /**
   * Asks the process to drain and waits for its exit; kills it after a time limit. Returns the outcome for the terminal; empty when no
   * process was running.
   */
  async stop(): Promise<string> {
    this.#isStopping = true;
    this.#wake();
    const child = this.#child;
    if (child === undefined || child.isGone()) return '';
    child.signal('SIGTERM');
    const isDrained = await within(child.exited, this.#context.drainMaxMs);
    if (!isDrained) {
      child.signal('SIGKILL');
      await goneWithin(child.pid, 5_000);
    }
    this.#context.log.close();
    return isDrained ? 'drained' : `did not drain within ${this.#context.drainMaxMs / 1000} s and was killed`;
  }

  /** Ends the process, which is then restarted as after any other exit; it is killed if it does not drain in time. */
  restart(): void {
    const child = this.#child;
    if (this.#isStopping || child === undefined || child.isGone()) return;
    this.#context.say('restarting it, because its disk was full');
    child.signal('SIGTERM');
    const timer = setTimeout(() => child.signal('SIGKILL'), this.#context.drainMaxMs);
    void child.exited.then(() => clearTimeout(timer)); // Never rejects.
  }

  /** Kills the process immediately. */
  kill(): void {
    this.#isStopping = true;
    this.#child?.signal('SIGKILL');
  }

  async #spawn(): Promise<Child> {
    const { plan, log, onLine, onPid } = this.#context;
    const child = await startChild(plan, (line) => {
      log.write(`${line}\n`);
      onLine(line);
    });
    onPid(child.pid);
    this.#child = child;
    if (this.#isStopping) child.signal('SIGTERM');
    return child;
  }

  async #untilReady(child: Child): Promise<Record<string, unknown> | undefined> {
    const timer = setTimeout(() => {
      this.#context.say(`is not ready after ${READY_MAX_MS / 1000} s, killing it`);
      child.signal('SIGKILL');
    }, READY_MAX_MS);
    const facts = await child.ready;
    clearTimeout(timer);
    return facts;
  }

  async #supervise(first: Child, firstStartedAtMs: number) {
    let child = first;
    let startedAtMs = firstStartedAtMs;
    for (;;) {
      const exit = await child.exited;
      if (this.#isStopping) return;
      if (!(await this.#waitToRestart(describeExit(exit), Date.now() - startedAtMs))) return;
      startedAtMs = Date.now();
      try {
        child = await this.#spawn();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        this.#context.onGivenUp(this.#failure(`${this.name} could not be restarted: ${reason}.`));
        return;
      }
      const facts = await this.#untilReady(child);
      if (facts !== undefined) this.#context.say(`is ready again after ${Date.now() - startedAtMs} ms`);
    }
  }

  /** Resolves when it is time to restart it; with false when it is given up or stops. */
  async #waitToRestart(exitText: string, livedMs: number): Promise<boolean> {
    const decision = afterDeath(this.#failures, livedMs, { isDiskFull: this.#context.isDiskFull() });
    this.#failures = decision;
    if (decision.givesUp) {
      const text = `${this.name} ${exitText}, ${decision.earlyFailures} times in a row shortly after its start.`;
      this.#context.onGivenUp(this.#failure(text));
      return false;
    }
    this.#context.say(`${exitText}, restarting in ${decision.delayMs / 1000} s`);
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, decision.delayMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    return !this.#isStopping;
  }

  #failure(message: string) {
    return new Problem(`${message} The end of its log is above.`, this.#context.log.tail(TAIL_LINES));
  }
}

/** True if the promise resolves in time. */
async function within(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  const inTime = await Promise.race([promise.then(() => true), timeout]);
  clearTimeout(timer);
  return inTime === true;
}
