import type { HeaderList } from '../infra/http.ts';

/** How many requests a key may make in each window. */
export interface Limit {
  readonly requestsMax: number;
  readonly windowMs: number;
}

/** What is left of a limit after a request. */
export interface Allowance {
  readonly exceeded: boolean;
  readonly headers: HeaderList;
}

interface Window {
  readonly endsAtMs: number;
  requests: number;
}

const KEYS_MAX = 100_000;

/** Counts requests by key in windows that begin with a key's first request. Over `KEYS_MAX` keys the oldest go. */
export class RateLimit {
  readonly #limit: Limit;
  readonly #windows = new Map<string, Window>();

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Counts one request of `key`, and says whether it is one too many. */
  take(key: string, nowMs: number): Allowance {
    const window = this.#windowOf(key, nowMs);
    window.requests += 1;
    return this.#allowance(window, nowMs);
  }

  /** What `take` would have said last, without counting. */
  isSpent(key: string, nowMs: number): boolean {
    const window = this.#windows.get(key);
    return window !== undefined && window.endsAtMs > nowMs && window.requests >= this.#limit.requestsMax;
  }

  #windowOf(key: string, nowMs: number): Window {
    const known = this.#windows.get(key);
    if (known !== undefined && known.endsAtMs > nowMs) return known;
    // Deleted first, so that the map's order is the order in which windows began.
    this.#windows.delete(key);
    if (this.#windows.size >= KEYS_MAX) this.#dropOldest();
    const window = { endsAtMs: nowMs + this.#limit.windowMs, requests: 0 };
    this.#windows.set(key, window);
    return window;
  }

  #dropOldest(): void {
    for (const key of this.#windows.keys()) {
      this.#windows.delete(key);
      return;
    }
  }

  #allowance(window: Window, nowMs: number): Allowance {
    const { requestsMax } = this.#limit;
    const exceeded = window.requests > requestsMax;
    const remaining = String(Math.max(0, requestsMax - window.requests));
    const resetSeconds = String(Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000)));
    const headers: [string, string][] = [
      ['RateLimit-Limit', String(requestsMax)],
      ['RateLimit-Remaining', remaining],
      ['RateLimit-Reset', resetSeconds],
      ['x-ratelimit-limit', String(requestsMax)],
      ['x-ratelimit-remaining', remaining],
      ['x-ratelimit-reset', resetSeconds],
    ];
    if (exceeded) headers.push(['Retry-After', resetSeconds]);
    return { exceeded, headers };
  }
}
