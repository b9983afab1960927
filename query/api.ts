import { z } from 'zod';
import { INTERVALS } from './buckets.ts';
import { readFilters } from './filters/filter.ts';
import { RANGES } from './range.ts';

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
const filters = z.string().default('[]').transform(readFilters);

/** What the questions below `/insights/{projectId}` have in common. */
export const common = {
  range: z.enum(RANGES).optional(),
  startDate: z.string().optional(),
  endDate: z.string().optional(),
  /** What they are about is said in `filters/insight-conditions.ts`. */
  filters,
  /** Answer without what cannot be reached now, and say so. */
  partial: flag,
};

/** `GET /insights/{projectId}/metrics` */
export const metricsQuery = z.object({ ...common, interval: z.enum(INTERVALS).optional() });

/** `GET /insights/{projectId}/live` */
export const liveQuery = z.object({ details: flag });

/** `GET /insights/{projectId}/excluded` */
export const excludedQuery = z.object({
  range: common.range,
  startDate: common.startDate,
  endDate: common.endDate,
  limit: wholeNumber(1, 1_000).default(100),
});

/** `GET /insights/{projectId}/profiles/{profileId}` and `…/groups/{groupId}` take no parameters. */
export const recordQuery = z.object({});

/** Groups of fields that an exported event can have besides those that it always has. */
export const INCLUDES = [
  'profile',
  'meta',
  'properties',
  'referrer',
  'geo',
  'device',
  'revenue',
  'utm',
  'sdk',
] as const;
export type Include = (typeof INCLUDES)[number];

/** `GET /export/events`; `limit` above its maximum is clamped. */
export const exportQuery = z.object({
  projectId: z.string().optional(),
  project_id: z.string().optional(),
  event: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((names) => (typeof names === 'string' ? [names] : names)),
  start: z.string().optional(),
  end: z.string().optional(),
  profileId: z.string().optional(),
  page: wholeNumber(1, PAGE_MAX).default(1),
  limit: wholeNumber(1, Number.MAX_SAFE_INTEGER)
    .default(50)
    .transform((limit) => Math.min(limit, EXPORT_LIMIT_MAX)),
  /** Each event by its own columns. */
  filters,
  includes: z
    .union([z.string(), z.array(z.string())])
    .default([])
    .transform((text) => (typeof text === 'string' ? [text] : text).flatMap((part) => part.split(',')))
    .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ''))
    .pipe(z.array(z.enum(INCLUDES))),
  partial: flag,
});
export type ExportQuery = z.output<typeof exportQuery>;

const metrics = {
  /** Percent of sessions with at most one screen view, 0 to 100. */
  bounce_rate: z.number(),
  unique_visitors: z.number(),
  total_sessions: z.number(),
  /** Seconds. */
  avg_session_duration: z.number(),
  total_screen_views: z.number(),
  views_per_session: z.number(),
  /** Major units of the site's currency. */
  total_revenue: z.number(),
  /** Major units by currency; one that sums to nothing is left out. */
  revenue_by_currency: z.record(z.string(), z.number()),
};

export const metricsSchema = z.object(metrics);
export type MetricsFigures = z.output<typeof metricsSchema>;

const partial = z.literal(true).optional();

export const metricsAnswer = z.object({
  metrics: metricsSchema,
  previous: metricsSchema,
  series: z.array(z.object({ date: z.string(), ...metrics })),
  interval: z.enum(INTERVALS),
  /** Present when something could not be reached and `partial=true` asked for the rest. */
  partial,
});
export type MetricsAnswer = z.output<typeof metricsAnswer>;

export const liveAnswer = z.object({
  visitors: z.number(),
  pages: z.array(z.object({ path: z.string(), visitors: z.number() })).optional(),
  countries: z.array(z.object({ country: z.string(), visitors: z.number() })).optional(),
  referrers: z.array(z.object({ referrer: z.string(), visitors: z.number() })).optional(),
  minutes: z.array(z.object({ date: z.string(), visitors: z.number(), screen_views: z.number() })).optional(),
});
export type LiveAnswer = z.output<typeof liveAnswer>;

/** An exported event: these fields always, and those of each of the `includes`. */
export const exportedEvent = z.object({
  id: z.string(),
  name: z.string(),
  deviceId: z.string(),
  profileId: z.string(),
  sessionId: z.string(),
  projectId: z.string(),
  createdAt: z.iso.datetime({ precision: 3 }),
  path: z.string(),
  origin: z.string(),
  title: z.string(),
  country: z.string(),
  city: z.string(),
  os: z.string(),
  browser: z.string(),
  device: z.string(),
  groups: z.array(z.string()),
  // includes=properties
  properties: z.record(z.string(), z.string()).optional(),
  // includes=profile; null for an event of nobody known
  profile: z.object({ id: z.string() }).nullable().optional(),
  // includes=meta
  meta: z
    .object({
      eventId: z.string(),
      receivedAt: z.iso.datetime({ precision: 3 }),
      query: z.string(),
      hash: z.string(),
    })
    .optional(),
  // includes=referrer
  referrer: z.string().optional(),
  referrerName: z.string().optional(),
  referrerType: z.string().optional(),
  // includes=geo
  region: z.string().optional(),
  longitude: z.number().nullable().optional(),
  latitude: z.number().nullable().optional(),
  // includes=device
  brand: z.string().optional(),
  model: z.string().optional(),
  browserVersion: z.string().optional(),
  osVersion: z.string().optional(),
  // includes=revenue; major units, null for an event without
  revenue: z.number().nullable().optional(),
  currency: z.string().optional(),
  orderId: z.string().optional(),
  // includes=utm
  utmSource: z.string().optional(),
  utmMedium: z.string().optional(),
  utmCampaign: z.string().optional(),
  utmTerm: z.string().optional(),
  utmContent: z.string().optional(),
  channel: z.string().optional(),
  // includes=sdk
  sdkName: z.string().optional(),
  sdkVersion: z.string().optional(),
});
export type ExportedEvent = z.output<typeof exportedEvent>;

/** What was understood and not recorded: `bot` by the bot's type and name, `filter` by what the site filters. */
export const excludedAnswer = z.array(
  z.object({ reason: z.string(), type: z.string(), name: z.string().nullable(), requests: z.number() }),
);
export type ExcludedAnswer = z.output<typeof excludedAnswer>;

const recordTimes = {
  /** Of the first and the last update; null for a profile that only events name. */
  createdAt: z.iso.datetime({ precision: 3 }).nullable(),
  updatedAt: z.iso.datetime({ precision: 3 }).nullable(),
};

export const profileAnswer = z.object({
  id: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  avatar: z.string(),
  /** Dotted keys. */
  properties: z.record(z.string(), z.string()),
  groups: z.array(z.string()),
  ...recordTimes,
  /** The newest first. */
  events: z.array(exportedEvent),
  partial,
});
export type ProfileAnswer = z.output<typeof profileAnswer>;

export const groupAnswer = z.object({
  id: z.string(),
  type: z.string(),
  name: z.string(),
  properties: z.record(z.string(), z.string()),
  ...recordTimes,
});
export type GroupAnswer = z.output<typeof groupAnswer>;

export const exportAnswer = z.object({
  meta: z.object({ count: z.number(), totalCount: z.number(), pages: z.number(), current: z.number() }),
  data: z.array(exportedEvent),
  partial,
});
export type ExportAnswer = z.output<typeof exportAnswer>;

/** A whole number within these bounds, both included. */
export function wholeNumber(min: number, max: number) {
  return z
    .string()
    .regex(/^\d+$/, 'expected a whole number')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `expected a whole number from ${min} to ${max}`);
}
