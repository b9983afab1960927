import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { type SipKey, sipHash48, sipKeyOf } from '../hash/sip-hash.ts';
import type { Allowance } from '../http/limit-headers.ts';
import { COUNTED_NETWORKS_MAX, type CountedNetwork, countedNetworks } from '../network/counted-networks.ts';

/** Failures of one address in one window. Only guessing needs more attempts. */
export const FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 10_000;
/** The failures that an address may have in a window, which begins with the first of them. */
export interface FailureLimit {
  readonly failuresMax: number;
  readonly windowMs: number;
}
const SECRETS_LIMIT: FailureLimit = { failuresMax: FAILURES_MAX, windowMs: FAILURE_WINDOW_MS };
/** Maximum number of counted networks of one size. Beyond it, the network with the oldest window is evicted. */
const NETWORKS_MAX = 100_000;
const KEY_BYTES = 16;

interface Failures {
  count: number;
  readonly endsAtMs: number;
}

/** A network with failures, and its maximum. */
interface CountedFailures {
  readonly key: number;
  /** The networks of the same size. */
  readonly level: Map<number, Failures>;
  readonly failures: Failures | undefined;
  readonly max: number;
}

/**
 * Counts requests with wrong credentials by address and its wider networks (`countedNetworks`), never by anything that
 * the sender chooses. The first failure of a network begins its window; failures up to its limit are counted in it, and
 * further ones leave no trace.
 *
 * A network is remembered as 48 bits of a keyed hash, and for one window: `evictExpired` removes it afterwards.
 */
export class FailedLogins {
  readonly #clock: Clock;
  readonly #limit: FailureLimit;
  readonly #networksOf: (sender: string) => readonly CountedNetwork[];
  readonly #hashKey: SipKey = sipKeyOf(randomBytes(KEY_BYTES));
  /** From narrow to wide. Each by the hash of the network, in the order in which the windows end. */
  readonly #levels = Array.from({ length: COUNTED_NETWORKS_MAX }, () => new Map<number, Failures>());

  /** `networksOf` is another function where senders are no addresses. */
  constructor(
    clock: Clock,
    limit = SECRETS_LIMIT,
    networksOf: (sender: string) => readonly CountedNetwork[] = countedNetworks,
  ) {
    this.#clock = clock;
    this.#limit = limit;
    this.#networksOf = networksOf;
  }

  /** The number of remembered addresses; an IPv6 address by its /64 network. */
  get addresses(): number {
    return this.#levels[0]?.size ?? 0;
  }

  /** Counts one failure if the limits of all its networks allow it. `address` is in its normal form. */
  count(address: string): Allowance {
    const nowMs = this.#clock.nowMs();
    this.evictExpired();
    const counted = this.#countedOf(address);
    // The widest comes first, so that a network without attempts leaves no narrower ones in memory.
    for (const { failures, max } of counted.toReversed())
      if (failures !== undefined && failures.count >= max)
        return { allowed: false, limit: max, remaining: 0, resetMs: failures.endsAtMs - nowMs };
    let tightest: Allowance | undefined;
    for (const { key, level, failures: before, max } of counted) {
      const failures = before ?? this.#begin(level, key, nowMs);
      failures.count += 1;
      const remaining = max - failures.count;
      if (tightest === undefined || remaining < tightest.remaining)
        tightest = { allowed: true, limit: max, remaining, resetMs: failures.endsAtMs - nowMs };
    }
    if (tightest === undefined) throw new Error('a sender without a network was counted');
    return tightest;
  }

  /** Takes back one failure: the attempt that was counted beforehand was right. */
  takeBack(address: string): void {
    for (const { failures } of this.#countedOf(address))
      if (failures !== undefined && failures.count > 0) failures.count -= 1;
  }

  /** True if no further failure of an address would be counted. */
  isExhausted(address: string): boolean {
    this.evictExpired();
    return this.#countedOf(address).some(({ failures, max }) => (failures?.count ?? 0) >= max);
  }

  /** Evicts the networks whose window is over. The owner calls it on a timer, for times without failures. */
  evictExpired(): void {
    const nowMs = this.#clock.nowMs();
    for (const level of this.#levels) this.#evictExpiredOf(level, nowMs);
  }

  #evictExpiredOf(level: Map<number, Failures>, nowMs: number): void {
    for (const [key, { endsAtMs }] of level) {
      // After a clock was set back, a window would end too late.
      if (endsAtMs > nowMs && endsAtMs <= nowMs + this.#limit.windowMs) return;
      level.delete(key);
    }
  }

  #begin(level: Map<number, Failures>, key: number, nowMs: number): Failures {
    if (level.size >= NETWORKS_MAX) evictFirst(level);
    const failures = { count: 0, endsAtMs: nowMs + this.#limit.windowMs };
    level.set(key, failures);
    return failures;
  }

  #countedOf(sender: string): CountedFailures[] {
    return this.#networksOf(sender).map(({ name, times }, index) => {
      const level = this.#levels[index];
      if (level === undefined) throw new Error('a sender has more networks than are counted');
      const key = this.#keyOf(name);
      return { key, level, failures: level.get(key), max: this.#limit.failuresMax * times };
    });
  }

  #keyOf(network: string): number {
    return sipHash48(Buffer.from(network), this.#hashKey);
  }
}

function evictFirst(level: Map<number, Failures>): void {
  for (const key of level.keys()) {
    level.delete(key);
    return;
  }
}
