import { z } from 'zod';
import { common, wholeNumber } from '../api.ts';
import { pageLimit } from '../insights/list-api.ts';

/** CONTRACT of the questions below `/insights/{projectId}/gsc`: their parameters and answers. */

/** Ranked rows of a page, when the request does not say. */
const ROWS_SHOWN = 100;
const CURSOR_MAX = 1_000_000_000;
const TEXT_MAX = 2_048;
const IMPRESSIONS_MAX = 1_000_000_000;

/** The most pages that `gsc/cannibalization` lists for one query. */
export const COMPETING_PAGES_MAX = 100;
/** A query is cannibalized from this many impressions on. */
export const CANNIBALIZED_IMPRESSIONS_MIN = 100;
/** The positions, both included, between which a query is an opportunity. */
export const OPPORTUNITY_POSITIONS = { first: 4, last: 20 } as const;
const OPPORTUNITY_IMPRESSIONS_MIN = 100;

/** Widths of the buckets of a series. The Search Console knows nothing below a day. */
export const DAY_INTERVALS = ['day', 'week', 'month'] as const;

const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/, 'expected a date such as 2026-03-01; the Search Console counts by whole days')
  .optional();

/** Parameters of every question. Filters are about events, of which the Search Console knows nothing: there are none. */
const dates = {
  range: common.range.describe(
    'A named range of days of the Search Console, which are those of Pacific time. Ranges shorter than a day stand for the days that they touch. Default: 7d, or custom if there are dates.',
  ),
  startDate: day.describe('The first day of a custom range, `YYYY-MM-DD`.'),
  endDate: day.describe('The last day of a custom range, included, `YYYY-MM-DD`.'),
};
const series = {
  interval: z
    .enum(DAY_INTERVALS)
    .optional()
    .describe(
      'The width of a bucket. Default: a day for up to 92 days, a week for up to 186 days, else a month.',
    ),
};
const paged = {
  limit: pageLimit(ROWS_SHOWN),
  cursor: wholeNumber(0, CURSOR_MAX).default(0).describe('The number of rows before the page.'),
};

const word = z.string().max(TEXT_MAX, `expected at most ${TEXT_MAX} characters`);
const search = (what: string) =>
  word.optional().describe(`Only ${what} that contain this text, upper and lower case alike.`);

/** `GET /insights/{projectId}/gsc/overview` */
export const overviewQuery = z.object({ ...dates, ...series });
export type OverviewQuery = z.output<typeof overviewQuery>;

/** `GET /insights/{projectId}/gsc/pages` */
export const searchPagesQuery = z.object({ ...dates, ...paged, search: search('pages') });
/** `GET /insights/{projectId}/gsc/queries` */
export const searchQueriesQuery = z.object({ ...dates, ...paged, search: search('queries') });
export type RankedQuery = z.output<typeof searchPagesQuery>;

/** `GET /insights/{projectId}/gsc/pages/details` */
export const pageDetailsQuery = z.object({
  ...dates,
  ...series,
  ...paged,
  page: word.describe('The address of the page, exactly as `gsc/pages` returns it.'),
});
export type PageDetailsQuery = z.output<typeof pageDetailsQuery>;

/** `GET /insights/{projectId}/gsc/queries/details` */
export const queryDetailsQuery = z.object({
  ...dates,
  ...series,
  ...paged,
  query: word.describe('The query, exactly as `gsc/queries` returns it.'),
});
export type QueryDetailsQuery = z.output<typeof queryDetailsQuery>;

/** `GET /insights/{projectId}/gsc/queries/opportunities` */
export const opportunitiesQuery = z.object({
  ...dates,
  ...paged,
  search: search('queries'),
  minImpressions: wholeNumber(1, IMPRESSIONS_MAX)
    .default(OPPORTUNITY_IMPRESSIONS_MIN)
    .describe('Only queries with at least this many impressions in the range.'),
});
export type OpportunitiesQuery = z.output<typeof opportunitiesQuery>;

/** `GET /insights/{projectId}/gsc/cannibalization` */
export const cannibalizationQuery = z.object({ ...dates, ...paged });
export type CannibalizationQuery = z.output<typeof cannibalizationQuery>;

/** The figures of the Search Console, for any set of rows. */
export const searchFigures = z.object({
  clicks: z.number().describe('Clicks from search results.'),
  impressions: z.number().describe('How often a search result was shown.'),
  ctr: z
    .number()
    .describe(
      'Clicks divided by impressions, from 0 to 1 as in the Search Console API; 0 without impressions.',
    ),
  position: z
    .number()
    .nullable()
    .describe('The average position, weighted by impressions; 1 is the top. Null without impressions.'),
});
export type SearchFigures = z.output<typeof searchFigures>;

const timed = {
  metrics: searchFigures.describe('Totals of the range.'),
  previous: searchFigures.describe('Totals of the range before it, which is as long.'),
  series: z
    .array(
      searchFigures.extend({
        date: z
          .string()
          .describe(
            'The first day of the bucket, `YYYY-MM-DD`; weeks begin on Monday, also in a cut first bucket.',
          ),
      }),
    )
    .describe('Every bucket of the range, oldest first; days without rows are 0.'),
  interval: z.enum(DAY_INTERVALS).describe('The width of a bucket.'),
};

/** Totals and a series. */
export const overviewAnswer = z.object(timed);
export type OverviewAnswer = z.output<typeof overviewAnswer>;

/** A page and its figures. */
export const searchPage = z.object({
  page: z.string().describe('The address of the page, as the Search Console reports it.'),
  ...searchFigures.shape,
});
export type SearchPage = z.output<typeof searchPage>;
export const searchPagesAnswer = z.array(searchPage);

/** A query and its figures. */
export const searchQuery = z.object({
  query: z.string().describe('What was searched for; empty for rows whose query is not known.'),
  ...searchFigures.shape,
});
export type SearchQuery = z.output<typeof searchQuery>;
export const searchQueriesAnswer = z.array(searchQuery);

const nextCursor = z
  .string()
  .nullable()
  .describe('The `cursor` of the next page of the list; null after the last page.');

/** One page over time, and the queries that showed it. */
export const pageDetailsAnswer = z.object({
  page: z.string().describe('The page of the request.'),
  ...timed,
  queries: z.array(searchQuery).describe('A page of the queries that showed it, by clicks.'),
  nextCursor,
});
export type PageDetailsAnswer = z.output<typeof pageDetailsAnswer>;

/** One query over time, and the pages that it showed. */
export const queryDetailsAnswer = z.object({
  query: z.string().describe('The query of the request.'),
  ...timed,
  pages: z.array(searchPage).describe('A page of the pages that it showed, by clicks.'),
  nextCursor,
});
export type QueryDetailsAnswer = z.output<typeof queryDetailsAnswer>;

/** Queries that could bring more clicks. */
export const opportunitiesAnswer = z.array(
  searchQuery.extend({
    expectedCtr: z.number().describe('The click-through rate that results at this position usually have.'),
    missedClicks: z
      .number()
      .describe('Clicks that the expected rate would bring in addition: impressions × expectedCtr − clicks.'),
  }),
);
export type OpportunitiesAnswer = z.output<typeof opportunitiesAnswer>;

/** Queries for which several pages of the site compete. */
export const cannibalizationAnswer = z.array(
  z.object({
    query: z.string().describe('The query, never empty.'),
    totalImpressions: z.number().describe('Impressions of all its pages.'),
    totalClicks: z.number().describe('Clicks on all its pages.'),
    totalPages: z.number().describe('How many pages were shown for it, at least 2.'),
    pages: z
      .array(searchPage)
      .describe(`The pages by clicks, then by impressions; the first ${COMPETING_PAGES_MAX} of them.`),
  }),
);
export type CannibalizationAnswer = z.output<typeof cannibalizationAnswer>;
