import { z } from 'zod';
import { TRAFFIC_BREAKDOWNS } from './dimensions.ts';
import { listFields, pageLimit } from './list-api.ts';

/** CONTRACT with those who ask what sessions have in common: parameters and rows, of all dimensions alike. */

/** Of every list of ranked rows. */
export const listParameters = { ...listFields, limit: pageLimit(10) };

/** `GET /insights/{projectId}/{dimension}` */
export const listQuery = z.object(listParameters);
export type ListQuery = z.output<typeof listQuery>;

/** `GET /insights/{projectId}/traffic/…` */
export const trafficQueries = {
  referrers: z.object({
    ...listParameters,
    breakdown: z.enum(TRAFFIC_BREAKDOWNS.referrers).default('referrer_name'),
  }),
  geo: z.object({ ...listParameters, breakdown: z.enum(TRAFFIC_BREAKDOWNS.geo).default('country') }),
  devices: z.object({ ...listParameters, breakdown: z.enum(TRAFFIC_BREAKDOWNS.devices).default('device') }),
};
export type TrafficQuery = z.output<(typeof trafficQueries)[keyof typeof trafficQueries]>;

/** The figures of one row, which are those of its sessions. */
export const rankedFigures = {
  sessions: z.number(),
  /** Screen views. */
  pageviews: z.number(),
  visitors: z.number(),
  /** Percent of sessions with at most one screen view, 0 to 100. */
  bounce_rate: z.number(),
  /** Seconds. */
  avg_duration: z.number(),
  /** Major units of the site's currency. */
  revenue: z.number(),
};
const figures = z.object(rankedFigures);
export type RankedFigures = z.output<typeof figures>;

/** Sessions descending, ties by name, unknown first, then by prefix. */
export const breakdownAnswer = z.array(
  z.object({
    /** Null where it is unknown. */
    name: z.string().nullable(),
    /** What the name belongs to, for dimensions whose names say little alone: a city's country, a version's browser. */
    prefix: z.string().nullable().optional(),
    ...rankedFigures,
  }),
);
export type BreakdownAnswer = z.output<typeof breakdownAnswer>;
