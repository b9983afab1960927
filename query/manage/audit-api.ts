import { z } from 'zod';
import { flag, wholeNumber } from '../api.ts';
import { AUDIT_ACTORS } from '../audit/audit-entry.ts';

/** CONTRACT of the manage API: parameters and response of `/manage/audit`. */

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const ACTION_MAX = 200;

/** A date is its midnight in UTC. */
const time = z
  .union([z.iso.date(), z.iso.datetime({ offset: true })], 'expected YYYY-MM-DD or an ISO time')
  .transform((text) => Date.parse(text));

/** `GET /manage/audit` */
export const auditQuery = z.object({
  projectId: z.string().optional().describe('Only what was done to this site.'),
  clientId: z.string().optional().describe('Only what this client did.'),
  action: z
    .string()
    .max(ACTION_MAX)
    .optional()
    .describe(
      'Only actions that contain this text, in any case: `rotate`, `DELETE` or `admin`, for example.',
    ),
  from: time.optional().describe('Only what was done at this time or later: an ISO time, or a date in UTC.'),
  to: time.optional().describe('Only what was done before this time: an ISO time, or a date in UTC.'),
  rejected: flag.describe('Whether to list what clients tried and may not do, instead of what was done.'),
  limit: wholeNumber(1, LIMIT_MAX).default(LIMIT_DEFAULT).describe('The most entries of the page.'),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'expected the `nextCursor` of an answer')
    .transform(Number)
    .optional()
    .describe('The `nextCursor` of the page before, which later actions do not shift.'),
});

/** An entry as it is returned. */
export const auditEntryShown = z.object({
  id: z.uuid(),
  at: z.iso.datetime().describe('When the action began.'),
  actor: z
    .enum(AUDIT_ACTORS)
    .describe(
      '`client`: a request. `user`: a request of a person who signed in. `admin`: a command on the machine of the service.',
    ),
  clientId: z
    .string()
    .nullable()
    .describe('The client that sent the request; null for a command and a user.'),
  clientName: z
    .string()
    .nullable()
    .describe('The name of the client; null for a command, and for a client of a site that is deleted.'),
  userId: z.string().nullable().describe('The user who sent the request; null for a client and a command.'),
  userName: z.string().nullable().describe('The present name of the user; null once the user is deleted.'),
  action: z
    .string()
    .describe(
      'Method and path, such as `PATCH /manage/projects/{projectId}`; or the command, such as `admin client rotate`.',
    ),
  projectId: z.string().nullable().describe('The site that the action was about; null for none.'),
  ids: z.record(z.string(), z.string()).describe('The ids in the path, by parameter.'),
  made: z.string().nullable().describe('The id of what was created.'),
  profileDigest: z
    .string()
    .nullable()
    .describe('Of an erasure: the `profileDigest` of its receipt. The person is not named.'),
  fields: z
    .array(z.string())
    .describe('The names of the fields that the request set. Values are not stored.'),
  status: z
    .int()
    .nullable()
    .describe(
      'The status of the answer; for a command, 200 or 500. Null while the action runs, and for one that was interrupted, which may or may not have taken effect.',
    ),
});
export type AuditEntryShown = z.output<typeof auditEntryShown>;

export const auditAnswer = z.object({
  data: z.array(auditEntryShown).describe('Newest first.'),
  nextCursor: z.string().nullable().describe('The `cursor` of the next page; null after the last page.'),
});
