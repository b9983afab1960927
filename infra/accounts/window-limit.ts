import type { HeaderList } from '../http/http.ts';
import { limitHeaders } from '../http/limit-headers.ts';

const WINDOW_MS = 10_000;
const KEYS_MAX = 100_000;

/** The state of one key's limit after a request. */
export interface LimitState {
  readonly exceeded: boolean;
  readonly headers: HeaderList;
}

/**
 * Counts per key, such as an address, in windows of ten seconds. When more keys come than it can hold, the window starts
 * anew for all: who floods it from so many addresses is not stopped by a limit per address anyway.
 */
export class WindowLimit {
  readonly #countMax: number;
  readonly #counts = new Map<string, number>();
  #windowEndMs = 0;

  /** `countMax` per key and window; 0: no limit. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  get enabled(): boolean {
    return this.#countMax > 0;
  }

  /** Counts one. */
  take(key: string, nowMs: number): LimitState {
    if (this.#counts.size >= KEYS_MAX) this.#begin(nowMs);
    const state = this.look(key, nowMs);
    this.#counts.set(key, this.#countOf(key) + 1);
    return state;
  }

  /** What `take` would say, without counting. */
  look(key: string, nowMs: number): LimitState {
    this.turn(nowMs);
    const count = this.#countOf(key) + 1;
    const exceeded = count > this.#countMax;
    const headers = limitHeaders({
      limit: this.#countMax,
      remaining: Math.max(0, this.#countMax - count),
      resetSeconds: Math.ceil((this.#windowEndMs - nowMs) / 1000),
      exceeded,
    });
    return { exceeded, headers };
  }

  /** Forgets every key of a window that has ended. An owner that seldom counts calls it on a timer too. */
  turn(nowMs: number): void {
    if (nowMs >= this.#windowEndMs) this.#begin(nowMs);
  }

  #begin(nowMs: number): void {
    this.#counts.clear();
    this.#windowEndMs = nowMs + WINDOW_MS;
  }

  #countOf(key: string): number {
    return this.#counts.get(key) ?? 0;
  }
}
