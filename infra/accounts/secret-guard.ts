import type { Clock } from '../clock.ts';
import type { Allowance } from '../http/limit-headers.ts';
import type { Client } from './accounts.ts';
import { type SecretVerifier, VerifierFullError } from './client-auth.ts';
import { type Limit, RateLimiter } from './rate-limiter.ts';

/** Failures of one client, and from one address. Only guessing needs more attempts. */
const FAILURES: Limit = { requestsMax: 100, windowMs: 10_000 };

/** `limited`: too many failures, so that nothing was verified. `busy`: too many verifications wait. */
export type SecretVerdict = { readonly kind: 'right' } | SecretFailure | { readonly kind: 'busy' };

/** `failures`: the limit that a failure was counted against, or that is used up; undefined when it was not counted. */
export type SecretFailure =
  | { readonly kind: 'wrong'; readonly failures: Allowance | undefined }
  | { readonly kind: 'limited'; readonly failures: Allowance };

const RIGHT: SecretVerdict = { kind: 'right' };
const KNOWN_WRONG: SecretVerdict = { kind: 'wrong', failures: undefined };
const BUSY: SecretVerdict = { kind: 'busy' };

/**
 * Says whether a secret is a client's, and prevents guessing: a secret that is new to this process is verified only
 * while its client, and the address that it came from, are within `FAILURES`. A known secret is answered at once and
 * not counted. Known right: an id is no secret, so guesses must not lock out the owner of the client. Known wrong: a
 * program that still sends its old secret costs no hashing, and must not use up its client's attempts.
 */
export class SecretGuard {
  readonly #verifier: SecretVerifier;
  readonly #clock: Clock;
  readonly #failuresByClient = new RateLimiter(FAILURES);
  readonly #failuresByAddress = new RateLimiter(FAILURES);

  constructor(verifier: SecretVerifier, clock: Clock) {
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /** Answers at once when the secret is known or must not be verified now. */
  verify(client: Client, secret: string, address: string): SecretVerdict | Promise<SecretVerdict> {
    const known = this.#verifier.known(client, secret);
    if (known !== undefined) return known ? RIGHT : KNOWN_WRONG;
    return this.#limited(client, address) ?? this.#verifyNew(client, secret, address);
  }

  /** Counts a failure: a wrong secret, or a request that names no existing client or has no secret. */
  countFailure(client: Client | undefined, address: string): SecretFailure {
    const nowMs = this.#clock.nowMs();
    const byAddress = this.#failuresByAddress.take(address, nowMs);
    const byClient = client && this.#failuresByClient.take(client.id, nowMs);
    const failures = byClient?.allowed === false ? byClient : byAddress;
    return failures?.allowed === false ? { kind: 'limited', failures } : { kind: 'wrong', failures };
  }

  /** Forgets clients and addresses without recent failures. The owner calls it on a timer. */
  evictExpired(nowMs: number): void {
    this.#failuresByClient.evictExpired(nowMs);
    this.#failuresByAddress.evictExpired(nowMs);
  }

  async #verifyNew(client: Client, secret: string, address: string): Promise<SecretVerdict> {
    let failure: SecretFailure | undefined;
    try {
      const isRight = await this.#verifier.verify(client, secret, async (verification) => {
        // Those before it in the queue may have failed: many at once get no more tries than one after the other.
        const limited = this.#limited(client, address);
        if (limited !== undefined) throw new LimitedError(limited);
        const verified = await verification();
        if (!verified) failure = this.countFailure(client, address);
        return verified;
      });
      return isRight ? RIGHT : (failure ?? KNOWN_WRONG);
    } catch (error) {
      if (error instanceof LimitedError) return error.failure;
      if (error instanceof VerifierFullError) return BUSY;
      throw error;
    }
  }

  /** Undefined while the client and the address are both within the limit of failures. */
  #limited(client: Client, address: string): SecretFailure | undefined {
    const nowMs = this.#clock.nowMs();
    const byClient = this.#failuresByClient.look(client.id, nowMs);
    if (byClient?.allowed === false) return { kind: 'limited', failures: byClient };
    const byAddress = this.#failuresByAddress.look(address, nowMs);
    return byAddress?.allowed === false ? { kind: 'limited', failures: byAddress } : undefined;
  }
}

/** Carries a failure out of the verifier's queue. */
class LimitedError extends Error {
  override readonly name = 'LimitedError';
  readonly failure: SecretFailure;

  constructor(failure: SecretFailure) {
    super('too many failures');
    this.failure = failure;
  }
}
