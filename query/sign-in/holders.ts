import type { Accounts, Client } from '../../infra/accounts/accounts.ts';
import type { Mirror } from '../../infra/bus/mirror.ts';
import type { Caller, CookieProof } from '../http/caller.ts';
import { type Holder, hashOf } from './sign-in-record.ts';
import { sameEmail, type User, userKeyOf } from './user-record.ts';

/** Users of several teams may have one address. More of them than this are not tried, because each takes a slow hash. */
const SAME_EMAIL_MAX = 5;

export interface HoldersOptions {
  readonly accounts: Pick<Accounts, 'client' | 'site'>;
  readonly users: Mirror<User>;
}

/** The holders of sign-ins: finds the present record of a holder. */
export class Holders {
  readonly #accounts: HoldersOptions['accounts'];
  readonly #users: Mirror<User>;

  constructor({ accounts, users }: HoldersOptions) {
    this.#accounts = accounts;
    this.#users = users;
  }

  /** A client of any type, also of one that may not sign in. */
  anyClient(id: string): Client | undefined {
    return this.#accounts.client(id);
  }

  /** The users with this address, the first ones of the installation. */
  usersWith(email: string): User[] {
    const found: User[] = [];
    for (const { value } of this.#users.entries()) if (sameEmail(value.email, email)) found.push(value);
    return found.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)).slice(0, SAME_EMAIL_MAX);
  }

  user(id: string): User | undefined {
    return this.#users.get(userKeyOf(id));
  }

  /** Fingerprint that changes with the holder's secret or passphrase; undefined once the holder is deleted. */
  fingerprintOf(holder: Holder): string | undefined {
    const record = this.#recordOf(holder);
    return record === undefined ? undefined : hashOf(record.secretHash);
  }

  /** The holder as a caller; undefined once it is deleted or has another secret than when it signed in. */
  callerOf(
    holder: Holder,
    fingerprint: string,
    proof: Pick<CookieProof, 'id' | 'expiresAtMs'>,
  ): Caller | undefined {
    const record = this.#recordOf(holder);
    if (record === undefined || hashOf(record.secretHash) !== fingerprint) return undefined;
    return { ...record, proof: { ...record.proof, kind: holder.kind, ...proof } };
  }

  /** The team of a holder; undefined once it is deleted. */
  teamOf({ kind, id }: Holder): string | undefined {
    return kind === 'client' ? this.#accounts.client(id)?.teamId : this.#users.get(userKeyOf(id))?.teamId;
  }

  #recordOf({ kind, id }: Holder): (Client & { readonly proof?: Pick<CookieProof, 'siteIds'> }) | undefined {
    if (kind === 'client') {
      const client = this.#accounts.client(id);
      return client?.type === 'write' ? undefined : client;
    }
    const user = this.user(id);
    return user === undefined ? undefined : this.#asClient(user);
  }

  /** A user has the rights of a client of the same type; the role `read` may have several sites. */
  #asClient({ id, teamId, name, role, sites, passphraseHash, createdAt, updatedAt }: User) {
    const client = {
      id,
      teamId,
      name,
      type: role,
      projectId: null,
      secretHash: passphraseHash,
      createdAt,
      updatedAt,
    };
    if (role === 'root') return client;
    const present = sites.filter(
      ({ id: siteId, storedId }) => this.#accounts.site(siteId)?.storedId === storedId,
    );
    return { ...client, proof: { siteIds: present.map((site) => site.id) } };
  }
}
