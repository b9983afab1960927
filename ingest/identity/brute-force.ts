import type { Client } from '../../infra/accounts/accounts.ts';
import { type SecretVerifier, VerifierFullError } from '../../infra/accounts/client-auth.ts';
import { WindowLimit } from '../../infra/accounts/window-limit.ts';
import type { Clock } from '../../infra/clock.ts';
import { busy, type Reject } from '../request/reject.ts';

/** Wrong secrets that are looked at in a window, of one client and from one address. Nobody needs more tries. */
const FAILURES_MAX = 100;

/** Whether a secret is the client's, or why that is not found out now. */
export type Verified = boolean | Reject;

/**
 * Says whether a secret is a client's, and lets nobody guess. A secret that is new to us has to be verified, and no more
 * of that is done for a client, and for an address, once it had `FAILURES_MAX` wrong ones in a window. What is known
 * already is answered as ever, and counted nowhere: an id is no secret, and whoever knows one must not be able to shut
 * its owner out; nor must a program that goes on with a secret of yesterday.
 */
export class GuardedVerifier {
  readonly #verifier: SecretVerifier;
  readonly #clock: Clock;
  readonly #failuresByClient = new WindowLimit(FAILURES_MAX);
  readonly #failuresByAddress = new WindowLimit(FAILURES_MAX);

  constructor(verifier: SecretVerifier, clock: Clock) {
    this.#verifier = verifier;
    this.#clock = clock;
  }

  /** `address` is of who has to be slowed down. Answers at once when the secret is known or may not be tried. */
  verify(client: Client, secret: string, address: string): Verified | Promise<Verified> {
    const known = this.#verifier.known(client, secret);
    return known ?? this.#spent(client.id, address) ?? this.#findOut(client, secret, address);
  }

  /** Forgets addresses whose window is over. The owner calls it on a timer, for the time without failures. */
  turn(nowMs: number): void {
    this.#failuresByClient.turn(nowMs);
    this.#failuresByAddress.turn(nowMs);
  }

  async #findOut(client: Client, secret: string, address: string): Promise<Verified> {
    try {
      return await this.#verifier.verify(client, secret, async (verification) => {
        // Those who waited in front of it may have failed meanwhile: many at once get no more tries than one by one.
        const spent = this.#spent(client.id, address);
        if (spent !== undefined) throw new SpentError(spent);
        const verified = await verification();
        if (!verified) this.#countFailure(client.id, address);
        return verified;
      });
    } catch (error) {
      if (error instanceof SpentError) return error.rejection;
      if (error instanceof VerifierFullError) return busy('verifier-full');
      throw error;
    }
  }

  /** Why nothing more is tried for this client or this address; undefined when it may. */
  #spent(clientId: string, address: string): Reject | undefined {
    const nowMs = this.#clock.nowMs();
    const byClient = this.#failuresByClient.look(clientId, nowMs);
    const state = byClient.exceeded ? byClient : this.#failuresByAddress.look(address, nowMs);
    return state.exceeded ? { ...GUESSING, headers: state.headers } : undefined;
  }

  #countFailure(clientId: string, address: string): void {
    const nowMs = this.#clock.nowMs();
    this.#failuresByClient.take(clientId, nowMs);
    this.#failuresByAddress.take(address, nowMs);
  }
}

const GUESSING: Reject = {
  reason: 'guessing',
  status: 429,
  message: 'service-client-secret: too many wrong ones of this client or from this address; try again later',
};

/** Takes a rejection past the verifier, which knows none. */
class SpentError extends Error {
  override readonly name = 'SpentError';
  readonly rejection: Reject;

  constructor(rejection: Reject) {
    super(rejection.message);
    this.rejection = rejection;
  }
}
