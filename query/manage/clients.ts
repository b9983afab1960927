import { randomUUID } from 'node:crypto';
import { type Client, clientKeyOf } from '../../ingest/accounts.ts';
import { createSecret, hashSecret } from '../../ingest/client-auth.ts';
import { RefusalError } from '../refusal.ts';
import { type AnyEndpoint, anyEndpoint } from '../serve.ts';
import {
  clientAnswer,
  clientChange,
  clientCreation,
  clientsAnswer,
  clientsQuery,
  clientWithSecret,
  shownClient,
} from './client-api.ts';
import { type ManageParts, newestFirst, noSuch, nowText, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { tagged } from './records.ts';

const ONE = '/manage/clients/:clientId';

/** `/manage/clients`: who may send and ask. Secrets are shown once, when they are made. */
export function clientEndpoints(parts: ManageParts): AnyEndpoint[] {
  const { accounts, records } = parts;
  const one = { pattern: ONE, kind: 'manage-client', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      method: 'get',
      pattern: '/manage/clients',
      kind: 'manage-clients',
      area: 'manage',
      about: { summary: 'The clients of the team, newest first', answer: clientsAnswer },
      schema: clientsQuery,
      body: undefined,
      answer: async ({ client, parameters: { projectId } }) => {
        const site = projectId === undefined ? undefined : ownSite(parts, client, projectId);
        const all = [...accounts.clients.entries()].map(({ value }) => value);
        const own = all.filter(
          (one) => one.teamId === client.teamId && (site === undefined || one.projectId === site.id),
        );
        return { json: { data: newestFirst(own).map(shownClient) } };
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: '/manage/clients',
      kind: 'manage-clients',
      area: 'manage',
      about: {
        summary: 'Make a client',
        description: 'The secret is in this answer and nowhere else: only a hash of it is kept.',
        answer: clientWithSecret,
      },
      schema: noParameters,
      body: clientCreation,
      answer: async ({ client, body }) => {
        const projectId =
          typeof body.projectId === 'string' ? ownSite(parts, client, body.projectId).id : null;
        const { secret, ...made } = await newClient(parts, client.teamId, { ...body, projectId });
        return tagged(made.entry, { data: { ...shownClient(made.entry.value), secret } });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'get',
      about: { summary: 'A client', answer: clientAnswer },
      body: undefined,
      answer: async ({ client, path }) => {
        const entry = accounts.clients.entry(keyOfOwn(parts, client, path.clientId));
        if (entry === undefined) throw noSuch('client', path.clientId ?? '');
        return tagged(entry, { data: shownClient(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'patch',
      about: { summary: 'Rename a client', answer: clientAnswer },
      body: clientChange,
      answer: async ({ client, path, body, ifMatch }) => {
        const key = keyOfOwn(parts, client, path.clientId);
        const entry = await records.change(accounts.clients, key, ifMatch, {
          change: (current) => ({
            ...current,
            ...(body.name === undefined ? {} : { name: body.name }),
            updatedAt: nowText(parts.clock),
          }),
          missing: () => noSuch('client', path.clientId ?? ''),
        });
        return tagged(entry, { data: shownClient(entry.value) });
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: {
        summary: 'Delete a client',
        description:
          'Its secret stops working everywhere within two seconds. The last root client of a team cannot be deleted.',
        answer: clientAnswer,
      },
      body: undefined,
      answer: async ({ client, path, ifMatch }) => {
        const key = keyOfOwn(parts, client, path.clientId);
        refuseLastRoot(parts, accounts.clients.get(key));
        const missing = () => noSuch('client', path.clientId ?? '');
        const removed = await records.remove(accounts.clients, key, ifMatch, missing);
        return { json: { data: shownClient(removed) } };
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: `${ONE}/rotate`,
      kind: 'manage-client-rotate',
      area: 'manage',
      about: {
        summary: 'Give a client another secret',
        description: 'The secret before stops working everywhere within two seconds.',
        answer: clientWithSecret,
      },
      schema: noParameters,
      body: undefined,
      answer: async ({ client, path, ifMatch }) => {
        const key = keyOfOwn(parts, client, path.clientId);
        const secret = createSecret();
        const secretHash = await hashSecret(secret);
        const entry = await records.change(accounts.clients, key, ifMatch, {
          change: (current) => ({ ...current, secretHash, updatedAt: nowText(parts.clock) }),
          missing: () => noSuch('client', path.clientId ?? ''),
        });
        return tagged(entry, { data: { ...shownClient(entry.value), secret } });
      },
    }),
  ];
}

/** Makes a client; its secret is returned and not kept. */
export async function newClient(
  { accounts, records, clock }: ManageParts,
  teamId: string,
  { name, type, projectId }: Pick<Client, 'name' | 'type' | 'projectId'>,
) {
  const secret = createSecret();
  const at = nowText(clock);
  const client: Client = {
    id: randomUUID(),
    name,
    type,
    projectId,
    teamId,
    createdAt: at,
    updatedAt: at,
    secretHash: await hashSecret(secret),
  };
  const entry = await records.create(accounts.clients, clientKeyOf(client.id), client);
  if (entry === undefined) throw new Error('a random id was taken');
  return { entry, secret };
}

/** The key of a client of the same team; one of another team is as unknown as one that does not exist. */
function keyOfOwn({ accounts }: ManageParts, client: Client, id = ''): string {
  const known = accounts.client(id.toLowerCase());
  if (known === undefined || known.teamId !== client.teamId) throw noSuch('client', id);
  return clientKeyOf(known.id);
}

function refuseLastRoot({ accounts }: ManageParts, client: Client | undefined): void {
  if (client?.type !== 'root') return;
  for (const { value } of accounts.clients.entries()) {
    if (value.type === 'root' && value.teamId === client.teamId && value.id !== client.id) return;
  }
  throw new RefusalError(
    'invalid',
    'clientId: the last root client of a team cannot be deleted; rotate its secret',
  );
}
