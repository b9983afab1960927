import type { z } from 'zod';
import type { Client } from '../../infra/accounts/accounts.ts';
import type { ClientGuard, LoginFailure, SecretVerdict } from '../../infra/accounts/client-guard.ts';
import type { Clock } from '../../infra/clock.ts';
import type { HeaderList } from '../../infra/http/headers.ts';
import { limitHeaders } from '../../infra/http/limit-headers.ts';
import type { Counter, Metrics } from '../../infra/metrics.ts';
import { RejectError } from '../reject.ts';
import { Guesses } from './guesses.ts';
import type { Holders } from './holders.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import type { PassphraseKind, Passphrases } from './passphrases.ts';
import type { clientSignIn, SignInBody, userSignIn } from './sign-in-api.ts';
import type { SignInLinks } from './sign-in-links.ts';
import { type Holder, hashOf } from './sign-in-record.ts';
import { sameEmail, type User } from './user-record.ts';

const WRONG = 'these credentials are wrong; check them and try again';
const LIMITED = 'too many wrong credentials came from this address; retry after the time in Retry-After';

const RESULTS = ['done', 'wrong', 'limited', 'busy', 'forbidden'] as const;
type Result = (typeof RESULTS)[number];

/** A holder that has proven itself, and the fingerprint of the secret used. */
export interface Proven {
  readonly holder: Holder;
  readonly fingerprint: string;
}

export interface SignInDoorOptions {
  readonly clientGuard: ClientGuard;
  readonly holders: Holders;
  readonly links: SignInLinks;
  readonly passphrases: Passphrases;
  readonly knownBrowsers: KnownBrowsers;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** One attempt to sign in. */
export interface SignInAttempt {
  /** The sender's proven address, in its normal form. */
  readonly address: string;
  /** The cookie of a browser in which a user signed in before; empty when absent. */
  readonly knownBrowser: string;
  /** Gets headers for the answer before anything is thrown. */
  readonly noted: (headers: HeaderList) => void;
}

/** Decides on sign-ins. Every failure gets the same answer, so it does not reveal what exists. */
export class SignInDoor {
  readonly #options: SignInDoorOptions;
  readonly #guesses: Readonly<Record<PassphraseKind, Guesses>>;
  readonly #results: Readonly<Record<Result, Counter>>;

  constructor(options: SignInDoorOptions) {
    this.#options = options;
    this.#guesses = { users: new Guesses(options.clock), links: new Guesses(options.clock) };
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
    attempt: Omit<SignInAttempt, 'knownBrowser'>,
  ): Promise<void> {
    if (passphrase === undefined) throw new RejectError('unauthorized', 'passphrase: the link needs one');
    await this.#matching('links', () => [hash], passphrase, { ...attempt, known: undefined });
  }

  /** Forgets failures that are over. A timer calls it. */
  sweep(): void {
    for (const guesses of Object.values(this.#guesses)) guesses.sweep();
  }

  #prove(body: SignInBody, attempt: SignInAttempt): Promise<Proven> {
    if ('link' in body) return this.#byLink(body.link, attempt);
    return 'email' in body ? this.#byUser(body, attempt) : this.#byClient(body, attempt);
  }

  async #byUser({ email, passphrase }: z.output<typeof userSignIn>, attempt: SignInAttempt): Promise<Proven> {
    let users: readonly User[] = [];
    const hashes = () => {
      users = this.#options.holders.usersWith(email);
      return users.length === 0 ? [undefined] : users.map(({ passphraseHash }) => passphraseHash);
    };
    const known = this.#knownUser(email, attempt.knownBrowser);
    const index = await this.#matching('users', hashes, passphrase, { ...attempt, known });
    const user = users[index];
    if (user === undefined) throw new Error('nobody has no right passphrase');
    return { holder: { kind: 'user', id: user.id }, fingerprint: hashOf(user.passphraseHash) };
  }

  /** The id of the user with this e-mail address, if this user signed in before in this browser. */
  #knownUser(email: string, cookie: string): string | undefined {
    const { holders, knownBrowsers } = this.#options;
    const id = knownBrowsers.claimedId(cookie);
    const user = id === undefined ? undefined : holders.user(id);
    if (user === undefined || !sameEmail(user.email, email)) return undefined;
    return knownBrowsers.isOf(user, cookie) ? user.id : undefined;
  }

  /**
   * Returns the index of the hash that a passphrase has. It can be guessed, so a sender without attempts left is rejected, right
   * or wrong. Everything is counted before `hashesOf` looks for users.
   * @throws {RejectError} none
   */
  async #matching(
    kind: PassphraseKind,
    hashesOf: () => readonly (string | undefined)[],
    passphrase: string,
    attempt: Pick<SignInAttempt, 'address' | 'noted'> & { readonly known: string | undefined },
  ): Promise<number> {
    const guesses = this.#guesses[kind];
    const sender = guesses.senderOf(attempt.address, attempt.known);
    const failures = guesses.begin(sender);
    if (!failures.allowed) return this.#failed({ kind: 'limited', failures }, attempt);
    for (const [index, hash] of hashesOf().entries()) {
      const hashes = guesses.takeHash(sender);
      if (!hashes.allowed) return this.#failed({ kind: 'limited', failures: hashes }, attempt);
      const isRight = await this.#options.passphrases.verify(kind, hash, passphrase, sender);
      if (isRight !== false) guesses.takeBack(sender);
      if (isRight === 'busy') {
        guesses.returnHash(sender);
        return this.#busy();
      }
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
      client === undefined ? clientGuard.fail(address) : clientGuard.verify(client, clientSecret, address);
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

  #failed({ kind, failures }: LoginFailure, { noted }: Pick<SignInAttempt, 'noted'>): never {
    this.#results[kind].add();
    noted(limitHeaders(failures));
    throw kind === 'limited' ? new RejectError('limited', LIMITED) : new RejectError('unauthorized', WRONG);
  }
}
