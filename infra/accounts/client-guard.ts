import type { Clock } from '../clock.ts';
import { copyText } from '../http/cut-text.ts';
import type { Allowance } from '../http/limit-headers.ts';
import type { Metrics } from '../metrics.ts';
import { AddressList } from '../network/address-range.ts';
import type { Client, Scope } from './accounts.ts';
import { isSameSecret, matchesSecret } from './client-auth.ts';
import { ClientUses, type ClientUsesOptions } from './client-uses.ts';
import { FailedLogins } from './failed-logins.ts';

const EVICT_EVERY_MS = 1_000;

/** `wrong`: counted as a failure of the address; `limited`: its failures are used up. */
export interface LoginFailure {
  readonly kind: 'wrong' | 'limited';
  readonly failures: Allowance;
}

export type SecretVerdict = { readonly kind: 'right' } | LoginFailure;

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
  /**
   * The right secrets of clients, by their present records: hashing one costs 5 µs, and a client sends the same with each
   * request. Every rotation makes a record, so a secret that is no longer right is not found.
   */
  readonly #proven = new WeakMap<Client, string>();
  /** The address lists of clients, by their present records. */
  readonly #addresses = new WeakMap<Client, AddressList>();
  /** Runs only while failures are counted. */
  #timer: NodeJS.Timeout | undefined;

  private constructor({ clock, metrics, service }: ClientGuardOptions, uses: ClientUses) {
    this.uses = uses;
    this.#clock = clock;
    this.#failures = new FailedLogins(clock);
    metrics.gaugeOf(
      'failed_login_addresses',
      'addresses whose wrong credentials are counted now; each for 10 seconds',
      { service },
      () => this.#failures.addresses,
    );
  }

  static async open(options: ClientGuardOptions): Promise<ClientGuard> {
    return new ClientGuard(options, await ClientUses.open(options));
  }

  /** True if the secret is known to be right; false says nothing. Costs less than `verify` and needs no address. */
  isProven(client: Client, secret: string): boolean {
    const proven = this.#proven.get(client);
    return proven !== undefined && isSameSecret(proven, secret);
  }

  verify(client: Client, secret: string, address: string): SecretVerdict {
    if (this.isProven(client, secret)) return RIGHT;
    if (!matchesSecret(client.secretHash, secret)) return this.fail(address);
    this.#proven.set(client, copyText(secret));
    return RIGHT;
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

  #isAllowedFrom(client: Client, addresses: readonly string[], address: string): boolean {
    let list = this.#addresses.get(client);
    if (list === undefined) {
      list = new AddressList(addresses);
      this.#addresses.set(client, list);
    }
    return list.includes(address);
  }
}
