import { createHash } from 'node:crypto';
import { copyText } from '../http/cut-text.ts';
import type { Allowance } from '../http/limit-headers.ts';

/** The number of requests allowed per key. */
export interface Limit {
  /** Per window; 0: no limit. */
  readonly requestsMax: number;
  readonly windowMs: number;
}

/** The longest key that is stored as it came; an IPv6 address has up to 39 characters, a UUID has 36. */
const KEY_CHARS_MAX = 40;
const KEY_HASH_BYTES = 16;
/** The longest key that is stored at all: a prefix and the hexadecimal digits of a hash. */
export const STORED_KEY_CHARS_MAX = 44;
const HASHED_KEY_PREFIX = 'sha256-128: ';
/** Maximum number of counted keys in one window. */
export const KEYS_MAX = 100_000;

/**
 * Limits the requests of each key by a sliding-window counter: two fixed windows, the earlier one weighted by its part
 * in the last `windowMs`. Windows follow the clock, so processes count in the same ones.
 *
 *     window       k-1             k
 *              ├───────────┼───────●───┤       allowed while  previous × ¼ + current < requestsMax
 *                    ├─────────────┤           weight ¼: the part of k-1 within windowMs before now
 *
 * This guarantees, in one process:
 * - A key that sent nothing in the window before gets exactly `requestsMax` in this one.
 * - No window allows more than `requestsMax`, so no span of `windowMs` has more than twice as many.
 * - A request is rejected only if this window and the one before allowed `requestsMax` together.
 * - Rejected requests do not count: a key that never pauses still gets `requestsMax` in every window.
 *
 * Counts cost two look-ups and one write, and are forgotten two windows later. When a window with `KEYS_MAX` keys gets
 * another one, its counts are dropped: a limit per key cannot stop such a flood.
 */
export class RateLimiter {
  readonly #limit: Limit;
  #window = 0;
  /** Requests by stored key. */
  #current = new Map<string, number>();
  #previous = new Map<string, number>();

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** True if keys have a limit unless `take` is given another. */
  get isOn(): boolean {
    return this.#limit.requestsMax !== 0;
  }

  /**
   * Counts one request of `key` if it is allowed. Undefined: there is no limit. `requestsMax` replaces the limit of the
   * limiter for this key.
   */
  take(key: string, nowMs: number, requestsMax = this.#limit.requestsMax): Allowance | undefined {
    const stored = storedKeyOf(key);
    const allowance = this.#judge(stored, nowMs, requestsMax, 1);
    if (allowance?.allowed) this.#add(this.#current, stored, 1);
    return allowance;
  }

  /** The result that `take` would have, and the remaining requests. Counts nothing. */
  look(key: string, nowMs: number): Allowance | undefined {
    return this.#judge(storedKeyOf(key), nowMs, this.#limit.requestsMax, 0);
  }

  /**
   * Adds requests that another process allowed in the window numbered `window`, under a stored key. Ignored (false)
   * unless the window is the current one, the previous one, or the next one of a clock that is ahead.
   */
  addStored(stored: string, requests: number, window: number, nowMs: number): boolean {
    this.evictExpired(nowMs);
    if (window < this.#window - 1 || window > this.#window + 1) return false;
    this.#add(window < this.#window ? this.#previous : this.#current, stored, requests);
    return true;
  }

  /** True if it counts nothing now, as far as `evictExpired` has seen. */
  get isEmpty(): boolean {
    return this.#current.size === 0 && this.#previous.size === 0;
  }

  /** The number of the window that `nowMs` is in. */
  windowAt(nowMs: number): number {
    return Math.floor(nowMs / this.#limit.windowMs);
  }

  /** Forgets the counts of expired windows. An owner that may count nothing for long calls it on a timer. */
  evictExpired(nowMs: number): void {
    const window = this.windowAt(nowMs);
    if (window === this.#window) return;
    // A clock that was set back continues with the present counts: no key gets more, and none is rejected for longer
    // than until the windows that are counted now have passed.
    if (window > this.#window) {
      this.#previous = window === this.#window + 1 ? this.#current : new Map();
      this.#current = new Map();
    }
    this.#window = window;
  }

  /** `taking`: requests that are counted if they are allowed. */
  #judge(stored: string, nowMs: number, requestsMax: number, taking: 0 | 1): Allowance | undefined {
    const { windowMs } = this.#limit;
    if (requestsMax === 0) return undefined;
    this.evictExpired(nowMs);
    const previous = this.#previous.get(stored) ?? 0;
    const current = this.#current.get(stored) ?? 0;
    const elapsedMs = Math.floor(nowMs) - this.#window * windowMs;
    const weighted = weightedOf(previous, elapsedMs, windowMs);
    const allowed = weighted + current < requestsMax;
    const counted = allowed ? current + taking : current;
    return {
      allowed,
      limit: requestsMax,
      remaining: Math.max(0, requestsMax - weighted - counted),
      resetMs: resetMsOf({ requestsMax, windowMs }, { previous, current: counted, elapsedMs }),
    };
  }

  #add(counts: Map<string, number>, stored: string, requests: number): void {
    const counted = counts.get(stored);
    if (counted === undefined && counts.size >= KEYS_MAX) counts.clear();
    counts.set(counted === undefined ? copyText(stored) : stored, (counted ?? 0) + requests);
  }
}

/** The form in which a key is stored: unchanged if it is short, else a hash that equals no short key. */
export function storedKeyOf(key: string): string {
  if (key.length <= KEY_CHARS_MAX) return key;
  const hash = createHash('sha256').update(key, 'utf16le').digest('hex');
  return HASHED_KEY_PREFIX + hash.slice(0, 2 * KEY_HASH_BYTES);
}

/** Whole requests of the window before that still count. The present millisecond counts as over, so the last one weighs 0. */
function weightedOf(previous: number, elapsedMs: number, windowMs: number): number {
  return Math.floor((previous * (windowMs - 1 - elapsedMs)) / windowMs);
}

interface Counts {
  readonly previous: number;
  readonly current: number;
  readonly elapsedMs: number;
}

/** Time until more requests are allowed than now, and at least one. */
function resetMsOf({ requestsMax, windowMs }: Limit, { previous, current, elapsedMs }: Counts): number {
  const weighted = weightedOf(previous, elapsedMs, windowMs);
  const wanted = Math.min(weighted - 1, requestsMax - 1 - current);
  if (wanted >= 0) return reachesMs(previous, wanted, windowMs) - elapsedMs;
  if (current === 0) return 0;
  const wantedNext = Math.min(weighted + current, requestsMax) - 1;
  return windowMs - elapsedMs + reachesMs(current, wantedNext, windowMs);
}

/** Milliseconds into a window until at most `wanted` of the `previous` requests still count. */
function reachesMs(previous: number, wanted: number, windowMs: number): number {
  return Math.max(0, windowMs - Math.ceil(((wanted + 1) * windowMs) / previous));
}
