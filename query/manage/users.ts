import type { Client } from '../../infra/accounts/accounts.ts';
import type { Entry } from '../../infra/bus/mirror.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import type { PassphraseKind, Passphrases } from '../sign-in/passphrases.ts';
import { sameEmail, type User } from '../sign-in/user-record.ts';
import { type EndpointDeps, type ManageDeps, ownSite } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { type ControlRecordKind, changeRecord, entryOf, type RecordCall } from './record-kind.ts';
import { countOf, type TeamLimit } from './team-limits.ts';
import {
  sitesProblem,
  USERS_MAX,
  type UserChange,
  type UserShown,
  userAnswer,
  userChange,
  userCreation,
  usersAnswer,
} from './user-api.ts';

const TAKEN = 'email: another user of the team has this address';

/** `/manage/users`: people that sign in to the dashboard with a passphrase. */
export function userEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<User> = {
    what: 'user',
    mirror: deps.catalog.users,
    belongs:
      ({ client }) =>
      (user) =>
        user.teamId === client.teamId,
    shown: (user) => shownUser(deps, user),
  };
  return recordEndpoints(deps, {
    ...kind,
    path: '/manage',
    owner: ({ client }) => client.teamId,
    about: {
      list: {
        summary: 'List users',
        description:
          'Returns the users of the team, newest first. Passphrases and their hashes are never returned.',
      },
      create: {
        summary: 'Create a user',
        description: `A user is a person who signs in to the dashboard with e-mail and passphrase, see \`POST /sign-in\`. The role \`root\` may do what a root client may, \`read\` may read the given sites and manage nothing. Returns 409 if another user of the team has the address, in upper or lower case. Maximum: ${USERS_MAX.toLocaleString('en')} users per team.`,
      },
      get: { summary: 'Get a user', description: 'Passphrases and their hashes are never returned.' },
      change: {
        summary: 'Change a user',
        description:
          'Given fields replace the stored ones. A new passphrase ends every sign-in of the user; a new role and new sites apply to them at once. With the role `root` a user has no sites; a change to `read` needs them. Returns 409 if another user of the team has the address.',
      },
      delete: {
        summary: 'Delete a user',
        description: 'Ends every sign-in of the user within 2 seconds. Returns the deleted user.',
      },
    },
    answers: { list: usersAnswer, one: userAnswer },
    creation: userCreation,
    change: userChange,
    limits: [{ max: USERS_MAX, what: 'users of the team' }],
    check: ({ client, body }) => void sitesOf(deps, client, body.sites ?? []),
    make: async ({ client, body: { name, email, role, passphrase, sites = [] } }, teamId) => {
      const limit = emailLimit(deps, teamId, email);
      if (countOf(limit) > 0) throw new RejectError('conflict', TAKEN);
      const passphraseHash = await hashedPassphrase(deps.passphrases, 'users', passphrase, client.id);
      const given = { teamId, name, email, role, sites: sitesOf(deps, client, sites), passphraseHash };
      return { limit, record: (stamp) => ({ ...stamp, ...given }) };
    },
    update: (call) => updateUser(deps, kind, call),
  });
}

/**
 * Changes a user. The passphrase is hashed before, and only once. If two users get the same address concurrently, at least one of
 * them is reverted, because both see both changes.
 */
async function updateUser(
  deps: EndpointDeps,
  kind: ControlRecordKind<User>,
  call: RecordCall<UserChange>,
): Promise<Entry<User>> {
  const { client, body } = call;
  const before = entryOf(kind, call).value;
  const limit = emailLimit(deps, client.teamId, body.email ?? before.email);
  const isOther = body.email !== undefined && !sameEmail(body.email, before.email);
  if (isOther && countOf(limit) > 0) throw new RejectError('conflict', TAKEN);
  // Rejects invalid sites before the slow work.
  changedUser(deps, before, call);
  const { passphrase } = body;
  const passphraseHash =
    passphrase === undefined
      ? undefined
      : await hashedPassphrase(deps.passphrases, 'users', passphrase, client.id);
  const entry = await changeRecord(deps, kind, call, (current) => ({
    ...changedUser(deps, current, call),
    passphraseHash: passphraseHash ?? current.passphraseHash,
  }));
  if (!isOther || countOf(limit) <= 1) return entry;
  await changeRecord(deps, kind, { ...call, ifMatch: '' }, (current) => ({
    ...current,
    email: before.email,
  }));
  throw new RejectError('conflict', TAKEN);
}

function changedUser(
  deps: ManageDeps,
  current: User,
  { client, body }: Pick<RecordCall<UserChange>, 'client' | 'body'>,
): User {
  const { name = current.name, email = current.email, role = current.role } = body;
  const isStillReading = role === 'read' && current.role === 'read';
  const problem = sitesProblem(role, body.sites ?? (isStillReading ? current.sites : undefined));
  if (problem !== undefined) throw new RejectError('invalid', `sites: ${problem}`);
  const kept = role === 'read' ? current.sites : [];
  const sites = body.sites === undefined ? kept : sitesOf(deps, client, body.sites);
  return { ...current, name, email, role, sites };
}

/** At most one user of a team has an address. */
function emailLimit(
  { catalog }: Pick<ManageDeps, 'catalog'>,
  teamId: string,
  email: string,
): TeamLimit<User> {
  return {
    mirror: catalog.users,
    max: 1,
    isCounted: (user) => user.teamId === teamId && sameEmail(user.email, email),
    message: TAKEN,
  };
}

function sitesOf(deps: ManageDeps, client: Client, ids: readonly string[]): User['sites'] {
  return [...new Set(ids)].map((siteId) => {
    const { id, storedId } = ownSite(deps, client, siteId);
    return { id, storedId };
  });
}

/** The form in which a passphrase is stored. `clientId` is the requester. @throws {RejectError} while too many wait */
export async function hashedPassphrase(
  passphrases: Passphrases,
  kind: PassphraseKind,
  passphrase: string,
  clientId: string,
): Promise<string> {
  const hash = await passphrases.hash(kind, passphrase, clientId);
  if (hash === 'busy') throw new RejectError('busy', 'too many passphrases wait to be hashed; try again');
  return hash;
}

/** Without the hash, and without sites that are deleted. */
function shownUser(
  { accounts }: Pick<ManageDeps, 'accounts'>,
  { passphraseHash: _, sites, ...user }: User,
): UserShown {
  const present = sites.filter(({ id, storedId }) => accounts.site(id)?.storedId === storedId);
  return { ...user, sites: user.role === 'root' ? null : present.map(({ id }) => id) };
}
