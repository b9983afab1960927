import { z } from 'zod';
import { EXPORT_GROUPS } from '../processor/event-export.ts';
import { cursorField, rowCursorField } from './cursor.ts';
import { readFilters } from './filters/filter.ts';
import { INTERVALS } from './time/buckets.ts';
import { RANGES } from './time/range.ts';

/**
 * CONTRACT with browsers and servers that ask: every request's parameters and every answer.
 * Parameters arrive as text and stay text until a schema here says otherwise; one that is empty counts as not given.
 */

export const EXPORT_LIMIT_MAX = 1_000;
const PAGE_MAX = 1_000_000_000;

/** True or false, as words or digits; false when not given. */
export const flag = z
  .enum(['true', 'false', '1', '0'])
  .default('false')
  .transform((text) => text === 'true' || text === '1');

/** See `filters/filter.ts`, whose refusals name the part of a filter that is wrong. */
const filters = z
  .string()
  .default('[]')
  .transform(readFilters)
  .describe('A JSON array of filters, which all have to hold; of the values of one, any.');

/** What the questions below `/insights/{projectId}` have in common. */
export const common = {
  range: z
    .enum(RANGES)
    .optional()
    .describe(
      "A span of time by its name, as the site's clocks see it; 7d, or custom where there are dates.",
    ),
  startDate: z
    .string()
    .optional()
    .describe("The first day of a custom range, or an instant; one without a zone is in the site's."),
  endDate: z
    .string()
    .optional()
    .describe('The last day of a custom range, included; an instant is where the range ends.'),
  /** What they are about is said in `filters/insight-conditions.ts`. */
  filters,
  partial: flag.describe('Answer without what cannot be reached now, rather than with 503.'),
};

/** `GET /insights/{projectId}/metrics` */
export const metricsQuery = z.object({
  ...common,
  interval: z
    .enum(INTERVALS)
    .optional()
    .describe(
      'The width of a bucket. By itself a minute for up to 2 hours, an hour for up to 2 days, a day up to 92 days, a week up to 186, else a month.',
    ),
});

/** `GET /insights/{projectId}/live` */
export const liveQuery = z.object({
  details: flag.describe('Also pages, countries, referrers and the last 30 minutes.'),
});

/** `GET /insights/{projectId}/excluded` */
export const excludedQuery = z.object({
  range: common.range,
  startDate: common.startDate,
  endDate: common.endDate,
  limit: wholeNumber(1, 1_000).default(100).describe('Rows of the answer.'),
});

/** `GET /insights/{projectId}/profiles/{profileId}` and `…/groups/{groupId}` take no parameters. */
export const recordQuery = z.object({});

/** Which events of which site are exported, in whatever form. */
export const exportSelection = z.object({
  projectId: z
    .string()
    .optional()
    .describe('The site: a root client must name it, that of a read client is its own.'),
  project_id: z.string().optional().describe('The same as projectId.'),
  event: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((names) => (typeof names === 'string' ? [names] : names))
    .describe('Names of events; repeated for several.'),
  start: z
    .string()
    .optional()
    .describe(
      "The first day, or an instant; one without a zone is in the site's. Without it, from the first event.",
    ),
  end: z.string().optional().describe('The last day, included, or the instant before which to end.'),
  profileId: z.string().optional().describe('Only events of this profile.'),
  /** Each event by its own columns. */
  filters,
  includes: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((text) => (typeof text === 'string' ? [text] : text).flatMap((part) => part.split(',')))
    .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ''))
    .pipe(z.array(z.enum(EXPORT_GROUPS)))
    .describe(
      `Further fields by their groups, separated by commas or repeated: ${EXPORT_GROUPS.join(', ')}.`,
    ),
  partial: common.partial,
});
export type ExportSelection = z.output<typeof exportSelection>;

/** `GET /export/events`; `limit` above its maximum is clamped. */
export const exportQuery = exportSelection.extend({
  page: wholeNumber(1, PAGE_MAX).optional().describe('Which page, from 1.'),
  limit: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(50)
    .transform((limit) => Math.min(limit, EXPORT_LIMIT_MAX))
    .describe(`Events of a page; more than ${EXPORT_LIMIT_MAX} count as ${EXPORT_LIMIT_MAX}.`),
  cursor: cursorField,
});
export type ExportQuery = z.output<typeof exportQuery>;

/** `GET /export/events.ndjson`, `.csv` and `.parquet`. */
export const streamQuery = exportSelection.omit({ partial: true }).extend({
  limit: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('At most so many events; all without it.'),
  cursor: rowCursorField,
});
export type StreamQuery = z.output<typeof streamQuery>;

const metrics = {
  bounce_rate: z.number().describe('Percent of sessions with at most one screen view, 0 to 100.'),
  unique_visitors: z.number().describe('Distinct profiles, and distinct devices of nobody known.'),
  total_sessions: z.number().describe('Sessions that began then.'),
  avg_session_duration: z.number().describe('Seconds from the first to the last event of a session.'),
  total_screen_views: z.number(),
  views_per_session: z.number().describe('Screen views divided by sessions.'),
  total_revenue: z.number().describe("In the site's currency, in major units: 12.5 is 12 euros 50."),
  revenue_by_currency: z
    .record(z.string(), z.number())
    .describe('Major units by ISO 4217 code; a currency that sums to nothing is left out.'),
};

export const metricsSchema = z.object(metrics);
export type MetricsFigures = z.output<typeof metricsSchema>;

const partial = z
  .literal(true)
  .optional()
  .describe('Present when something could not be reached and `partial=true` asked for the rest.');

/** What a bucket is called. */
const bucketDate = z
  .string()
  .describe(
    "Where the bucket begins, in the site's time zone: `YYYY-MM-DD` for days and longer, `YYYY-MM-DD HH:MM:SS` below.",
  );
const visitorsNow = z.number().describe('Devices with an event in the last five minutes.');

export const metricsAnswer = z.object({
  metrics: metricsSchema,
  /** Of the span before, which is as long. */
  previous: metricsSchema,
  series: z.array(z.object({ date: bucketDate, ...metrics })),
  interval: z.enum(INTERVALS).describe('The width of a bucket of the series.'),
  partial,
});
export type MetricsAnswer = z.output<typeof metricsAnswer>;

export const liveAnswer = z.object({
  visitors: visitorsNow,
  pages: z
    .array(z.object({ path: z.string(), visitors: visitorsNow }))
    .optional()
    .describe('With details=true: the ten foremost, the most visitors first.'),
  countries: z.array(z.object({ country: z.string(), visitors: visitorsNow })).optional(),
  referrers: z.array(z.object({ referrer: z.string(), visitors: visitorsNow })).optional(),
  minutes: z
    .array(
      z.object({
        date: bucketDate,
        visitors: z.number().describe('Distinct visitors of the minute.'),
        screen_views: z.number(),
      }),
    )
    .optional()
    .describe('With details=true: the last 30 minutes with the current one, the oldest first.'),
});
export type LiveAnswer = z.output<typeof liveAnswer>;

const instantMs = z.iso.datetime({ precision: 3 });

/** An exported event: these fields always, and those of each of the `includes`. Texts are empty when unknown. */
export const exportedEvent = z.object({
  id: z.string().describe('32 hexadecimal digits.'),
  name: z.string(),
  deviceId: z.string(),
  profileId: z.string(),
  sessionId: z.string().describe('Empty for an event of no session.'),
  projectId: z.string(),
  createdAt: instantMs.describe('When it happened, in UTC.'),
  path: z.string(),
  origin: z.string(),
  title: z.string(),
  country: z.string().describe('ISO 3166-1, two letters.'),
  city: z.string(),
  os: z.string(),
  browser: z.string(),
  device: z.string(),
  groups: z.array(z.string()).describe('Ids of groups.'),
  properties: z
    .record(z.string(), z.string())
    .optional()
    .describe('includes=properties: texts by dotted keys.'),
  profile: z
    .object({ id: z.string() })
    .nullable()
    .optional()
    .describe('includes=profile: null for an event of nobody known.'),
  meta: z
    .object({
      eventId: z.string().describe('As the sender named it.'),
      receivedAt: instantMs.describe('When the service took it, in UTC.'),
      query: z.string(),
      hash: z.string(),
    })
    .optional()
    .describe('includes=meta'),
  referrer: z.string().optional().describe('includes=referrer, as the next two'),
  referrerName: z.string().optional(),
  referrerType: z.string().optional(),
  region: z.string().optional().describe('includes=geo, as the next two'),
  longitude: z.number().nullable().optional().describe('Degrees.'),
  latitude: z.number().nullable().optional().describe('Degrees.'),
  brand: z.string().optional().describe('includes=device, as the next three'),
  model: z.string().optional(),
  browserVersion: z.string().optional(),
  osVersion: z.string().optional(),
  revenue: z
    .number()
    .nullable()
    .optional()
    .describe('includes=revenue, as the next two: major units of its currency, null for an event without.'),
  currency: z.string().optional().describe('ISO 4217.'),
  orderId: z.string().optional(),
  utmSource: z.string().optional().describe('includes=utm, as the next five'),
  utmMedium: z.string().optional(),
  utmCampaign: z.string().optional(),
  utmTerm: z.string().optional(),
  utmContent: z.string().optional(),
  channel: z.string().optional(),
  sdkName: z.string().optional().describe('includes=sdk, as the next'),
  sdkVersion: z.string().optional(),
});
export type ExportedEvent = z.output<typeof exportedEvent>;

/** What was understood and not recorded: `bot` by the bot's type and name, `filter` by what the site filters. */
export const excludedAnswer = z.array(
  z.object({
    reason: z.string().describe('bot or filter'),
    type: z.string().describe('The type of the bot, or what the site filters.'),
    name: z.string().nullable().describe('The name of the bot.'),
    requests: z.number(),
  }),
);
export type ExcludedAnswer = z.output<typeof excludedAnswer>;

const recordTimes = {
  createdAt: instantMs.nullable().describe('Of the first update, in UTC; null for what only events name.'),
  updatedAt: instantMs.nullable().describe('Of the last update, in UTC.'),
};

export const profileAnswer = z.object({
  id: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  avatar: z.string(),
  properties: z.record(z.string(), z.string()).describe('Texts by dotted keys.'),
  groups: z.array(z.string()).describe('Ids of groups.'),
  ...recordTimes,
  events: z.array(exportedEvent).describe('The last that name it, the newest first.'),
  partial,
});
export type ProfileAnswer = z.output<typeof profileAnswer>;

export const groupAnswer = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  properties: z.record(z.string(), z.string()).describe('Texts by dotted keys.'),
  ...recordTimes,
});
export type GroupAnswer = z.output<typeof groupAnswer>;

export const exportAnswer = z.object({
  meta: z.object({
    count: z.number().describe('Events of this page.'),
    totalCount: z.number().describe('Events of all pages.'),
    pages: z.number(),
    current: z.number().describe('Which page this is, from 1.'),
    nextCursor: z
      .string()
      .nullable()
      .describe(
        'The `cursor` of the next page, of which arriving events shift nothing; null behind the last.',
      ),
  }),
  data: z.array(exportedEvent).describe('The newest first, ties by id.'),
  partial,
});
export type ExportAnswer = z.output<typeof exportAnswer>;

/** A whole number within these bounds, both included; described as the number that the text is. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .meta({ type: 'integer', minimum: min, maximum: max })
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a whole number from ${min} to ${max}`);
}
