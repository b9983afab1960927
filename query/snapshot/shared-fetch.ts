import type { Clock } from '../../infra/clock.ts';

interface Fetch<Value> {
  readonly startedAtMs: number;
  readonly value: Promise<Value>;
  settled: boolean;
}

/**
 * Lets questions that come at the same moment share one fetch. A fetch serves whoever asks within `reuseMs` of its
 * start, so no answer is older than that when it is asked for. Who comes later waits for the fetch in flight to end and
 * shares the next one: there is never more than one in flight, however many ask.
 *
 *     asked     a   b c          d  e
 *     fetch 1   ├──────────────────────┤            a, b and c share it
 *     fetch 2                          ├───────┤    d and e share it
 */
export class SharedFetch<Value> {
  readonly #fetch: () => Promise<Value>;
  readonly #clock: Clock;
  readonly #reuseMs: number;
  #current: Fetch<Value> | undefined;
  #next: Promise<Value> | undefined;

  constructor(fetch: () => Promise<Value>, clock: Clock, reuseMs: number) {
    this.#fetch = fetch;
    this.#clock = clock;
    this.#reuseMs = reuseMs;
  }

  /** True when nothing is in flight and what was fetched is too old to serve anybody. */
  get isIdle(): boolean {
    const current = this.#current;
    return (
      this.#next === undefined && (current === undefined || (current.settled && !this.#isFresh(current)))
    );
  }

  get(): Promise<Value> {
    if (this.#next !== undefined) return this.#next;
    const current = this.#current;
    if (current === undefined) return this.#start();
    if (this.#isFresh(current)) return current.value;
    if (current.settled) return this.#start();
    this.#next = current.value.then(
      () => this.#startNext(),
      () => this.#startNext(),
    );
    return this.#next;
  }

  #isFresh(fetch: Fetch<Value>): boolean {
    const ageMs = this.#clock.nowMs() - fetch.startedAtMs;
    // A clock that was put back makes an age negative: then nobody knows how old it is.
    return ageMs >= 0 && ageMs <= this.#reuseMs;
  }

  #startNext(): Promise<Value> {
    this.#next = undefined;
    return this.#start();
  }

  #start(): Promise<Value> {
    const value = this.#fetch();
    const started: Fetch<Value> = { startedAtMs: this.#clock.nowMs(), value, settled: false };
    this.#current = started;
    // A failure is told to those who share it and to nobody after them.
    value.then(
      () => {
        started.settled = true;
      },
      () => {
        if (this.#current === started) this.#current = undefined;
      },
    );
    return value;
  }
}
