import type { z } from 'zod';
import type { Client } from '../../infra/accounts/accounts.ts';
import type { ClientGuard, LoginFailure, SecretVerdict } from '../../infra/accounts/client-guard.ts';
import { FailedLogins, type FailureLimit } from '../../infra/accounts/failed-logins.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { RejectError } from '../reject.ts';
import type { Holders } from './holders.ts';
import type { Passphrases } from './passphrases.ts';
import type { clientSignIn, SignInBody, userSignIn } from './sign-in-api.ts';
import type { SignInLinks } from './sign-in-links.ts';
import { type Holder, hashOf } from './sign-in-record.ts';

const WRONG = 'these credentials are wrong; check them and try again';
const LIMITED = 'too many wrong credentials came from this address; retry after the time in Retry-After';

/** Wrong passphrases of one address. People need a few attempts, and only guessing needs more. */
export const GUESSES: FailureLimit = { failuresMax: 20, windowMs: 300_000 };

const RESULTS = ['done', 'wrong', 'limited', 'busy', 'forbidden'] as const;
type Result = (typeof RESULTS)[number];

/** Who proved itself, and the fingerprint of the secret that did. */
export interface Proven {
  readonly holder: Holder;
  readonly fingerprint: string;
}

export interface SignInDoorOptions {
  readonly clientGuard: ClientGuard;
  readonly holders: Holders;
  readonly links: SignInLinks;
  readonly passphrases: Passphrases;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** One attempt to sign in. */
export interface SignInAttempt {
  /** The sender's proven address, in its normal form. */
  readonly address: string;
  /** Gets headers for the answer before anything is thrown. */
  readonly noted: (headers: HeaderList) => void;
}

/** Decides who may sign in. Everything that is wrong gets the same answer, so that it does not tell what exists. */
export class SignInDoor {
  readonly #options: SignInDoorOptions;
  readonly #guesses: FailedLogins;
  readonly #results: Readonly<Record<Result, Counter>>;

  constructor(options: SignInDoorOptions) {
    this.#options = options;
    this.#guesses = new FailedLogins(options.clock, GUESSES);
    this.#results = options.metrics.reasons(
      'sign_in_attempts_total',
      'attempts to sign in, by result',
      RESULTS,
    );
  }

  /** @throws {RejectError} */
  async open(body: SignInBody, attempt: SignInAttempt): Promise<Proven> {
    const proven = await this.#prove(body, attempt);
    this.#results.done.add();
    return proven;
  }

  /** Verifies the passphrase of a shared link. @throws {RejectError} */
  async checkSharePassphrase(
    hash: string,
    passphrase: string | undefined,
    attempt: SignInAttempt,
  ): Promise<void> {
    if (passphrase === undefined) throw new RejectError('unauthorized', 'passphrase: the link needs one');
    await this.#matching([hash], passphrase, attempt);
  }

  /** Forgets failures that are over. A timer calls it. */
  sweep(): void {
    this.#guesses.evictExpired();
  }

  #prove(body: SignInBody, attempt: SignInAttempt): Promise<Proven> {
    if ('link' in body) return this.#byLink(body.link, attempt);
    return 'email' in body ? this.#byUser(body, attempt) : this.#byClient(body, attempt);
  }

  async #byUser({ email, passphrase }: z.output<typeof userSignIn>, attempt: SignInAttempt): Promise<Proven> {
    const users = this.#options.holders.usersWith(email);
    const hashes = users.length === 0 ? [undefined] : users.map(({ passphraseHash }) => passphraseHash);
    const user = users[await this.#matching(hashes, passphrase, attempt)];
    if (user === undefined) throw new Error('nobody has no right passphrase');
    return { holder: { kind: 'user', id: user.id }, fingerprint: hashOf(user.passphraseHash) };
  }

  /**
   * Which of these hashes a passphrase has. It can be guessed, so an address whose attempts are used up is not heard, right
   * or wrong. Nothing is counted for a user or a link, or strangers could shut people out.
   * @throws {RejectError} none
   */
  async #matching(
    hashes: readonly (string | undefined)[],
    passphrase: string,
    attempt: SignInAttempt,
  ): Promise<number> {
    const { address } = attempt;
    const failures = this.#guesses.count(address);
    if (!failures.allowed) return this.#failed({ kind: 'limited', failures }, attempt);
    for (const [index, hash] of hashes.entries()) {
      const isRight = await this.#options.passphrases.verify(hash, passphrase, address);
      if (isRight !== false) this.#guesses.takeBack(address);
      if (isRight === 'busy') return this.#busy();
      if (isRight) return index;
    }
    return this.#failed({ kind: 'wrong', failures }, attempt);
  }

  async #byClient(
    { clientId, clientSecret }: z.output<typeof clientSignIn>,
    attempt: SignInAttempt,
  ): Promise<Proven> {
    const { clientGuard, holders } = this.#options;
    const client = holders.anyClient(clientId);
    const { address } = attempt;
    const verdict: SecretVerdict =
      client === undefined
        ? clientGuard.fail(address)
        : await clientGuard.verify(client, clientSecret, address);
    if (verdict.kind === 'busy') return this.#busy();
    if (verdict.kind !== 'right') return this.#failed(verdict, attempt);
    if (client === undefined) throw new Error('a client that does not exist has no right secret');
    this.#rejectDenied(client, address);
    return { holder: { kind: 'client', id: client.id }, fingerprint: hashOf(client.secretHash) };
  }

  async #byLink(token: string, attempt: SignInAttempt): Promise<Proven> {
    const { clientGuard, holders, links } = this.#options;
    const { address } = attempt;
    // Looking a link up costs I/O.
    const link = clientGuard.isExhausted(address) ? undefined : await links.take(token);
    const client = link === undefined ? undefined : holders.anyClient(link.clientId);
    if (client === undefined || link?.fingerprint !== hashOf(client.secretHash))
      return this.#failed(clientGuard.fail(address), attempt);
    this.#rejectDenied(client, address);
    return { holder: { kind: 'client', id: client.id }, fingerprint: link.fingerprint };
  }

  /** A client that is limited to areas may sign in if it may use one of those that the dashboard shows. */
  #rejectDenied(client: Client, address: string): void {
    const scope = client.scopes === undefined || client.scopes.includes('insights') ? 'insights' : 'manage';
    const isWriter = client.type === 'write';
    const denial = isWriter ? undefined : this.#options.clientGuard.admit(client, { scope, address });
    if (!isWriter && denial === undefined) return;
    this.#results.forbidden.add();
    if (isWriter)
      throw new RejectError(
        'forbidden',
        'a write client may only send events; sign in with a read or root client',
      );
    if (denial === 'expired')
      throw new RejectError('unauthorized', `the client expired at ${client.expiresAt}`);
    throw new RejectError(
      'forbidden',
      denial === 'address'
        ? 'this client may not be used from this address'
        : 'this client may not sign in: its scopes have neither "insights" nor "manage"',
    );
  }

  #busy(): never {
    this.#results.busy.add();
    throw new RejectError('busy', 'too many credentials wait to be verified; try again');
  }

  #failed({ kind, failures }: LoginFailure, { noted }: SignInAttempt): never {
    this.#results[kind].add();
    noted(limitHeaders(failures));
    throw kind === 'limited' ? new RejectError('limited', LIMITED) : new RejectError('unauthorized', WRONG);
  }
}
