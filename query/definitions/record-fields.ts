import { z } from 'zod';
import { storedIdSchema } from '../../infra/accounts/ids.ts';

/** CONTRACT of the manage API: the fields that records of several kinds have. */

const NAME_MAX = 100;
/** More than the longest id of a site. */
const ID_MAX = 100;
/** An instant to the nanosecond has 35 characters. */
const INSTANT_MAX = 40;

export const instant = z.iso.datetime();
/** An instant in any zone, in a body. */
export const givenInstant = z.iso
  .datetime({ offset: true, error: 'expected an ISO 8601 time with a time zone' })
  .max(INSTANT_MAX, `expected at most ${INSTANT_MAX} characters`);

/** A user-chosen name; surrounding spaces are removed. */
export const nameField = z
  .string()
  .trim()
  .min(1, 'expected a non-empty string')
  .max(NAME_MAX, `expected at most ${NAME_MAX} characters`);

/** The site that a record belongs to, in a body. */
export const projectIdField = z
  .string()
  .max(ID_MAX, `expected at most ${ID_MAX} characters`)
  .describe('The id of the site.');

/** Parameters of a list of all records of a team. */
export const siteQuery = z.object({
  projectId: z.string().optional().describe('Return only records of this site.'),
});

export const teamIdShown = z.string().describe('The team that owns the record.');
export const recordTimes = {
  createdAt: instant.describe('Time of creation, in UTC.'),
  updatedAt: instant.describe('Time of the last change, in UTC.'),
};
/** The fields of every record of a site, as it is returned. */
export const ofSite = {
  id: z.uuid(),
  projectId: z.string().describe('The id of the site.'),
  ...recordTimes,
};
/** Stored but never returned: the `storedId` of the site, see `Site` in infra/accounts/accounts.ts. */
export const stored = { storedId: storedIdSchema.min(1) };

/** Gives a field of an answer the description of the same field in a body. */
export function describedLike<Shown extends z.ZodType>(shown: Shown, given: z.ZodType): Shown {
  return given.description === undefined ? shown : shown.describe(given.description);
}
