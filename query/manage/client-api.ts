import { z } from 'zod';
import {
  CLIENT_TYPES,
  type Client,
  type ClientType,
  SCOPES,
  SCOPES_OF_TYPE,
} from '../../infra/accounts/accounts.ts';
import type { ClientUses } from '../../infra/accounts/client-uses.ts';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { RejectError } from '../reject.ts';
import { addressRangeField, nameField, projectIdField } from './project-api.ts';

/** CONTRACT of the manage API: every body and response of `/manage/clients`. */

const ADDRESSES_MAX = 100;
/** An instant to the nanosecond has 35 characters. */
const INSTANT_MAX = 40;

const instant = z.iso.datetime();

/** Stored and returned in UTC. */
const expiryField = z.iso
  .datetime({ offset: true, error: 'expected an ISO 8601 time with a time zone' })
  .max(INSTANT_MAX, `expected at most ${INSTANT_MAX} characters`)
  .nullable()
  .optional();
const scopesField = boundedList(
  z
    .array(z.enum(SCOPES))
    .min(1, 'expected at least one scope; null for all that the type of the client may do'),
  SCOPES.length,
  `expected at most ${SCOPES.length} scopes`,
)
  .nullable()
  .optional();
const addressesField = boundedList(
  z.array(addressRangeField).min(1, 'expected at least one address; null for all'),
  ADDRESSES_MAX,
  `expected at most ${ADDRESSES_MAX} addresses`,
)
  .nullable()
  .optional();
/** The limits of a client. Null and absent: not limited. */
const limitFields = { expiresAt: expiryField, scopes: scopesField, addresses: addressesField };

/** `POST /manage/clients`; a root client has no site, every other client has one. */
export const clientCreation = z
  .strictObject({
    name: nameField,
    type: z.enum(CLIENT_TYPES).default('write'),
    projectId: projectIdField.nullable().optional(),
    ...limitFields,
  })
  .superRefine(({ type, projectId }, context) => {
    const message =
      type === 'root'
        ? typeof projectId === 'string' && 'not allowed for a root client, which covers all sites of its team'
        : typeof projectId !== 'string' && 'missing; only a root client has no site';
    if (message) context.addIssue({ code: 'custom', path: ['projectId'], message });
  });

/** `PATCH /manage/clients/{clientId}` */
export const clientChange = z.strictObject({ name: nameField.optional(), ...limitFields });

/** `GET /manage/clients` */
export const clientsQuery = z.object({ projectId: z.string().optional() });

/** A request's changes of a client's limits: null removes one, and undefined leaves it. */
export type ClientLimits = Pick<z.output<typeof clientChange>, 'expiresAt' | 'scopes' | 'addresses'>;

/** The limits of a client in its record; a limit that is not set is absent. */
export function recordedLimits(
  given: ClientLimits,
  current: Pick<Client, 'expiresAt' | 'scopes' | 'addresses'>,
): Pick<Client, 'expiresAt' | 'scopes' | 'addresses'> {
  const expiresAt = given.expiresAt === undefined ? current.expiresAt : given.expiresAt;
  const { scopes = current.scopes, addresses = current.addresses } = given;
  return {
    expiresAt: typeof expiresAt === 'string' ? new Date(expiresAt).toISOString() : undefined,
    scopes: scopes ? [...new Set(scopes)] : undefined,
    addresses: addresses ?? undefined,
  };
}

/** Throws a `RejectError` for limits that a client of this type cannot have. */
export function rejectLimits(type: ClientType, { scopes, addresses }: ClientLimits): void {
  const most = SCOPES_OF_TYPE[type];
  const beyond = scopes?.find((scope) => !most.includes(scope));
  if (beyond !== undefined)
    throw new RejectError(
      'invalid',
      `scopes: a ${type} client cannot have "${beyond}", only ${most.join(', ')}`,
    );
  if (addresses && type === 'write')
    throw new RejectError(
      'invalid',
      'addresses: not allowed for a write client, whose events come from the addresses of visitors',
    );
}

/** A client as it is returned: without its secret hash. */
export const clientShown = z.object({
  id: z.uuid(),
  name: z.string(),
  type: z.enum(CLIENT_TYPES),
  projectId: z.string().nullable(),
  teamId: z.string(),
  createdAt: instant,
  updatedAt: instant,
  expiresAt: instant.nullable(),
  scopes: z.array(z.string()),
  addresses: z.array(z.string()).nullable(),
  lastUsedAt: instant.nullable(),
});
export type ClientShown = z.output<typeof clientShown>;

export const clientAnswer = z.object({ data: clientShown });
export const clientsAnswer = z.object({ data: z.array(clientShown) });
/** With the secret, which is returned only once. */
export const clientWithSecret = z.object({ data: clientShown.extend({ secret: z.string() }) });

/** A client as it is returned; `uses` knows when it was last used. */
export function shownClient(
  { secretHash: _, storedId: _stored, ...client }: Client,
  uses: Pick<ClientUses, 'usedAt'>,
): ClientShown {
  return {
    ...client,
    expiresAt: client.expiresAt ?? null,
    scopes: client.scopes ?? [...SCOPES_OF_TYPE[client.type]],
    addresses: client.addresses ?? null,
    lastUsedAt: uses.usedAt(client.id) ?? null,
  };
}
