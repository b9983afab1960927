import { describeExit, startChild } from './child.mjs';
import { Problem } from './problem.mjs';
import { goneWithin } from './processes.mjs';
import { afterDeath, NO_FAILURES } from './restart-policy.mjs';

/** @typedef {import('./child.mjs').ChildPlan} ChildPlan */
/** @typedef {import('./child.mjs').Child} Child */
/**
 * @typedef {object} PartContext
 * @property {string} name
 * @property {ChildPlan} plan
 * @property {import('./log-file.mjs').LogFile} log
 * @property {(line: string) => void} onLine
 * @property {(text: string) => void} say shows one line on the terminal
 * @property {(pid: number | undefined) => void} onPid called with the process ID of every run
 * @property {(problem: Problem) => void} onGivenUp
 * @property {() => boolean} isDiskFull
 */

const READY_MAX_MS = 300_000;
const DRAIN_MAX_MS = 20_000 + (Number(process.env.DRAIN_WAIT_MS) || 0);
const TAIL_LINES = 12;

/**
 * One part of the service: a process that is restarted whenever it exits. pm2 cannot supervise it, because the launcher
 * runs before any package is installed.
 */
export class Part {
  /** @type {PartContext} */
  #context;
  /** @type {Child | undefined} */
  #child;
  #failures = NO_FAILURES;
  #isStopping = false;
  #wake = () => {};

  /** @param {PartContext} context */
  constructor(context) {
    this.#context = context;
  }

  get name() {
    return this.#context.name;
  }

  /**
   * Starts the part and resolves with the content of its ready line. From then on the part is restarted when it exits.
   * A part that exits by itself before it is ready has a lasting reason, so this throws a `Problem`.
   * @returns {Promise<Record<string, unknown>>}
   */
  async start() {
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
   * Asks the process to drain and waits for its exit; kills it after a time limit.
   * @returns {Promise<string>} the outcome for the terminal; empty when no process was running
   */
  async stop() {
    this.#isStopping = true;
    this.#wake();
    const child = this.#child;
    if (child === undefined || child.isGone()) return '';
    child.signal('SIGTERM');
    const isDrained = await within(child.exited, DRAIN_MAX_MS);
    if (!isDrained) {
      child.signal('SIGKILL');
      await goneWithin(child.pid, 5_000);
    }
    this.#context.log.close();
    return isDrained ? 'drained' : `did not drain within ${DRAIN_MAX_MS / 1000} s and was killed`;
  }

  /** Ends the process, which is then restarted as after any other exit; it is killed if it does not drain in time. */
  restart() {
    const child = this.#child;
    if (this.#isStopping || child === undefined || child.isGone()) return;
    this.#context.say('restarting it, because its disk was full');
    child.signal('SIGTERM');
    const timer = setTimeout(() => child.signal('SIGKILL'), DRAIN_MAX_MS);
    void child.exited.then(() => clearTimeout(timer)); // Never rejects.
  }

  /** Kills the process immediately. */
  kill() {
    this.#isStopping = true;
    this.#child?.signal('SIGKILL');
  }

  /** @returns {Promise<Child>} */
  async #spawn() {
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

  /**
   * @param {Child} child
   * @returns {Promise<Record<string, unknown> | undefined>}
   */
  async #untilReady(child) {
    const timer = setTimeout(() => {
      this.#context.say(`is not ready after ${READY_MAX_MS / 1000} s, killing it`);
      child.signal('SIGKILL');
    }, READY_MAX_MS);
    const facts = await child.ready;
    clearTimeout(timer);
    return facts;
  }

  /**
   * @param {Child} first
   * @param {number} firstStartedAtMs
   */
  async #supervise(first, firstStartedAtMs) {
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

  /**
   * @param {string} exitText
   * @param {number} livedMs
   * @returns {Promise<boolean>} whether to restart it
   */
  async #waitToRestart(exitText, livedMs) {
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

  /** @param {string} message */
  #failure(message) {
    return new Problem(`${message} The end of its log is above.`, this.#context.log.tail(TAIL_LINES));
  }
}

/**
 * @param {Promise<unknown>} promise
 * @param {number} waitMs
 * @returns {Promise<boolean>} whether it resolved in time
 */
async function within(promise, waitMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  const inTime = await Promise.race([promise.then(() => true), timeout]);
  clearTimeout(timer);
  return inTime === true;
}
