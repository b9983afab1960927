import type { StoredId } from '../../infra/accounts/ids.ts';
import type { StoreParameters } from '../../infra/store/store.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import { boundDays, dayRange } from './days.ts';
import { EXPECTED_CTR } from './expected-ctr.ts';
import { figuresOf, type RankedSums, type SearchSources } from './rows.ts';
import {
  CANNIBALIZED_IMPRESSIONS_MIN,
  type CannibalizationAnswer,
  type CannibalizationQuery,
  COMPETING_PAGES_MAX,
  OPPORTUNITY_POSITIONS,
  type OpportunitiesAnswer,
  type OpportunitiesQuery,
  type PageDetailsAnswer,
  type PageDetailsQuery,
  type QueryDetailsAnswer,
  type QueryDetailsQuery,
  type RankedQuery,
  type SearchPage,
  type SearchQuery,
} from './search-console-api.ts';
import { answerSeries, EVERYTHING, type Subject } from './series.ts';

const CLICKS_SCALE = 100;

/** The pages of a site in search results, by clicks. */
export async function answerPages(
  sources: SearchSources,
  scope: QuestionScope,
  query: RankedQuery,
  subject?: Subject,
): Promise<SearchPage[]> {
  const rows = await askRanking(sources, scope, query, { columns: 'page', subject });
  return rows.map((row) => ({ page: row.word, ...figuresOf(row) }));
}

/** The queries for which a site was shown, by clicks. */
export async function answerQueries(
  sources: SearchSources,
  scope: QuestionScope,
  query: RankedQuery,
  subject?: Subject,
): Promise<SearchQuery[]> {
  const rows = await askRanking(sources, scope, query, { columns: 'query', subject });
  return rows.map((row) => ({ query: row.word, ...figuresOf(row) }));
}

/** One page over time, with the queries that showed it. */
export async function answerPageDetails(
  sources: SearchSources,
  scope: QuestionScope,
  query: PageDetailsQuery,
): Promise<PageDetailsAnswer> {
  const subject = { ...EVERYTHING, page: query.page };
  const [timed, queries] = await Promise.all([
    answerSeries(sources, scope, query, subject),
    answerQueries(sources, scope, query, subject),
  ]);
  return { page: query.page, ...timed, queries, nextCursor: cursorAfter(query, queries) };
}

/** One query over time, with the pages that it showed. */
export async function answerQueryDetails(
  sources: SearchSources,
  scope: QuestionScope,
  query: QueryDetailsQuery,
): Promise<QueryDetailsAnswer> {
  const subject = { ...EVERYTHING, query: query.query };
  const [timed, pages] = await Promise.all([
    answerSeries(sources, scope, query, subject),
    answerPages(sources, scope, query, subject),
  ]);
  return { query: query.query, ...timed, pages, nextCursor: cursorAfter(query, pages) };
}

/** Queries that are shown often and clicked less than others on their position. */
export async function answerOpportunities(
  { history }: SearchSources,
  scope: QuestionScope,
  query: OpportunitiesQuery,
): Promise<OpportunitiesAnswer> {
  const parameters = {
    ...pageOf(scope, query),
    search: query.search ?? '',
    minImpressions: query.minImpressions,
    firstPosition: OPPORTUNITY_POSITIONS.first,
    lastPosition: OPPORTUNITY_POSITIONS.last,
    expected: EXPECTED_CTR,
  };
  const rows = await history.ask({ name: 'search-console-opportunities', parameters }, NO_SEAM);
  return rows.map((row) => {
    const impressions = row.impressionCount;
    const expectedCtr = EXPECTED_CTR[Math.floor(row.positionSum / impressions + 0.5) - 1] ?? 0;
    const missed = impressions * expectedCtr - row.clickCount;
    const missedClicks = Math.round(missed * CLICKS_SCALE) / CLICKS_SCALE;
    return { query: row.word, ...figuresOf(row), expectedCtr, missedClicks };
  });
}

/** Queries for which several pages compete. */
export async function answerCannibalization(
  { history }: SearchSources,
  scope: QuestionScope,
  query: CannibalizationQuery,
): Promise<CannibalizationAnswer> {
  const parameters = {
    ...pageOf(scope, query),
    minImpressions: CANNIBALIZED_IMPRESSIONS_MIN,
    pagesMax: COMPETING_PAGES_MAX,
  };
  const rows = await history.ask({ name: 'search-console-cannibalization', parameters }, NO_SEAM);
  return rows.map(({ word, impressionCount, clickCount, total, places }) => ({
    query: word,
    totalImpressions: impressionCount,
    totalClicks: clickCount,
    totalPages: total,
    pages: places.map(([page, clicks, impressions, positionSum]) => ({
      page,
      ...figuresOf({ clickCount: clicks, impressionCount: impressions, positionSum }),
    })),
  }));
}

function askRanking(
  { history }: SearchSources,
  scope: QuestionScope,
  query: RankedQuery,
  { columns, subject = EVERYTHING }: { readonly columns: string; readonly subject: Subject | undefined },
): Promise<RankedSums[]> {
  const parameters = { ...pageOf(scope, query), ...subject, search: query.search ?? '' };
  return history.ask({ name: 'search-console-ranking', parameters, texts: { columns } }, NO_SEAM);
}

function pageOf(
  { site, nowMs }: QuestionScope,
  query: CannibalizationQuery,
): StoreParameters & { readonly site: StoredId } {
  const { days } = dayRange(query, nowMs);
  return { site: site.storedId, ...boundDays(days), limit: query.limit, offset: query.cursor };
}

function cursorAfter(
  { limit, cursor }: { readonly limit: number; readonly cursor: number },
  rows: readonly unknown[],
): string | null {
  return rows.length < limit ? null : String(cursor + limit);
}
