import { z } from 'zod';
import { EXPORT_GROUPS } from '../processor/event-export.ts';
import { cursorField, idCursorField, rowCursorField } from './cursor.ts';
import {
  conversionFigures,
  goalField,
  referencesInRange,
  segmentField,
} from './definitions/definitions-api.ts';
import { readFilters } from './filters/filter.ts';
import { includedCoordinates, includedTexts, visitTexts } from './filters/visit-schemas.ts';
import { INTERVALS } from './time/buckets.ts';
import { RANGES } from './time/range.ts';

/**
 * CONTRACT with clients: the parameters of every request and every answer.
 *
 * Parameters arrive as text, and the schemas here give them types. An empty parameter counts as absent.
 */

export const EXPORT_LIMIT_MAX = 1_000;
const PAGE_MAX = 1_000_000_000;

/** A flag as word or digit; false when absent. */
export const flag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((text) => text === 'true' || text === '1');

/** See `filters/filter.ts`, whose errors name the invalid part of a filter. */
const filters = z
  .string()
  .default('[]')
  .transform(readFilters)
  .describe('A JSON array of filters. All of them must match; a filter matches if one of its values does.');

/** Parameters that most questions below `/insights/{projectId}` share. */
export const common = {
  range: z
    .enum(RANGES)
    .optional()
    .describe("A named span of time in the site's time zone. Default: 7d, or custom if there are dates."),
  startDate: z
    .string()
    .optional()
    .describe("The first day of a custom range, or an instant; without a zone, in the site's time zone."),
  endDate: z
    .string()
    .optional()
    .describe('The last day of a custom range, included; or the instant at which the range ends, excluded.'),
  /** `filters/insight-conditions.ts` decides if a filter is about the event or the session. */
  filters,
  segment: segmentField,
  partial: flag.describe('Answer without data that cannot be reached now, instead of with 503.'),
};

/** `GET /insights/{projectId}/metrics` */
export const metricsQuery = z.object({
  ...common,
  goal: goalField,
  interval: z
    .enum(INTERVALS)
    .optional()
    .describe(
      'The width of a bucket. Default: a minute for up to 2 hours, an hour for up to 2 days, a day for up to 92 days, a week for up to 186 days, else a month.',
    ),
});

/** `GET /insights/{projectId}/live` */
export const liveQuery = z.object({
  details: flag.describe('Also answer with pages, countries, referrers and the last 30 minutes.'),
});

/** `GET /insights/{projectId}/excluded` */
export const excludedQuery = z.object({
  range: common.range,
  startDate: common.startDate,
  endDate: common.endDate,
  limit: wholeNumber(1, 1_000).default(100).describe('The most rows of the answer.'),
});

/** `GET /insights/{projectId}/profiles/{profileId}` takes no parameters. */
export const recordQuery = z.object({});

/** `GET /insights/{projectId}/groups/{groupId}` */
export const groupQuery = z.object({
  limit: wholeNumber(1, 1_000).default(10).describe('The most members of the answer.'),
  cursor: idCursorField,
});
export type GroupQuery = z.output<typeof groupQuery>;

/** Selects the exported events of a site, in every format. */
export const exportSelection = z.object({
  projectId: z
    .string()
    .optional()
    .describe('The site. Required for a root client; a read client has only its own.'),
  project_id: z.string().optional().describe('The same as projectId.'),
  event: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((names) => (typeof names === 'string' ? [names] : names))
    .describe('Only events of these names.'),
  start: z
    .string()
    .optional()
    .describe(
      "The first day, or an instant; without a zone, in the site's time zone. Default: from the first event.",
    ),
  end: z
    .string()
    .optional()
    .describe('The last day, included; or an instant, excluded. Default: to the last event.'),
  profileId: z.string().optional().describe('Only events of this profile.'),
  /** Filters on the event's own columns. */
  filters,
  segment: segmentField,
  includes: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((text) => (typeof text === 'string' ? [text] : text).flatMap((part) => part.split(',')))
    .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ''))
    .pipe(z.array(z.enum(EXPORT_GROUPS)))
    .describe(`Groups of further fields, separated by commas or repeated: ${EXPORT_GROUPS.join(', ')}.`),
  partial: common.partial,
});
export type ExportSelection = z.output<typeof exportSelection>;

/** `GET /export/events`; `limit` above its maximum is clamped. */
export const exportQuery = exportSelection.extend({
  page: wholeNumber(1, PAGE_MAX).optional().describe('The number of the page, from 1.'),
  limit: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(50)
    .transform((limit) => Math.min(limit, EXPORT_LIMIT_MAX))
    .describe(
      `Events per page, at most ${EXPORT_LIMIT_MAX}; a larger value counts as ${EXPORT_LIMIT_MAX}. A page has about 4 MB at most: with \`cursor\` it ends early, with fewer events and a \`nextCursor\`; without one, such a page is 400.`,
    ),
  cursor: cursorField,
});
export type ExportQuery = z.output<typeof exportQuery>;

/** `GET /export/events.ndjson`, `.csv` and `.parquet`. */
export const streamQuery = exportSelection.omit({ partial: true }).extend({
  limit: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The most events of the answer. Default: all.'),
  cursor: rowCursorField,
});
/** `safe`: only for CSV. */
export type StreamQuery = z.output<typeof streamQuery> & { readonly safe?: boolean };

/** `GET /export/events.csv` */
export const csvQuery = streamQuery.extend({
  safe: flag.describe(
    'Write an apostrophe before every text that a spreadsheet would run as a formula: one that begins with `=`, `+`, `-`, `@`, a tab or a line break. Recommended for files that people open in a spreadsheet, because visitors choose texts such as paths and properties. Numbers, times and JSON stay as they are. Do not use it for files that programs read: the apostrophe becomes part of the text.',
  ),
});

const metrics = {
  bounce_rate: z.number().describe('Percent of sessions with at most one screen view, 0 to 100.'),
  unique_visitors: z
    .number()
    .describe(
      'Distinct visitors. The visitor of an event is the profile of its session; without one, the profile of the event; without one, the device. So a visitor who logs in during a visit counts once.',
    ),
  total_sessions: z.number().describe('Sessions that began in the span.'),
  avg_session_duration: z.number().describe('Seconds from the first to the last event of a session.'),
  total_screen_views: z.number(),
  views_per_session: z.number().describe('Screen views divided by sessions.'),
  total_revenue: z.number().describe("Major units of the site's currency: 12.5 is 12 euros 50."),
  revenue_by_currency: z
    .record(z.string(), z.number())
    .describe('Major units by ISO 4217 code, without currencies whose total is 0.'),
  ...conversionFigures,
};

export const metricsSchema = z.object(metrics);
export type MetricsFigures = z.output<typeof metricsSchema>;

const partial = z
  .literal(true)
  .optional()
  .describe('Present when data could not be reached and the request has `partial=true`.');

/** The label of a bucket, see `time/buckets.ts`. */
export const bucketDate = z
  .string()
  .describe(
    "The start of the bucket in the site's time zone: `YYYY-MM-DD` for days and longer, else `YYYY-MM-DD HH:MM:SS`. When clocks go back, times of the second pass end in their offset from UTC, as in `2026-10-25 02:00:00+01:00`; so no two buckets have the same date. When they go forward, the skipped hour has no bucket. Accepted as `startDate` and `endDate`.",
  );
export const visitorsNow = z
  .number()
  .describe('Distinct visitors with an event in a session in the last five minutes.');

/** The figures of the answer. */
const metricsFigures = z.object({
  metrics: metricsSchema,
  /** Figures of the previous range of equal length. */
  previous: metricsSchema,
  series: z.array(z.object({ date: bucketDate, ...metrics })),
  interval: z.enum(INTERVALS).describe('The width of a bucket of the series.'),
  partial,
});
/** Without references, which the endpoint adds. */
export type MetricsAnswer = z.output<typeof metricsFigures>;

export const metricsAnswer = metricsFigures.extend({ references: referencesInRange });

export const liveAnswer = z.object({
  visitors: visitorsNow,
  pages: z
    .array(z.object({ path: z.string(), visitors: visitorsNow }))
    .optional()
    .describe('With details=true: the ten pages with most visitors, in that order.'),
  countries: z
    .array(z.object({ country: z.string().nullable(), visitors: visitorsNow }))
    .optional()
    .describe('With details=true: the ten countries with most visitors; null is an unknown country.'),
  referrers: z
    .array(z.object({ referrer: z.string().nullable(), visitors: visitorsNow }))
    .optional()
    .describe(
      'With details=true: the ten referrer names with most visitors; null is a visit without a referrer name, such as a direct one.',
    ),
  minutes: z
    .array(
      z.object({
        date: bucketDate,
        visitors: z.number().describe('Distinct visitors of the minute.'),
        screen_views: z.number(),
      }),
    )
    .optional()
    .describe('With details=true: the last 30 minutes including the current one, oldest first.'),
});
export type LiveAnswer = z.output<typeof liveAnswer>;

const instantMs = z.iso.datetime({ precision: 3 });

const recordTimes = {
  createdAt: instantMs
    .nullable()
    .describe('Time of the first update, in UTC; null if no update describes it.'),
  updatedAt: instantMs
    .nullable()
    .describe('Time of the last update, in UTC; null if no update describes it.'),
};

/** The known data of a person. A profile that only events name, or that is being erased, has only an id. */
export const exportedProfile = z.object({
  id: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  avatar: z.string(),
  properties: z.record(z.string(), z.string()).describe('Text by dotted key.'),
  groups: z.array(z.string()).describe('Ids of groups.'),
  ...recordTimes,
});
export type ExportedProfile = z.output<typeof exportedProfile>;

/** Meaning of the events that the service adds, for the descriptions of endpoints that return them. */
export const SYNTHETIC_EVENTS =
  '`session_start` is stored once, with the time, page, source, environment and profile of the event that opened its session, which is the one that arrived first. An earlier event that arrives later moves the start and the entry of the session, as the list of sessions shows it, and not its `session_start`: events never change once they are stored, so that pages, streams, feeds and delivered files hold each of them exactly once. `session_end` is stored when the session can no longer be joined, with the time and page of its last event; a payment that is credited later does not change it.';

/** An exported event: these fields always, and the fields of each of the `includes`. Unknown texts are empty. */
export const exportedEvent = z.object({
  id: z.string().describe('32 hexadecimal digits.'),
  name: z.string(),
  deviceId: z.string(),
  profileId: z.string(),
  sessionId: z.string().describe('Empty for an event without a session.'),
  projectId: z.string(),
  createdAt: instantMs.describe('When it happened, in UTC.'),
  path: z.string(),
  origin: z.string(),
  title: z.string(),
  ...visitTexts(),
  groups: z.array(z.string()).describe('Ids of groups.'),
  properties: z
    .record(z.string(), z.string())
    .optional()
    .describe('includes=properties: text by dotted key.'),
  profile: exportedProfile
    .nullable()
    .optional()
    .describe(
      'includes=profile: the profile that `profileId` names, as it is now; null for an event without a profile. Events of an alias that were recorded before the alias keep its id, and have the profile of that id.',
    ),
  meta: z
    .object({
      eventId: z.string().describe('The id that the sender gave.'),
      receivedAt: instantMs.describe('When the service received it, in UTC.'),
      query: z.string(),
      hash: z.string(),
    })
    .optional()
    .describe('includes=meta'),
  ...includedTexts('referrer'),
  ...includedTexts('geo'),
  ...includedCoordinates(),
  ...includedTexts('device'),
  revenue: z
    .number()
    .nullable()
    .optional()
    .describe(
      'includes=revenue, like the next two: major units of its currency; null for an event without revenue.',
    ),
  currency: z.string().optional().describe('ISO 4217.'),
  orderId: z.string().optional(),
  ...includedTexts('utm'),
  sdkName: z.string().optional().describe('includes=sdk, like the next'),
  sdkVersion: z.string().optional(),
});
export type ExportedEvent = z.output<typeof exportedEvent>;

/**
 * Accepted requests that were not recorded: `bot` by the type and name of the bot, `spam` by the domain of the referrer,
 * `filter` by the site's filter, `replay`, a type never recorded, `rate`, beyond the site's event rate, `device`: an
 * update of a profile or group without a secret from a device that is none of its own, and `set-aside`: accepted, but could
 * not be stored.
 */
export const excludedAnswer = z.array(
  z.object({
    reason: z.string().describe('`bot`, `spam`, `filter`, `replay`, `rate`, `device` or `set-aside`.'),
    type: z
      .string()
      .describe(
        'The type of the bot; for `spam`, `referrer`; the site setting that filtered or limited the request; for `replay`, `not-recorded`; for `device`, `profile` or `group`; for `set-aside`, what the service could not store and keeps for its operator: `events` or `records`.',
      ),
    name: z
      .string()
      .nullable()
      .describe('The name of the bot, or the spam domain; null for the other reasons.'),
    requests: z.number(),
  }),
);
export type ExcludedAnswer = z.output<typeof excludedAnswer>;

export const profileAnswer = exportedProfile.extend({
  events: z.array(exportedEvent).describe('The last events that name the profile, newest first.'),
  partial,
});
export type ProfileAnswer = z.output<typeof profileAnswer>;

export const groupAnswer = z.object({
  id: z.string(),
  type: z.string().describe('Empty for a group that only assignments name.'),
  name: z.string().describe('The id, for a group that only assignments name.'),
  properties: z.record(z.string(), z.string()).describe('Text by dotted key.'),
  ...recordTimes,
  members: z
    .array(
      z.object({
        id: z.string(),
        firstName: z.string(),
        lastName: z.string(),
        email: z.string(),
        avatar: z.string(),
      }),
    )
    .describe('The profiles that were assigned to the group, by id.'),
  total: z.number().nullable().describe('Members on all pages; null when they cannot be read now.'),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when members cannot be read now. Without the store the list is empty.'),
});
export type GroupAnswer = z.output<typeof groupAnswer>;

export const exportAnswer = z.object({
  meta: z.object({
    count: z.number().describe('Events of this page.'),
    totalCount: z.number().describe('Events of all pages.'),
    pages: z.number(),
    current: z.number().describe('The number of this page, from 1.'),
    nextCursor: z
      .string()
      .nullable()
      .describe('The `cursor` of the next page, which new events do not shift; null after the last page.'),
  }),
  data: z.array(exportedEvent).describe('Newest first, ties by id.'),
  partial,
});
export type ExportAnswer = z.output<typeof exportAnswer>;

/** A whole number within these bounds, both included; documented as an integer. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .meta({ type: 'integer', minimum: min, maximum: max })
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a whole number from ${min} to ${max}`);
}
