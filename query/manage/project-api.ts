import { z } from 'zod';
import {
  CLIENT_TYPES,
  feedSubjectOf,
  SITE_TYPES,
  type Site,
  trackingSchema,
} from '../../infra/accounts/accounts.ts';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { isCurrency } from '../../infra/money.ts';
import { readAddressRange } from '../../infra/network/address-range.ts';
import { flag } from '../api.ts';
import { instant, nameField, recordTimes, teamIdShown } from '../definitions/record-fields.ts';
import { shownDeletion } from './site-deletion.ts';
import { type SettingKind, SITE_FILTERS, SITE_SETTINGS, type SiteSetting } from './site-settings.ts';

/** CONTRACT of the manage API: every body and response of `/manage/projects`. */

const LIST_MAX = 1_000;
/** For all entries of a list together: an average of 65 for a full one. Events are compared with every list. */
const LIST_CHARACTERS_MAX = 65_536;
const PATH_MAX = 512;
/** Stars of one pattern: each is a search in the path of every event. */
const STARS_MAX = 8;
const PROVIDERS_MAX = 100;
const ADDRESS_MAX = 64;
/** More than the longest name of a time zone. */
const TIMEZONE_MAX = 100;
const RETENTION_DAYS_MAX = 36_500;
const EVENTS_PER_SECOND_MAX = 1_000_000;

/** Ends the checks of a text that is too long. Otherwise the next one reads it: a time zone of 5 MB takes half a second. */
const ENDS = { abort: true } as const;

/** A list of up to `most` strings of at most `longest` characters each. */
function texts(longest: number, most = LIST_MAX) {
  return listOf(text(longest), most);
}

function text(longest: number) {
  return z
    .string()
    .trim()
    .min(1, 'expected a non-empty string')
    .max(longest, { error: `expected at most ${longest} characters`, ...ENDS })
    .refine((given) => !/[\p{Cc}\p{Cs}]/u.test(given), 'contains a control character or a lone surrogate');
}

function listOf<Entry extends z.ZodType<string>>(entry: Entry, most = LIST_MAX) {
  const characters = LIST_CHARACTERS_MAX.toLocaleString('en');
  return boundedList(z.array(entry), most, `expected at most ${most} entries`).refine(
    (texts) => texts.reduce((sum, { length }) => sum + length, 0) <= LIST_CHARACTERS_MAX,
    `expected at most ${characters} characters in all entries together`,
  );
}

/** `*`, or a host with optional scheme, `www.` and port; a leading `*.` allows all subdomains. */
const corsEntry = z
  .string()
  .trim()
  .max(300, ENDS)
  .regex(
    /^(?:\*|(?:[a-z][a-z0-9+.-]*:\/\/)?(?:\*\.)?(?:[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?\/?)$/iu,
    'expected an origin such as https://example.com, *.example.com or *',
  );

const domain = z
  .string()
  .trim()
  .max(300, ENDS)
  .regex(
    /^(?:https?:\/\/)?[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)*(?::\d{1,5})?\/?$/iu,
    'expected a domain such as example.com or https://example.com',
  );

/** An address, or a range of addresses. */
export const addressRangeField = z
  .string()
  .trim()
  .max(ADDRESS_MAX, { error: `expected at most ${ADDRESS_MAX} characters`, ...ENDS })
  .refine((text) => readAddressRange(text) !== undefined, 'expected an IP address or a CIDR range');

/** The largest creation is a full list of origins, of up to three bytes for a character. */
export const CREATION_MAX_BYTES = 262_144;
/** The largest change has full lists of origins and of all filters; the stored part of it is limited by `RECORD_BYTES_MAX`. */
export const CHANGE_MAX_BYTES = 1_048_576;

/** The schema of each kind of setting, as a request gives it and as it is returned. */
const KINDS = {
  switch: { given: z.boolean(), shown: z.boolean() },
  share: { given: z.number().min(0).max(1), shown: z.number().min(0).max(1) },
  name: { given: nameField, shown: z.string() },
  domain: { given: domain.nullable(), shown: z.string().nullable() },
  timezone: {
    given: z
      .string()
      .max(TIMEZONE_MAX, ENDS)
      .refine(isTimezone, 'expected a time zone such as Europe/Berlin'),
    shown: z.string(),
  },
  currency: {
    given: z
      .string()
      .transform((code) => code.toUpperCase())
      .refine(isCurrency, 'expected a currency of ISO 4217 such as EUR'),
    shown: z.string(),
  },
  siteTypes: { given: listOf(z.enum(SITE_TYPES), SITE_TYPES.length), shown: z.array(z.enum(SITE_TYPES)) },
  days: wholeNumber(RETENTION_DAYS_MAX),
  eventRate: wholeNumber(EVENTS_PER_SECOND_MAX),
  origins: { given: listOf(corsEntry), shown: z.array(z.string()) },
  providers: { given: texts(100, PROVIDERS_MAX), shown: texts(100, PROVIDERS_MAX) },
  addresses: { given: listOf(addressRangeField), shown: z.array(z.string()) },
  profileIds: { given: texts(200), shown: z.array(z.string()) },
  eventNames: { given: texts(80), shown: z.array(z.string()) },
  paths: {
    given: listOf(
      text(PATH_MAX).refine(
        (path) => path.split('*').length - 1 <= STARS_MAX,
        `expected at most ${STARS_MAX} *`,
      ),
    ),
    shown: z.array(z.string()),
  },
} satisfies Readonly<Record<SettingKind, { readonly given: z.ZodType; readonly shown: z.ZodType }>>;

type Side = 'given' | 'shown';
type Settings = Readonly<Record<string, SiteSetting>>;
type Fields<List extends Settings, Of extends Side> = {
  [Name in keyof List]: (typeof KINDS)[List[Name]['kind']][Of];
};

function fieldsOf<List extends Settings, Of extends Side>(list: List, side: Of): Fields<List, Of> {
  const fields = Object.entries(list).map(([name, { kind, meaning }]) => [
    name,
    KINDS[kind][side].describe(meaning),
  ]);
  return Object.fromEntries(fields) as Fields<List, Of>;
}

const FILTERS_MEANING =
  'Events to exclude. A matching event returns 202 and is not recorded. Each list has at most 1,000 entries with 65,536 characters together, and the whole site at most 262,144 bytes.';
const given = fieldsOf(SITE_SETTINGS, 'given');

/** `POST /manage/projects`; the other settings have their defaults. */
export const projectCreation = z.strictObject({
  name: given.name,
  domain: given.domain.optional(),
  /** Default: the domain. */
  cors: given.cors.optional(),
  timezone: given.timezone.default('UTC'),
  currency: given.currency.default('USD'),
  types: given.types.default(['website']),
});
export type ProjectCreation = z.output<typeof projectCreation>;

/** `PATCH /manage/projects/{projectId}`; given fields replace the stored ones; within `filters`, given lists do. */
export const projectChange = z
  .strictObject({
    ...given,
    filters: z.strictObject(fieldsOf(SITE_FILTERS, 'given')).partial().describe(FILTERS_MEANING),
  })
  .partial();
export type ProjectChange = z.output<typeof projectChange>;

/** `GET /manage/projects` */
export const projectsQuery = z.object({
  deleted: flag.describe('Return the deleted sites instead of the active ones.'),
});

/** `DELETE /manage/projects/{projectId}` */
export const projectDeletion = z.object({
  now: flag.describe('Purge at once instead of after 24 hours. Cannot be undone.'),
});

const undoable = {
  requestedAt: instant.describe('Time of the request, in UTC.'),
  purgeAt: instant.describe(
    'Earliest time of the purge, in UTC. The site can be restored until the purge begins.',
  ),
  remainingSeconds: z
    .number()
    .int()
    .describe(
      'Whole seconds until `purgeAt`, in which the deletion can be undone for certain. 0 if it cannot be undone, or once `purgeAt` has passed.',
    ),
};

/** A site as it is returned. */
export const projectShown = z.object({
  id: z.string(),
  teamId: teamIdShown,
  ...fieldsOf(SITE_SETTINGS, 'shown'),
  filters: z.object(fieldsOf(SITE_FILTERS, 'shown')).describe(FILTERS_MEANING),
  feedSubject: z
    .string()
    .nullable()
    .describe('The subject of the stream to subscribe to. Null while `feed` is off.'),
  ...recordTimes,
  deletion: z
    .object({
      status: z
        .enum(['waiting', 'purging', 'purged'])
        .describe('`waiting`: not started. `purging`: in progress. `purged`: completed.'),
      ...undoable,
      restorable: z
        .boolean()
        .describe(
          'Whether the deletion can be undone: true until the purge begins, false after a deletion with `now=true`.',
        ),
      startedAt: instant.nullable().describe('Time at which the purge started, in UTC. Null before.'),
      finishedAt: instant.nullable().describe('Time of completion, in UTC. Null before.'),
      step: z.string().describe('The current step of the purge. Empty when no step is running.'),
      rowsRemoved: z.record(z.string(), z.number()).describe('Number of rows removed so far, by table.'),
    })
    .nullable()
    .describe('The progress of the purge of a deleted site. Null for an active site.'),
});
export type ProjectShown = z.output<typeof projectShown>;

/** The settings for the browser script. */
export const trackingShown = projectShown.pick(
  Object.fromEntries(trackingSchema.keyof().options.map((name) => [name, true])) as Record<
    keyof Site['tracking'],
    true
  >,
);

export const projectAnswer = z.object({ data: projectShown });
export const projectsAnswer = z.object({ data: z.array(projectShown) });
/** The site, and the deletion that was undone. */
const undoneDeletion = z
  .object(undoable)
  .describe('The deletion that was undone, with the seconds that were left.');
export type UndoneDeletion = z.output<typeof undoneDeletion>;
export const projectRestored = z.object({ data: projectShown.extend({ restored: undoneDeletion }) });
export const clientTypeField = z
  .enum(CLIENT_TYPES)
  .describe(
    '`write`: sends events. `read`: also queries its own site. `root`: does everything for its team.',
  );
export const secretShown = z
  .string()
  .describe('The client secret. Returned only once; only a hash is stored.');
/** The new site with its first client, whose secret is returned only once. */
export const projectCreated = z.object({
  data: projectShown.extend({
    client: z
      .object({ id: z.uuid(), type: clientTypeField, secret: secretShown })
      .describe('The first client of the site, a write client.'),
  }),
});

export function projectOf(
  { storedId, tracking: settings, deletion, ...site }: Site,
  nowMs: number,
): ProjectShown {
  const isFed = site.feed && deletion === null;
  return {
    ...site,
    ...settings,
    feedSubject: isFed ? feedSubjectOf(storedId, '>') : null,
    deletion: deletion === null ? null : shownDeletion(deletion, nowMs),
  };
}

/** A whole number of at least 1, or null. */
function wholeNumber(most: number) {
  return { given: z.number().int().min(1).max(most).nullable(), shown: z.number().nullable() };
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
