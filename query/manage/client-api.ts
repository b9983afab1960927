import { z } from 'zod';
import { type Client, type ClientType, SCOPES, SCOPES_OF_TYPE } from '../../infra/accounts/accounts.ts';
import type { ClientUses } from '../../infra/accounts/client-uses.ts';
import { boundedList } from '../../infra/http/bounded-list.ts';
import {
  describedLike,
  givenInstant,
  instant,
  nameField,
  projectIdField,
  recordTimes,
  teamIdShown,
} from '../definitions/record-fields.ts';
import { RejectError } from '../reject.ts';
import { addressRangeField, clientTypeField, secretShown } from './project-api.ts';

/** CONTRACT of the manage API: every body and response of `/manage/clients`. */

const ADDRESSES_MAX = 100;
/** Stored and returned in UTC. */
const expiryField = givenInstant
  .nullable()
  .optional()
  .describe(
    'Time from which the client is rejected with 401, in UTC; a request may give it in any time zone. Null: never.',
  );
const scopesField = boundedList(
  z
    .array(z.enum(SCOPES))
    .min(1, 'expected at least one scope; null for all that the type of the client may do'),
  SCOPES.length,
  `expected at most ${SCOPES.length} scopes`,
)
  .nullable()
  .optional()
  .describe(
    'The areas that the client may use; a request for another area gets 403. A write client can have `track`, a read client also `insights` and `export`, a root client all of them. Null in a request: all that the type may use.',
  );
const addressesField = boundedList(
  z.array(addressRangeField).min(1, 'expected at least one address; null for all'),
  ADDRESSES_MAX,
  `expected at most ${ADDRESSES_MAX} addresses`,
)
  .nullable()
  .optional()
  .describe(
    'IP addresses or CIDR ranges that the client may be used from; requests from elsewhere get 403. For read and root clients. Behind a proxy the address is the one that the proxy forwards for, if `TRUSTED_PROXIES` contains it. Null: from everywhere.',
  );
const siteField = projectIdField
  .nullable()
  .optional()
  .describe('The site. Null only for a root client, which covers all sites of its team.');
/** The limits of a client. Null and absent: not limited. */
const limitFields = { expiresAt: expiryField, scopes: scopesField, addresses: addressesField };

/** `POST /manage/clients`; a root client has no site, every other client has one. */
export const clientCreation = z
  .strictObject({
    name: nameField,
    type: clientTypeField.default('write'),
    projectId: siteField,
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
  type: clientTypeField,
  projectId: describedLike(z.string().nullable(), siteField),
  teamId: teamIdShown,
  ...recordTimes,
  expiresAt: describedLike(instant.nullable(), expiryField),
  scopes: describedLike(z.array(z.string()), scopesField),
  addresses: describedLike(z.array(z.string()).nullable(), addressesField),
  lastUsedAt: instant
    .nullable()
    .describe(
      'Time of the last request that was accepted for the client, with its secret or from an allowed origin. Recorded about once a minute. Null: not used since times are recorded.',
    ),
});
export type ClientShown = z.output<typeof clientShown>;

export const clientAnswer = z.object({ data: clientShown });
export const clientsAnswer = z.object({ data: z.array(clientShown) });
/** With the secret, which is returned only once. */
export const clientWithSecret = z.object({ data: clientShown.extend({ secret: secretShown }) });

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
