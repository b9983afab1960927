import { createHash, randomBytes } from 'node:crypto';
import type { SharedRateLimiter } from '../../infra/accounts/shared-rate-limiter.ts';
import type { Allowance } from '../../infra/http/limit-headers.ts';
import type { Salts } from './salt.ts';

/** Distinguishes a hashed address from a device id, which is made with the same salt. */
const PURPOSE = 'rate of an address\n';
const DIGITS = 32;

/**
 * Limits the requests of each address over all collectors. They exchange keyed hashes with the day's salt: no address leaves the process
 * that it came to.
 */
export class AddressLimiter {
  readonly #limiter: SharedRateLimiter | undefined;
  readonly #salts: Pick<Salts, 'at'>;
  /** Replaces an unknown salt; other collectors then count apart. */
  readonly #own = randomBytes(16);

  /** Without a limiter, nothing is limited. */
  constructor(limiter: SharedRateLimiter | undefined, salts: Pick<Salts, 'at'>) {
    this.#limiter = limiter;
    this.#salts = salts;
  }

  /** True if there is a limit. Without one, no address has to be known. */
  get isOn(): boolean {
    return this.#limiter !== undefined;
  }

  /** Counts one request of the address if it is allowed. Undefined: there is no limit. */
  take(address: string, nowMs: number): Allowance | undefined {
    if (this.#limiter === undefined) return undefined;
    const salt = this.#salts.at(nowMs)?.today ?? this.#own;
    const hash = createHash('sha256').update(salt).update(PURPOSE).update(address).digest('hex');
    return this.#limiter.take(hash.slice(0, DIGITS));
  }

  stop(): void {
    this.#limiter?.stop();
  }
}
