import type { Examples } from './example.ts';

/** Examples for search results. */

const path = { projectId: 'demo' };
const GSC = 'get /insights/:projectId/gsc';
const PAGE = 'https://shop.example/boots';

const figures = { clicks: 42, impressions: 1_200, ctr: 0.035, position: 6.4 };
const timed = {
  metrics: figures,
  previous: { clicks: 30, impressions: 1_000, ctr: 0.03, position: 7.15 },
  series: [
    { date: '2026-01-04', clicks: 0, impressions: 0, ctr: 0, position: null },
    { date: '2026-01-05', ...figures },
  ],
  interval: 'day',
};
const dates = { startDate: '2026-01-04', endDate: '2026-01-05' };
const page = { page: PAGE, ...figures };
const query = { query: 'red boots', ...figures };

export const SEARCH_CONSOLE_EXAMPLES: Examples = {
  [`${GSC}/overview`]: { path, query: dates, answer: timed },
  [`${GSC}/pages`]: { path, query: { ...dates, search: 'boots' }, answer: [page] },
  [`${GSC}/queries`]: { path, query: { ...dates, limit: '10' }, answer: [query] },
  [`${GSC}/pages/details`]: {
    path,
    query: { ...dates, page: PAGE },
    answer: { page: PAGE, ...timed, queries: [query], nextCursor: null },
  },
  [`${GSC}/queries/details`]: {
    path,
    query: { ...dates, query: 'red boots' },
    answer: { query: 'red boots', ...timed, pages: [page], nextCursor: null },
  },
  [`${GSC}/queries/opportunities`]: {
    path,
    query: dates,
    answer: [{ ...query, expectedCtr: 0.05, missedClicks: 18 }],
  },
  [`${GSC}/cannibalization`]: {
    path,
    query: dates,
    answer: [
      {
        query: 'red boots',
        totalImpressions: 1_320,
        totalClicks: 45,
        totalPages: 2,
        pages: [
          page,
          { page: 'https://shop.example/sale', clicks: 3, impressions: 120, ctr: 0.025, position: 12.5 },
        ],
      },
    ],
  },
};
