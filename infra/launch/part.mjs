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
 * @property {(text: string) => void} say one line for the terminal
 * @property {(pid: number | undefined) => void} onPid told the process id of every run, so that it can be recorded
 * @property {(problem: Problem) => void} onGivenUp
 */

const READY_MAX_MS = 300_000;
const DRAIN_MAX_MS = 20_000;
const TAIL_LINES = 12;

/** One part of the service: its process, and another one whenever that dies. */
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
   * Starts the part and resolves with what its ready line says. A part that ends by itself before that has a reason
   * that will not go away: `Problem`. From then on it is kept alive.
   * @returns {Promise<Record<string, unknown>>}
   */
  async start() {
    for (;;) {
      const startedAtMs = Date.now();
      const child = await this.#spawn();
      const facts = await this.#untilReady(child);
      if (facts !== undefined) {
        void this.#keepAlive(child, startedAtMs); // Ends with `stop`, and reports through the context.
        return facts;
      }
      const exit = await child.exited;
      // Killed from outside, as a machine short of memory does: worth another try.
      const isWorthATry = exit.signal !== null && !this.#isStopping;
      if (!isWorthATry || !(await this.#waitToRestart(describeExit(exit), Date.now() - startedAtMs))) {
        throw this.#failure(`${this.name} could not be started: it ${describeExit(exit)}.`);
      }
    }
  }

  /**
   * Asks the process to drain and waits until it is gone; kills it when that takes too long.
   * @returns {Promise<string>} how it went; empty when there was nothing to end
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

  /** Kills the process, now. */
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
      this.#context.say(`is not ready after ${READY_MAX_MS / 1000} s and is killed`);
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
  async #keepAlive(first, firstStartedAtMs) {
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
        this.#context.onGivenUp(this.#failure(`${this.name} could not be started again: ${reason}.`));
        return;
      }
      const facts = await this.#untilReady(child);
      if (facts !== undefined) this.#context.say(`is back after ${Date.now() - startedAtMs} ms`);
    }
  }

  /**
   * @param {string} howItEnded
   * @param {number} livedMs
   * @returns {Promise<boolean>} whether to start it again
   */
  async #waitToRestart(howItEnded, livedMs) {
    const decision = afterDeath(this.#failures, livedMs);
    this.#failures = decision;
    if (decision.givesUp) {
      const text = `${this.name} ${howItEnded}, ${decision.earlyFailures} times in a row soon after its start.`;
      this.#context.onGivenUp(this.#failure(text));
      return false;
    }
    this.#context.say(`${howItEnded}; it is started again in ${decision.delayMs / 1000} s`);
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
    return new Problem(`${message} The last lines of its log are above.`, this.#context.log.tail(TAIL_LINES));
  }
}

/**
 * @param {Promise<unknown>} promise
 * @param {number} waitMs
 * @returns {Promise<boolean>} whether it settled in time
 */
async function within(promise, waitMs) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  const inTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return inTime === true;
}
