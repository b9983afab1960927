import { createHmac, randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Allowance } from '../http/limit-headers.ts';
import { limitedNetwork } from '../network/client-address.ts';

/** Failures of one address in one window. Only guessing needs more attempts. */
export const FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 10_000;
/** How many failures an address may have in a window, which begins with the first of them. */
export interface FailureLimit {
  readonly failuresMax: number;
  readonly windowMs: number;
}
const SECRETS_LIMIT: FailureLimit = { failuresMax: FAILURES_MAX, windowMs: FAILURE_WINDOW_MS };
/** The most addresses that are counted at a time; beyond it the one that began first is evicted. */
const ADDRESSES_MAX = 100_000;
const KEY_BYTES = 16;

interface Failures {
  count: number;
  readonly endsAtMs: number;
}

/**
 * Counts requests with wrong credentials by address (IPv6: by /64 network), and by nothing that the sender chooses. The
 * first failure of an address begins its window; `failuresMax` are counted in it, and further ones leave no trace.
 *
 * An address is remembered as 16 bytes of a keyed hash, and for one window: `evictExpired` removes it afterwards.
 */
export class FailedLogins {
  readonly #clock: Clock;
  readonly #limit: FailureLimit;
  readonly #hashKey = randomBytes(KEY_BYTES);
  /** By the hash of the address, in the order in which the windows end. */
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock, limit = SECRETS_LIMIT) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** How many addresses are remembered now. */
  get addresses(): number {
    return this.#failures.size;
  }

  /** Counts one failure if the limit allows it. `address` is in its normal form. */
  count(address: string): Allowance {
    const nowMs = this.#clock.nowMs();
    const { failuresMax, windowMs } = this.#limit;
    this.evictExpired();
    const key = this.#keyOf(address);
    let failures = this.#failures.get(key);
    if (failures === undefined) {
      if (this.#failures.size >= ADDRESSES_MAX) this.#evictFirst();
      failures = { count: 0, endsAtMs: nowMs + windowMs };
      this.#failures.set(key, failures);
    }
    const allowed = failures.count < failuresMax;
    if (allowed) failures.count += 1;
    return {
      allowed,
      limit: failuresMax,
      remaining: failuresMax - failures.count,
      resetMs: failures.endsAtMs - nowMs,
    };
  }

  /** Takes back one failure: the attempt that was counted beforehand was right. */
  takeBack(address: string): void {
    const failures = this.#failures.get(this.#keyOf(address));
    if (failures !== undefined && failures.count > 0) failures.count -= 1;
  }

  /** Whether no further failure of an address would be counted. */
  isExhausted(address: string): boolean {
    this.evictExpired();
    return (this.#failures.get(this.#keyOf(address))?.count ?? 0) >= this.#limit.failuresMax;
  }

  /** Evicts the addresses whose window is over. The owner calls it on a timer, for times without failures. */
  evictExpired(): void {
    const nowMs = this.#clock.nowMs();
    for (const [key, { endsAtMs }] of this.#failures) {
      // After a clock was set back, a window would end too late.
      if (endsAtMs > nowMs && endsAtMs <= nowMs + this.#limit.windowMs) return;
      this.#failures.delete(key);
    }
  }

  #evictFirst(): void {
    for (const key of this.#failures.keys()) {
      this.#failures.delete(key);
      return;
    }
  }

  #keyOf(address: string): string {
    const hash = createHmac('sha256', this.#hashKey).update(limitedNetwork(address)).digest();
    return hash.toString('hex', 0, KEY_BYTES);
  }
}
