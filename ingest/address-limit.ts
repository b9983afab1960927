import type { HeaderList } from '../infra/http.ts';

const WINDOW_MS = 10_000;
const ADDRESSES_MAX = 100_000;

/** The state of one address's limit after a request. */
export interface LimitState {
  readonly exceeded: boolean;
  readonly headers: HeaderList;
}

/**
 * Counts requests per address in windows of ten seconds. When more addresses come than it can hold, the window starts
 * anew for all: who floods it from so many addresses is not stopped by a limit per address anyway.
 */
export class AddressLimit {
  readonly #requestsMax: number;
  readonly #counts = new Map<string, number>();
  #windowEndMs = 0;

  /** `requestsMax` per window; 0: no limit. */
  constructor(requestsMax: number) {
    this.#requestsMax = requestsMax;
  }

  get enabled(): boolean {
    return this.#requestsMax > 0;
  }

  /** Counts one request. */
  take(address: string, nowMs: number): LimitState {
    if (nowMs >= this.#windowEndMs || this.#counts.size >= ADDRESSES_MAX) {
      this.#counts.clear();
      this.#windowEndMs = nowMs + WINDOW_MS;
    }
    const count = (this.#counts.get(address) ?? 0) + 1;
    this.#counts.set(address, count);
    const limit = String(this.#requestsMax);
    const remaining = String(Math.max(0, this.#requestsMax - count));
    const reset = String(Math.ceil((this.#windowEndMs - nowMs) / 1000));
    const exceeded = count > this.#requestsMax;
    const headers: [string, string][] = [
      ['ratelimit-limit', limit],
      ['ratelimit-remaining', remaining],
      ['ratelimit-reset', reset],
      ['x-ratelimit-limit', limit],
      ['x-ratelimit-remaining', remaining],
      ['x-ratelimit-reset', reset],
    ];
    if (exceeded) headers.push(['retry-after', reset]);
    return { exceeded, headers };
  }
}
