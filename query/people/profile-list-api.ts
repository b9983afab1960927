import { z } from 'zod';
import { exportedProfile, flag } from '../api.ts';
import { readFilters } from '../filters/filter.ts';
import { pageLimit } from '../insights/list-api.ts';

/** The values that order profiles, highest first. */
export const PROFILE_SORTS = ['lastSeen', 'sessions', 'revenue', 'createdAt'] as const;
export type ProfileSort = (typeof PROFILE_SORTS)[number];

const SEARCH_MAX = 256;
const ROWS_MAX = 1_000_000_000;
/** No time: after every other value in the order of profiles. */
export const NO_VALUE = '-9223372036854775808';

/** A text to search in names and ids. */
export const searchField = z.string().max(SEARCH_MAX, `expected at most ${SEARCH_MAX} characters`).optional();

/** The beginning of a page: after a number of rows, or after a profile with a value of the order. */
export type ProfileCursor =
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'behind'; readonly sort: ProfileSort; readonly value: string; readonly id: string };

const BEHIND = /^(lastSeen|sessions|revenue|createdAt)_(-?\d{1,39})_([A-Za-z0-9_-]+)$/;
const INT128 = 2n ** 127n - 1n;

const profileCursorField = z
  .string()
  .transform((text, context): ProfileCursor => {
    const cursor = readCursor(text);
    if (cursor !== undefined) return cursor;
    context.addIssue({ code: 'custom', message: 'expected the cursor of an answer, or a number of rows' });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Where the page begins: the cursor of the previous answer, which belongs to one `sort`; or the number of rows before the page.',
  );

function readCursor(text: string): ProfileCursor | undefined {
  if (/^\d{1,10}$/.test(text)) {
    const rows = Number(text);
    return rows <= ROWS_MAX ? { kind: 'rows', rows } : undefined;
  }
  const [, name, value = '', id = ''] = BEHIND.exec(text) ?? [];
  const sort = PROFILE_SORTS.find((known) => known === name);
  if (sort === undefined || BigInt(value) > INT128 || BigInt(value) < -INT128 - 1n) return undefined;
  return { kind: 'behind', sort, value, id: Buffer.from(id, 'base64url').toString('utf8') };
}

/** The cursor after a profile. Ids are any text, so they are encoded. */
export function cursorBehindProfile(sort: ProfileSort, value: string, id: string): string {
  return `${sort}_${value}_${Buffer.from(id).toString('base64url')}`;
}

/** `GET /insights/{projectId}/profiles` */
export const profileListQuery = z.object({
  search: searchField.describe(
    `Only profiles whose id, name (first and last, separated by a space) or e-mail address contains this text, in upper or lower case. At most ${SEARCH_MAX} characters.`,
  ),
  property: z
    .string()
    .optional()
    .describe(
      'Only profiles that have this property, by its dotted key; with `value`, only those where it has that value.',
    ),
  value: z.string().optional().describe('The value of `property`, exactly. Not without `property`.'),
  filters: z
    .string()
    .default('[]')
    .transform(readFilters)
    .describe('A JSON array of filters on `profile.*`. All of them must match. Other fields are rejected.'),
  sort: z
    .enum(PROFILE_SORTS)
    .default('lastSeen')
    .describe(
      "The order: the highest value first, ties by id. `revenue` is in the site's currency. Profiles without the value come last.",
    ),
  limit: pageLimit(10),
  cursor: profileCursorField,
  partial: flag.describe('Answer without data that cannot be reached now, instead of with 503.'),
});
export type ProfileListQuery = z.output<typeof profileListQuery>;

const instant = z.iso.datetime({ precision: 3 });

/** Sums over the visits of a profile. */
export const profileActivity = {
  firstSeen: instant
    .nullable()
    .describe('Time of the first event of the profile, in UTC; null for one without events.'),
  lastSeen: instant
    .nullable()
    .describe(
      'Time of its last event, in UTC; null for one without events. A payment that is credited later is none.',
    ),
  sessions: z.number().describe('Sessions whose profile it is now.'),
  revenue: z.number().describe("Revenue of its events in major units of the site's currency."),
  revenueByCurrency: z
    .record(z.string(), z.number())
    .describe('Major units by ISO 4217 code, without currencies whose total is 0.'),
};

/** A profile with the sums over its visits. Unknown texts are empty. */
export const listedProfile = exportedProfile.extend(profileActivity);
export type ListedProfile = z.output<typeof listedProfile>;

export const profileListAnswer = z.array(listedProfile);
export type ProfileListAnswer = z.output<typeof profileListAnswer>;
