import { LRUCache } from 'lru-cache';
import type { HeaderList } from '../http/http.ts';
import { limitHeaders } from '../http/limit-headers.ts';

/** How many requests a key may make in any span of `windowMs`. */
export interface Limit {
  readonly requestsMax: number;
  readonly windowMs: number;
}

/** What is left of a limit after a request. */
export interface Allowance {
  readonly exceeded: boolean;
  readonly headers: HeaderList;
}

/** When the allowed requests of a key were made, in milliseconds since 1970: ascending, at most `requestsMax`. */
export type RequestLog = number[];

/** Where a key stands after a request. */
export interface Standing {
  readonly exceeded: boolean;
  /** Requests that count now, this one among them if it was allowed. */
  readonly counted: number;
  /** When the oldest of those was made; undefined where there is none. */
  readonly oldestMs: number | undefined;
  readonly nowMs: number;
}

const KEYS_MAX = 100_000;

/**
 * Counts the requests of keys, in this process alone. No span of `windowMs`, wherever it begins, has more than
 * `requestsMax` that were allowed, and a request is refused only if it had one more. What is refused does not count:
 * whoever does not wait gets what is his nevertheless. Over `KEYS_MAX` keys, those go that were asked about longest ago.
 */
export class RateLimit {
  readonly #limit: Limit;
  readonly #logs = new LRUCache<string, RequestLog>({ max: KEYS_MAX });

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** Counts one request of `key` if it is allowed, and says whether it is one too many. */
  take(key: string, nowMs: number): Allowance {
    let log = this.#logs.get(key);
    if (log === undefined) {
      log = [];
      this.#logs.set(key, log);
    }
    return takeFrom(log, this.#limit, nowMs);
  }

  /** Whether `take` would refuse. Counts nothing. */
  isSpent(key: string, nowMs: number): boolean {
    const log = this.#logs.get(key);
    if (log === undefined) return false;
    evictExpired(log, this.#limit, nowMs);
    return log.length >= this.#limit.requestsMax;
  }
}

/** Adds one request to `log` if it is allowed. */
export function takeFrom(log: RequestLog, limit: Limit, nowMs: number): Allowance {
  evictExpired(log, limit, nowMs);
  const exceeded = log.length >= limit.requestsMax;
  if (!exceeded) log.push(nowMs);
  return allowanceOf(limit, { exceeded, counted: log.length, oldestMs: log[0], nowMs });
}

/**
 * Takes out of `log` what does not count any more at `nowMs`. A time in the future becomes `nowMs`: a clock that was put
 * back, or another's that is ahead, must not shut anybody out for longer than a window.
 */
export function evictExpired(log: RequestLog, { windowMs }: Limit, nowMs: number): void {
  let expired = 0;
  while (expired < log.length && (log[expired] ?? 0) <= nowMs - windowMs) expired += 1;
  if (expired > 0) log.splice(0, expired);
  for (let index = log.length - 1; index >= 0 && (log[index] ?? 0) > nowMs; index -= 1) log[index] = nowMs;
}

/** What is left; there is more when the oldest request is forgotten. */
export function allowanceOf(
  { requestsMax, windowMs }: Limit,
  { exceeded, counted, oldestMs, nowMs }: Standing,
): Allowance {
  const resetMs = (oldestMs ?? nowMs) + windowMs - nowMs;
  const headers = limitHeaders({
    limit: requestsMax,
    remaining: Math.max(0, requestsMax - counted),
    resetSeconds: Math.max(1, Math.ceil(resetMs / 1000)),
    exceeded,
  });
  return { exceeded, headers };
}
