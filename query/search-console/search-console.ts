import { nextRows } from '../cursor.ts';
import { insight, type ScopeOf } from '../http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { expectedCtrText } from './expected-ctr.ts';
import {
  answerCannibalization,
  answerOpportunities,
  answerPageDetails,
  answerPages,
  answerQueries,
  answerQueryDetails,
} from './rankings.ts';
import type { SearchSources } from './rows.ts';
import {
  CANNIBALIZED_IMPRESSIONS_MIN,
  COMPETING_PAGES_MAX,
  cannibalizationAnswer,
  cannibalizationQuery,
  OPPORTUNITY_POSITIONS,
  type OpportunitiesQuery,
  opportunitiesAnswer,
  opportunitiesQuery,
  overviewAnswer,
  overviewQuery,
  pageDetailsAnswer,
  pageDetailsQuery,
  queryDetailsAnswer,
  queryDetailsQuery,
  searchPagesAnswer,
  searchPagesQuery,
  searchQueriesAnswer,
  searchQueriesQuery,
} from './search-console-api.ts';
import { answerSeries } from './series.ts';

const DATES =
  'Dates are the days of the Search Console, in Pacific time whatever the time zone of the site; its newest days may still change (see `GET /manage/projects/{projectId}/gsc`). `filters` are not accepted, because they are about events. Without a connection and without rows there is nothing: figures are 0 and lists are empty.';
const FIGURES =
  'Clicks and impressions are sums of the stored rows, one for each day, query and page. `ctr` is clicks divided by impressions, from 0 to 1; `position` is weighted by impressions. The Search Console leaves rare queries out of its rows, so that sums may be lower than the totals that it shows itself.';
const RANKED = 'Sorted by clicks in descending order, then by impressions in descending order, then by text.';

/** Every question below `/insights/{projectId}/gsc`. */
export function searchConsoleEndpoints(sources: SearchSources, scopeOf: ScopeOf): AnyEndpoint[] {
  return [...listEndpoints(sources, scopeOf), ...detailEndpoints(sources, scopeOf)];
}

function listEndpoints(sources: SearchSources, scopeOf: ScopeOf): AnyEndpoint[] {
  return [
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/pages',
        about: {
          summary: 'Pages in search results',
          description: `${FIGURES}\n\nAddresses are as the Search Console reports them, fragments (\`#…\`) included. ${RANKED} ${DATES}`,
          answer: searchPagesAnswer,
        },
        schema: searchPagesQuery,
        next: nextRows,
        answer: (scope, query) => answerPages(sources, scope, query),
      }),
    ),
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/queries',
        about: {
          summary: 'Search queries',
          description: `${FIGURES}\n\n${RANKED} ${DATES}`,
          answer: searchQueriesAnswer,
        },
        schema: searchQueriesQuery,
        next: nextRows,
        answer: (scope, query) => answerQueries(sources, scope, query),
      }),
    ),
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/queries/opportunities',
        about: {
          summary: 'Queries that could bring more clicks',
          description: `A query is an opportunity if, over the whole range, it has at least \`minImpressions\` impressions, an average position from ${OPPORTUNITY_POSITIONS.first} to ${OPPORTUNITY_POSITIONS.last}, both included, and a \`ctr\` below the rate that is usual at this position. The usual rate goes by the position rounded to a whole number, halves up: ${expectedCtrText(OPPORTUNITY_POSITIONS)}. Conditions are checked before anything is rounded. Rows without a known query do not count. Sorted by \`missedClicks\` in descending order, then by impressions in descending order, then by text.\n\n${FIGURES} ${DATES}`,
          answer: opportunitiesAnswer,
        },
        schema: opportunitiesQuery,
        next: nextRows,
        answer: (scope, query: OpportunitiesQuery) => answerOpportunities(sources, scope, query),
      }),
    ),
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/cannibalization',
        about: {
          summary: 'Queries for which several pages compete',
          description: `Queries with at least two pages and ${CANNIBALIZED_IMPRESSIONS_MIN} impressions in the range. Fragments of addresses (\`#…\`) are cut off and their figures merged first, so that a page does not compete with itself; pages without impressions and rows without a known query do not count. Sorted by impressions in descending order, then by query. Of a query's pages the first ${COMPETING_PAGES_MAX} are listed; \`totalPages\`, \`totalImpressions\` and \`totalClicks\` are those of all.\n\n${FIGURES} ${DATES}`,
          answer: cannibalizationAnswer,
        },
        schema: cannibalizationQuery,
        next: nextRows,
        answer: (scope, query) => answerCannibalization(sources, scope, query),
      }),
    ),
  ];
}

function detailEndpoints(sources: SearchSources, scopeOf: ScopeOf): AnyEndpoint[] {
  return [
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/overview',
        about: {
          summary: 'Search results over time',
          description: `Returns totals, the totals of the previous period, and a time series. ${FIGURES} ${DATES}`,
          answer: overviewAnswer,
        },
        schema: overviewQuery,
        answer: (scope, query) => answerSeries(sources, scope, query),
      }),
    ),
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/pages/details',
        about: {
          summary: 'A page in search results over time, and its queries',
          description: `The page must be written as \`gsc/pages\` returns it; one without rows has figures of 0 and no queries. \`limit\` and \`cursor\` are about the queries. ${RANKED}\n\n${FIGURES} ${DATES}`,
          answer: pageDetailsAnswer,
        },
        schema: pageDetailsQuery,
        answer: (scope, query) => answerPageDetails(sources, scope, query),
      }),
    ),
    anyEndpoint(
      insight(scopeOf, {
        path: 'gsc/queries/details',
        about: {
          summary: 'A search query over time, and its pages',
          description: `The query must be written as \`gsc/queries\` returns it; one without rows has figures of 0 and no pages. \`limit\` and \`cursor\` are about the pages. ${RANKED}\n\n${FIGURES} ${DATES}`,
          answer: queryDetailsAnswer,
        },
        schema: queryDetailsQuery,
        answer: (scope, query) => answerQueryDetails(sources, scope, query),
      }),
    ),
  ];
}
