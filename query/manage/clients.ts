import type { z } from 'zod';
import type { Client, Site } from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../infra/accounts/client-auth.ts';
import type { Entry } from '../../infra/bus/mirror.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import {
  type ClientLimits,
  clientAnswer,
  clientChange,
  clientCreation,
  clientsAnswer,
  clientWithSecret,
  recordedLimits,
  rejectLimits,
  shownClient,
} from './client-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noFields, noParameters } from './parameters.ts';
import { recordEndpoints } from './record-endpoints.ts';
import {
  type ControlRecordKind,
  changeRecord,
  createRecord,
  entryOf,
  removeRecord,
  type Stamp,
} from './record-kind.ts';
import { tagged } from './records.ts';
import { clientLimit } from './team-limits.ts';

const ALL = '/manage/clients';
const ONE = `${ALL}/:clientId`;
const NO_SECRETS = 'Secrets and their hashes are never returned.';

/** `/manage/clients`: clients and their secrets. A secret is returned only when it is created. */
export function clientEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<Client> = {
    what: 'client',
    mirror: deps.accounts.clients,
    // Clients are hidden while their site is deleted, like its other records. Root clients belong to the team.
    belongs:
      ({ client }) =>
      (one) =>
        one.teamId === client.teamId &&
        (one.projectId === null ||
          (deps.accounts.site(one.projectId) !== undefined && !deps.accounts.isLeftOver(one))),
    shown: (client) => shownClient(client, deps.uses),
  };
  return [
    ...recordEndpoints(deps, {
      ...kind,
      path: '/manage',
      owner: ({ client, body: { projectId } }) =>
        typeof projectId === 'string' ? ownSite(deps, client, projectId) : undefined,
      siteOf: ({ projectId }) => projectId,
      about: {
        list: {
          summary: 'List clients',
          description: `Returns the clients of the team, or of one site, newest first. Clients of a deleted site are hidden until it is restored, and removed when it is purged; root clients belong to the team and stay. ${NO_SECRETS}`,
        },
        create: {
          summary: 'Create a client',
          description:
            'Returns the client with its secret. The secret is returned only here; only a hash is stored. A write or read client needs `projectId`; a root client has none. Returns 409 if the team has 5,000 clients, or as many as `CLIENTS_PER_TEAM_MAX` of the installation allows.\n\n`expiresAt`, `scopes` and `addresses` limit what a client may do; without them it may do all that its type allows, from everywhere, until it is deleted. `addresses` is for read and root clients. Behind a proxy it needs the setting `TRUSTED_PROXIES`.',
        },
        get: { summary: 'Get a client', description: NO_SECRETS },
        change: {
          summary: 'Change a client',
          description:
            'Changes the name and the limits; null removes a limit. A change works everywhere within 2 seconds. A time in the past ends the client at once. Returns 400 for an expiry of the last root client of a team, and for scopes without `manage`. Secrets and their hashes are never returned.',
        },
        delete: {
          summary: 'Delete a client',
          description:
            'The secret stops working everywhere within 2 seconds, and its hash is overwritten on the disk. Returns the deleted client. Returns 400 for the last root client of a team.',
        },
      },
      answers: { list: clientsAnswer, one: clientAnswer, created: clientWithSecret },
      creation: clientCreation,
      change: clientChange,
      // `clientLimit` counts them exactly.
      limits: [],
      make: ({ client, body }, site) => {
        rejectLimits(body.type, body);
        if (typeof body.expiresAt === 'string' && Date.parse(body.expiresAt) <= deps.clock.nowMs())
          throw new RejectError('invalid', 'expiresAt: expected a time in the future');
        const { record, secret } = clientToMake(client.teamId, { ...body, site });
        return { record, limit: clientLimit(deps, client.teamId), secrets: () => ({ secret }) };
      },
      changed: (current, { body }) => changedClient(deps, current, body),
      remove: async (call) => {
        const entry = entryOf(kind, call);
        rejectLastRoot(deps, entry.value);
        const answered = await removeRecord(deps, kind, call);
        await restoreLastRoot(deps, entry);
        return answered;
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: `${ONE}/rotate`,
      kind: 'manage-client-rotate',
      area: 'manage',
      about: {
        summary: 'Rotate a client secret',
        description:
          'Returns the client with a new secret, which is returned only here. The previous secret stops working everywhere within 2 seconds, and its hash is overwritten on the disk. The body is empty, or an object without fields.',
        answer: clientWithSecret,
      },
      schema: noParameters,
      body: noFields,
      isBodyOptional: true,
      answer: async (call) => {
        const secret = createSecret();
        const secretHash = hashSecret(secret);
        const entry = await changeRecord(deps, kind, call, (current) => ({ ...current, secretHash }));
        return tagged(entry, { data: { ...shownClient(entry.value, deps.uses), secret } });
      },
    }),
  ];
}

/** A client to create; a root client has no site. */
interface NewClient extends Pick<Client, 'name' | 'type'>, ClientLimits {
  readonly site: Pick<Site, 'id' | 'storedId'> | undefined;
}

/** Creates a client; the secret is returned and not stored. Throws a `RejectError` if the team has too many. */
export async function newClient(deps: ManageDeps, teamId: string, client: NewClient) {
  const { record, secret } = clientToMake(teamId, client);
  const entry = await createRecord(deps, deps.accounts.clients, record, clientLimit(deps, teamId));
  return { entry, secret };
}

function clientToMake(teamId: string, { name, type, site, ...limits }: NewClient) {
  const secret = createSecret();
  const secretHash = hashSecret(secret);
  const record = ({ id, ...times }: Stamp): Client => ({
    id,
    name,
    type,
    projectId: site?.id ?? null,
    storedId: site?.storedId,
    teamId,
    ...times,
    secretHash,
    ...recordedLimits(limits, {}),
  });
  return { record, secret };
}

/** Applies a change to a client's record. Throws a `RejectError` where its type or its team does not allow it. */
function changedClient(
  deps: ManageDeps,
  current: Client,
  { name, ...limits }: z.output<typeof clientChange>,
): Client {
  rejectLimits(current.type, limits);
  const changed = { ...current, name: name ?? current.name, ...recordedLimits(limits, current) };
  if (!isLasting(changed) && isLastRoot(deps, current)) {
    const field = changed.expiresAt === undefined ? 'scopes' : 'expiresAt';
    throw new RejectError(
      'invalid',
      `${field}: the last root client of a team must not expire and may manage`,
    );
  }
  return changed;
}

/** A root client that never expires and may manage. Each team has one. */
export function isLasting({ type, expiresAt, scopes }: Client): boolean {
  return type === 'root' && expiresAt === undefined && (scopes === undefined || scopes.includes('manage'));
}

/** True if it is the only lasting root client of its team; also for a client that was just removed. */
export function isLastRoot({ accounts }: Pick<ManageDeps, 'accounts'>, client: Client): boolean {
  if (!isLasting(client)) return false;
  for (const { value } of accounts.clients.entries()) {
    if (value.teamId === client.teamId && value.id !== client.id && isLasting(value)) return false;
  }
  return true;
}

/** Throws a `RejectError` if removing the client leaves its team without a root client that lasts. */
function rejectLastRoot(deps: ManageDeps, client: Client): void {
  if (!isLastRoot(deps, client)) return;
  throw new RejectError(
    'invalid',
    'clientId: the last root client of a team cannot be deleted; rotate its secret instead',
  );
}

/**
 * Restores a client whose removal left its team without a root client, and rejects the removal. Two concurrent requests
 * may each remove one of two root clients and still see the other. All processes observe the removals in one order, so
 * the second request detects it here.
 */
async function restoreLastRoot(deps: ManageDeps, entry: Entry<Client>): Promise<void> {
  try {
    rejectLastRoot(deps, entry.value);
  } catch (error) {
    await deps.records.restore(deps.accounts.clients, entry, 0);
    throw error;
  }
}
