import type { Clock } from '../clock.ts';
import { copyText } from '../http/cut-text.ts';
import type { Allowance } from '../http/limit-headers.ts';
import type { Metrics } from '../metrics.ts';
import { AddressList } from '../network/address-range.ts';
import { type Client, CONTROL_BUCKET, type Scope } from './accounts.ts';
import { isSameSecret, matchesSecret } from './client-auth.ts';
import { ClientUses, type ClientUsesOptions } from './client-uses.ts';
import { FailedLogins } from './failed-logins.ts';
import { isOldHash, OldHashes } from './old-hashes.ts';

const EVICT_EVERY_MS = 1_000;

/** `wrong`: counted as a failure of the address; `limited`: its failures are used up. */
export interface LoginFailure {
  readonly kind: 'wrong' | 'limited';
  readonly failures: Allowance;
}

/** `busy`: too many secrets wait to be verified against hashes of an earlier version; the caller may try again. */
export type SecretVerdict = { readonly kind: 'right' } | LoginFailure | { readonly kind: 'busy' };

/** The reason why a client with the right secret is denied. */
export type Denial = 'expired' | 'scope' | 'address';

/**
 * An intended use of a client, and the address that it comes from: the proven one, in its normal form. The address is read only for a
 * client that is limited to some, and for a wrong secret.
 */
export interface Attempt {
  readonly scope: Scope;
  readonly address: string;
}

const RIGHT: SecretVerdict = { kind: 'right' };
const BUSY: SecretVerdict = { kind: 'busy' };

export interface ClientGuardOptions extends ClientUsesOptions {
  readonly metrics: Metrics;
  /** The service in this process that it guards, for metrics. */
  readonly service: string;
}

/**
 * Decides whether a client may be used: by its secret, its expiry, its scopes and its list of addresses.
 *
 * A right secret is never rejected because others fail, not from the same address either. So wrong ones are only counted, see
 * `FailedLogins`, and the answer beyond the limit is 429 instead of 401.
 */
export class ClientGuard {
  readonly uses: ClientUses;
  readonly #clock: Clock;
  readonly #failures: FailedLogins;
  readonly #oldHashes: OldHashes;
  /**
   * The right secrets of clients, by their present records: hashing one costs 5 µs, and a client sends the same with each
   * request. Every rotation makes a record, so a secret that is no longer right is not found.
   */
  readonly #proven = new WeakMap<Client, string>();
  /** The address lists of clients, by their present records. */
  readonly #addresses = new WeakMap<Client, AddressList>();
  /** Runs only while failures are counted. */
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    { clock, metrics, service }: ClientGuardOptions,
    uses: ClientUses,
    oldHashes: OldHashes,
  ) {
    this.uses = uses;
    this.#clock = clock;
    this.#oldHashes = oldHashes;
    this.#failures = new FailedLogins(clock);
    metrics.gaugeOf(
      'failed_login_addresses',
      'addresses whose wrong credentials are counted now; each for 10 seconds',
      { service },
      () => this.#failures.addresses,
    );
  }

  static async open(options: ClientGuardOptions): Promise<ClientGuard> {
    const bucket = await options.bus.keyed(CONTROL_BUCKET);
    return new ClientGuard(options, await ClientUses.open(options), new OldHashes(bucket));
  }

  /** True if the secret is known to be right; false says nothing. Costs less than `verify` and needs no address. */
  isProven(client: Client, secret: string): boolean {
    const proven = this.#proven.get(client);
    return proven !== undefined && isSameSecret(proven, secret);
  }

  /** Answers synchronously, except for a secret whose hash is of an earlier version. */
  verify(client: Client, secret: string, address: string): SecretVerdict | Promise<SecretVerdict> {
    if (this.isProven(client, secret)) return RIGHT;
    if (!isOldHash(client.secretHash)) {
      const isRight = matchesSecret(client.secretHash, secret);
      if (isRight) this.#proven.set(client, copyText(secret));
      return this.#verdict(isRight, address);
    }
    const found = this.#oldHashes.verify({ client, secret, address });
    return found instanceof Promise
      ? found.then((result) => this.#verdict(result, address))
      : this.#verdict(found, address);
  }

  /** Counts a request with wrong credentials: a wrong secret, or none, or no existing client. */
  fail(address: string): LoginFailure {
    const failures = this.#failures.count(address);
    this.#timer ??= setInterval(() => this.#evictFailures(), EVICT_EVERY_MS).unref();
    return { kind: failures.allowed ? 'wrong' : 'limited', failures };
  }

  /** True if the failures of an address are used up, so that nothing costly should be done for it. */
  isExhausted(address: string): boolean {
    return this.#failures.isExhausted(address);
  }

  /** Returns why an authenticated client may not do this; undefined if it may, and then it counts as used. */
  admit(client: Client, attempt: Attempt): Denial | undefined {
    if (this.isExpired(client)) return 'expired';
    if (client.scopes !== undefined && !client.scopes.includes(attempt.scope)) return 'scope';
    if (client.addresses !== undefined && !this.#isAllowedFrom(client, client.addresses, attempt.address))
      return 'address';
    this.uses.note(client);
    return undefined;
  }

  isExpired({ expiresAt }: Client): boolean {
    return expiresAt !== undefined && Date.parse(expiresAt) <= this.#clock.nowMs();
  }

  /** Records the last uses. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.uses.stop();
  }

  #evictFailures(): void {
    this.#failures.evictExpired();
    if (this.#failures.addresses > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #verdict(isRight: boolean | 'busy', address: string): SecretVerdict {
    if (isRight === 'busy') return BUSY;
    return isRight ? RIGHT : this.fail(address);
  }

  #isAllowedFrom(client: Client, addresses: readonly string[], address: string): boolean {
    let list = this.#addresses.get(client);
    if (list === undefined) {
      list = new AddressList(addresses);
      this.#addresses.set(client, list);
    }
    return list.includes(address);
  }
}
