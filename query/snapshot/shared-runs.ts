import { isDeepStrictEqual } from 'node:util';
import type { Counter } from '../../infra/metrics.ts';
import { RejectError, type RejectReason } from '../reject.ts';

/** Failures of one client only: it has gone, or has waited for too long. Others that share the run may succeed. */
const OF_ONE_CLIENT: ReadonlySet<string> = new Set<RejectReason>(['left', 'waited']);

/** Runs are equal if both parts are. */
export interface RunIdentity {
  readonly name: string;
  /** Compared by value, at any depth. */
  readonly what: readonly unknown[];
  /** Compared by identity. */
  readonly over?: object | undefined;
}

interface Running extends RunIdentity {
  readonly startedMs: number;
  readonly result: Promise<unknown>;
}

export interface SharedRunsOptions {
  /** Counts the runs that were not made. */
  readonly shared: Counter;
  /** Maximum age of a run that is shared; any age when absent. */
  readonly sharedMs?: number;
  /** Waits for the run of another request. */
  readonly waiting?: <Result>(wait: Promise<Result>) => Promise<Result>;
}

/** Runs simultaneous equal requests once. Nothing stays in memory after a run has ended. */
export class SharedRuns {
  readonly #shared: Counter;
  readonly #sharedMs: number;
  readonly #waiting: <Result>(wait: Promise<Result>) => Promise<Result>;
  readonly #running = new Map<string, Set<Running>>();

  constructor({ shared, sharedMs, waiting }: SharedRunsOptions) {
    this.#shared = shared;
    this.#sharedMs = sharedMs ?? Number.POSITIVE_INFINITY;
    this.#waiting = waiting ?? ((wait) => wait);
  }

  /** The result of an equal run that has not ended, or of `run`. Callers must not change it. */
  async result<Result>(identity: RunIdentity, run: () => Promise<Result>): Promise<Result> {
    const { name, what, over } = identity;
    const nowMs = performance.now();
    const sameName = this.#running.get(name) ?? new Set();
    for (const other of sameName) {
      const isEqual = other.over === over && isDeepStrictEqual(other.what, what);
      if (!isEqual || nowMs - other.startedMs > this.#sharedMs) continue;
      this.#shared.add();
      try {
        return (await this.#waiting(other.result)) as Result;
      } catch (error) {
        if (error instanceof RejectError && OF_ONE_CLIENT.has(error.reason)) return run();
        throw error;
      }
    }
    const running: Running = { name, what, over, startedMs: nowMs, result: run() };
    this.#running.set(name, sameName.add(running));
    try {
      return (await running.result) as Result;
    } finally {
      sameName.delete(running);
      if (sameName.size === 0 && this.#running.get(name) === sameName) this.#running.delete(name);
    }
  }
}
