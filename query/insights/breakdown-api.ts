import { z } from 'zod';
import { conversionFigures, goalField } from '../definitions/definitions-api.ts';
import { TRAFFIC_BREAKDOWNS } from './dimensions.ts';
import { listFields, pageLimit } from './list-api.ts';

/** CONTRACT with clients about dimensions: parameters and rows, the same for every dimension. */

/** Parameters of every list of ranked rows. */
export const listParameters = { ...listFields, goal: goalField, limit: pageLimit(10) };

/** `GET /insights/{projectId}/{dimension}` */
export const listQuery = z.object(listParameters);
export type ListQuery = z.output<typeof listQuery>;

/** `GET /insights/{projectId}/traffic/…` */
export const trafficQueries = {
  referrers: z.object({
    ...listParameters,
    breakdown: z
      .enum(TRAFFIC_BREAKDOWNS.referrers)
      .default('referrer_name')
      .describe('The dimension of the rows.'),
  }),
  geo: z.object({
    ...listParameters,
    breakdown: z.enum(TRAFFIC_BREAKDOWNS.geo).default('country').describe('The dimension of the rows.'),
  }),
  devices: z.object({
    ...listParameters,
    breakdown: z.enum(TRAFFIC_BREAKDOWNS.devices).default('device').describe('The dimension of the rows.'),
  }),
};
export type TrafficQuery = z.output<(typeof trafficQueries)[keyof typeof trafficQueries]>;

/** The figures of a row, over its sessions. */
export const rankedFigures = {
  sessions: z.number(),
  pageviews: z.number().describe('Screen views.'),
  visitors: z
    .number()
    .describe(
      'Distinct visitors of the sessions: the profile, or the device of a session without a profile.',
    ),
  bounce_rate: z.number().describe('Percent of sessions with at most one screen view, 0 to 100.'),
  avg_duration: z.number().describe('Seconds from the first to the last event of a session.'),
  revenue: z.number().describe("Major units of the site's currency."),
  ...conversionFigures,
};
const figures = z.object(rankedFigures);
export type RankedFigures = z.output<typeof figures>;

/** Sessions descending, ties by name, unknown first, then by prefix. */
export const breakdownAnswer = z.array(
  z.object({
    name: z.string().nullable().describe('Null if unknown.'),
    prefix: z
      .string()
      .nullable()
      .optional()
      .describe("What the name belongs to, if it means little alone: a city's country, a version's browser."),
    ...rankedFigures,
  }),
);
export type BreakdownAnswer = z.output<typeof breakdownAnswer>;
