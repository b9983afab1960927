import type { Clock } from '../../infra/clock.ts';

interface Fetch<Fetched> {
  readonly startedAtMs: number;
  readonly value: Promise<Fetched>;
  isDone: boolean;
}

/**
 * Lets questions of the same moment share one fetch. Questions within `reuseMs` of its start share it, so no answer is
 * older than that when its question comes. A later question waits for the end of the fetch in flight and shares the
 * next one: at most one fetch is in flight, however many questions come.
 *
 *     question  a   b c          d  e
 *     fetch 1   ├──────────────────────┤            a, b and c share it
 *     fetch 2                          ├───────┤    d and e share it
 */
export class SharedFetch<Fetched> {
  readonly #fetch: () => Promise<Fetched>;
  readonly #clock: Clock;
  readonly #reuseMs: number;
  #current: Fetch<Fetched> | undefined;
  #next: Promise<Fetched> | undefined;

  constructor(fetch: () => Promise<Fetched>, clock: Clock, reuseMs: number) {
    this.#fetch = fetch;
    this.#clock = clock;
    this.#reuseMs = reuseMs;
  }

  /** Nothing is in flight, and the last fetch is too old to share. */
  get isIdle(): boolean {
    const current = this.#current;
    return this.#next === undefined && (current === undefined || (current.isDone && !this.#isFresh(current)));
  }

  get(): Promise<Fetched> {
    if (this.#next !== undefined) return this.#next;
    const current = this.#current;
    if (current === undefined) return this.#start();
    if (this.#isFresh(current)) return current.value;
    if (current.isDone) return this.#start();
    this.#next = current.value.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#next;
  }

  #isFresh(fetch: Fetch<Fetched>): boolean {
    const ageMs = this.#clock.nowMs() - fetch.startedAtMs;
    // A negative age means that the clock was set back; the true age is unknown.
    return ageMs >= 0 && ageMs <= this.#reuseMs;
  }

  #startNext(): Promise<Fetched> {
    this.#next = undefined;
    return this.#start();
  }

  #start(): Promise<Fetched> {
    const value = this.#fetch();
    const started: Fetch<Fetched> = { startedAtMs: this.#clock.nowMs(), value, isDone: false };
    this.#current = started;
    // A failure reaches only the questions that share the fetch.
    value.then(
      () => {
        started.isDone = true;
      },
      () => {
        if (this.#current === started) this.#current = undefined;
      },
    );
    return value;
  }
}
