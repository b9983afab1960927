import { z } from 'zod';
import { CLIENT_TYPES, type Client } from '../../infra/accounts/accounts.ts';
import { nameField, projectIdField } from './project-api.ts';

/** CONTRACT of the manage API: every body and response of `/manage/clients`. */

const instant = z.iso.datetime();

/** `POST /manage/clients`; a root client has no site, every other client has one. */
export const clientCreation = z
  .strictObject({
    name: nameField,
    type: z.enum(CLIENT_TYPES).default('write'),
    projectId: projectIdField.nullable().optional(),
  })
  .superRefine(({ type, projectId }, context) => {
    const message =
      type === 'root'
        ? typeof projectId === 'string' && 'not allowed for a root client, which covers all sites of its team'
        : typeof projectId !== 'string' && 'missing; only a root client has no site';
    if (message) context.addIssue({ code: 'custom', path: ['projectId'], message });
  });

/** `PATCH /manage/clients/{clientId}` */
export const clientChange = z.strictObject({ name: nameField.optional() });

/** `GET /manage/clients` */
export const clientsQuery = z.object({ projectId: z.string().optional() });

/** A client as it is returned: without its secret hash. */
export const clientShown = z.object({
  id: z.uuid(),
  name: z.string(),
  type: z.enum(CLIENT_TYPES),
  projectId: z.string().nullable(),
  teamId: z.string(),
  createdAt: instant,
  updatedAt: instant,
});
export type ClientShown = z.output<typeof clientShown>;

export const clientAnswer = z.object({ data: clientShown });
export const clientsAnswer = z.object({ data: z.array(clientShown) });
/** With the secret, which is returned only once. */
export const clientWithSecret = z.object({ data: clientShown.extend({ secret: z.string() }) });

export function shownClient({ secretHash: _, storedId: _stored, ...client }: Client): ClientShown {
  return client;
}
