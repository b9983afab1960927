import type { Client, Site } from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../infra/accounts/client-auth.ts';
import type { Entry } from '../../infra/bus/mirror.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import {
  clientAnswer,
  clientChange,
  clientCreation,
  clientsAnswer,
  clientsQuery,
  clientWithSecret,
  shownClient,
} from './client-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noFields, noParameters } from './parameters.ts';
import { oneRecordEndpoints, teamListEndpoint } from './record-endpoints.ts';
import { type ControlRecordKind, changeRecord, createRecord, entryOf, removeRecord } from './record-kind.ts';
import { tagged } from './records.ts';

const ALL = '/manage/clients';
const ONE = `${ALL}/:clientId`;

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
    shown: shownClient,
  };
  return [
    teamListEndpoint(deps, kind, {
      pattern: ALL,
      name: 'manage-clients',
      about: { summary: 'List clients', answer: clientsAnswer },
      query: clientsQuery,
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-clients',
      area: 'manage',
      about: {
        summary: 'Create a client',
        description:
          'Returns the client with its secret. The secret is returned only here; only a hash is stored. A write or read client needs `projectId`; a root client has none.',
        answer: clientWithSecret,
      },
      schema: noParameters,
      body: clientCreation,
      answer: async ({ client, body }) => {
        const site = typeof body.projectId === 'string' ? ownSite(deps, client, body.projectId) : undefined;
        const { entry, secret } = await newClient(deps, client.teamId, { ...body, site });
        return withSecret(entry, secret);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: ONE,
      name: 'manage-client',
      about: {
        get: { summary: 'Get a client' },
        patch: {
          summary: 'Rename a client',
          description: 'Changes the name. Secrets and their hashes are never returned.',
        },
        delete: {
          summary: 'Delete a client',
          description:
            'The secret stops working everywhere within 2 seconds, and its hash is overwritten on the disk. Returns the deleted client. Returns 400 for the last root client of a team.',
        },
      },
      answer: clientAnswer,
      change: clientChange,
      changed: (current, { body }) => ({ ...current, name: body.name ?? current.name }),
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
        entryOf(kind, call); // Check access before the hash, which is expensive.
        const secret = createSecret();
        const secretHash = await hashSecret(secret);
        const entry = await changeRecord(deps, kind, call, (current) => ({ ...current, secretHash }));
        return withSecret(entry, secret);
      },
    }),
  ];
}

/** A client to create; a root client has no site. */
interface NewClient extends Pick<Client, 'name' | 'type'> {
  readonly site: Pick<Site, 'id' | 'storedId'> | undefined;
}

/** Creates a client; the secret is returned and not stored. */
export async function newClient(deps: ManageDeps, teamId: string, { name, type, site }: NewClient) {
  const secret = createSecret();
  const secretHash = await hashSecret(secret);
  const entry = await createRecord(deps, deps.accounts.clients, ({ id, ...times }) => ({
    id,
    name,
    type,
    projectId: site?.id ?? null,
    storedId: site?.storedId,
    teamId,
    ...times,
    secretHash,
  }));
  return { entry, secret };
}

function withSecret(entry: Entry<Client>, secret: string) {
  return tagged(entry, { data: { ...shownClient(entry.value), secret } });
}

/** Whether the client is the only root client of its team; also for a client that was just removed. */
export function isLastRoot({ accounts }: ManageDeps, { id, type, teamId }: Client): boolean {
  if (type !== 'root') return false;
  for (const { value } of accounts.clients.entries()) {
    if (value.type === 'root' && value.teamId === teamId && value.id !== id) return false;
  }
  return true;
}

/** Throws a `RejectError` if removing the client leaves its team without a root client. */
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
async function restoreLastRoot(deps: ManageDeps, { key, value }: Entry<Client>): Promise<void> {
  try {
    rejectLastRoot(deps, value);
  } catch (error) {
    await deps.records.create(deps.accounts.clients, key, value);
    throw error;
  }
}
