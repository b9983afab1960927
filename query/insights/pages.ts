import { DAY_MS } from '../../infra/durations.ts';
import { SCREEN_VIEW } from '../../ingest/event.ts';
import { HOURLY_PAGES_DAYS } from '../../processor/rows.ts';
import { nextRows } from '../cursor.ts';
import { areAboutSessions, isAboutSession } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { NO_HOURS, planPartsLookup } from '../plan/plan.ts';
import { AnswerCaches, type PagesCache } from '../rollups/answer-caches.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import { FILTERED_PAGES_MAX, type FilteredPages } from '../rollups/filtered-pages.ts';
import { ENTRY_PAGES, pagesParts } from '../rollups/filtered-parts.ts';
import { type PageRow, pageKeyOf } from '../rollups/rollup-page-rows.ts';
import { rankedHoursOf } from '../rollups/session-rankings.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { openSeam, type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import { Otherwise, orElse } from '../ways.ts';
import { type ListQuery, listQuery } from './breakdown-api.ts';
import {
  askedGoal,
  askPageConversions,
  askRowConversions,
  conversionFiguresOf,
  type RowName,
} from './conversions.ts';
import { type TitlesOf, titlesIn } from './page-titles.ts';
import {
  type EntryExitMode,
  type EntryExitQuery,
  entryExitQuery,
  type PagesAnswer,
  pagesAnswer,
} from './pages-api.ts';
import { askRankedOver, rankedFiguresOf } from './ranked-rows.ts';

/** Maximum age of hourly rollups of pages: a day less than their retention, since clocks may differ. */
const HOURLY_ROLLUPS_MS = (HOURLY_PAGES_DAYS - 1) * DAY_MS;

/** The columns of a session with its page: a page's origin is the parent of its path. */
const COLUMNS_BY_MODE: Readonly<Record<EntryExitMode, string>> = {
  entry: ENTRY_PAGES,
  exit: 'exitOrigin AS prefix, exitPath AS name',
};

/** `GET /insights/{projectId}/pages`: the pages viewed in a range. A page's title is the latest in the range, whatever the filters. */
export async function answerPages(
  sources: SeamSources,
  scope: QuestionScope,
  query: ListQuery,
  pages = new AnswerCaches().pages,
): Promise<PagesAnswer> {
  const { history } = sources;
  const goal = askedGoal(query, scope);
  const seam = await openSeam(sources, scope, query);
  // Without filters, the rows have titles.
  const titlesOf = query.filters.length === 0 ? undefined : titlesFor(history, seam, scope, query, pages);
  const filtered = await askFilteredPages(history, seam, scope, query, pages.filtered);
  const rows = await orElse(filtered, () =>
    askRankedOver<'pages' | 'pages-filtered'>(history, seam, scope, query, {
      name: query.filters.some(isAboutSession) ? 'pages-filtered' : 'pages',
      columns: '',
      finalized: {
        answers: (filters) => filters.length === 0,
        hoursOf: () => ({ fromMs: scope.nowMs - HOURLY_ROLLUPS_MS, recentFromMs: NO_HOURS }),
        ask: (runner, { parameters }, over) => pages.rollups.ask(runner, parameters, over),
      },
    }),
  );
  const named = rows.map((row) => ({ title: '', ...row }));
  const titled = titlesOf === undefined ? named : await withTitles(named, titlesOf);
  const { currency } = scope.site;
  const conversionsOf = goal && (await askPageConversions(history, rowsOf(rows, scope, query), goal, seam));
  return titled.map((row) => ({
    ...pageOf(row),
    ...rankedFiguresOf(row, row.entries, currency),
    ...(goal && conversionFiguresOf(goal, row.sessions, conversionsOf?.(nameOf(row)))),
  }));
}

/** `GET /insights/{projectId}/pages/entry_exit`: the sessions that began in a range, by their first page or their last page so far. */
export async function answerEntryExit(
  sources: SeamSources,
  scope: QuestionScope,
  query: EntryExitQuery,
  { rankings, pages }: Pick<AnswerCaches, 'rankings' | 'pages'> = new AnswerCaches(),
): Promise<PagesAnswer> {
  const { history } = sources;
  const goal = askedGoal(query, scope);
  const seam = await openSeam(sources, scope, query);
  const columns = COLUMNS_BY_MODE[query.mode];
  const titlesOf = titlesFor(history, seam, scope, query, pages);
  const ranked = await askRankedOver(history, seam, scope, query, {
    name: 'entry-exit',
    columns,
    finalized: {
      answers: areAboutSessions,
      // Rows and titles begin at the same hour and so need only one lookup.
      hoursOf: (span) => rankedHoursOf(span, scope.nowMs, scope.nowMs - HOURLY_ROLLUPS_MS),
      ask: (runner, part, over) => rankings.ask(runner, part, over),
    },
  });
  const rows = ranked.map(({ prefix, name, ...figures }) => ({ ...figures, origin: prefix, path: name }));
  const titled = await withTitles(rows, titlesOf);
  const { currency } = scope.site;
  const conversionsOf =
    goal && (await askRowConversions(history, columns, rowsOf(rows, scope, query), goal, seam));
  return titled.map((row) => ({
    ...pageOf(row),
    ...rankedFiguresOf(row, row.sessions, currency),
    ...(goal && conversionFiguresOf(goal, row.sessions, conversionsOf?.(nameOf(row)))),
  }));
}

/** The pages from a cached finalized part and the rest; none when one statement answers everything. */
async function askFilteredPages(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: ListQuery,
  pages: FilteredPages,
): Promise<readonly PageRow[] | Otherwise> {
  const { filters, limit, cursor: offset } = query;
  if (filters.length === 0) return new Otherwise('no-such-part');
  const { span } = requestedRange(query, scope);
  const site = { projectId: scope.site.storedId, filters };
  const parameters = { currency: scope.site.currency, screenView: SCREEN_VIEW };
  const rows = await lookUpBlocks(history, planPartsLookup(site, [span]), seam).answer(async (blocks) => {
    const parts = pagesParts({ ...site, parameters }, span, blocks, FILTERED_PAGES_MAX + 1);
    return parts instanceof Otherwise ? parts : pages.ask(history, parts, { limit, offset }, seam);
  });
  // Titles come from all views, whatever the filters.
  return rows instanceof Otherwise ? rows : rows.map((row) => ({ ...row, title: '' }));
}

/** The titles in the requested range. */
function titlesFor(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: ListQuery | EntryExitQuery,
  { titles, shown }: PagesCache,
): TitlesOf {
  const { storedId: projectId } = scope.site;
  const { span } = requestedRange(query, scope);
  const about = { projectId, span, hoursFromMs: scope.nowMs - HOURLY_ROLLUPS_MS };
  return titlesIn(history, seam, about, { titles, shown, key: `${projectId} ${JSON.stringify(query)}` });
}

/** The rows with the titles of their pages; empty for none. */
async function withTitles<Row extends Pick<PageRow, 'origin' | 'path'>>(
  rows: readonly Row[],
  titlesOf: TitlesOf,
): Promise<readonly (Row & { readonly title: string })[]> {
  const titles = await titlesOf(rows);
  return rows.map((row) => ({ ...row, title: titles.get(pageKeyOf(row)) ?? '' }));
}

/** `GET /insights/{projectId}/pages` */
export function pagesInsight(
  sources: SeamSources,
  pages = new AnswerCaches().pages,
): Insight<ListQuery, PagesAnswer> {
  return {
    path: 'pages',
    isShared: true,
    about: {
      summary: 'The most viewed pages',
      description:
        'A page is an origin and a path. Sessions, screen views and visitors are those of the page; revenue includes all events on it. Bounces and durations cover the sessions that entered on the page. With `goal`, the conversions of a page are the sessions that viewed it in the range and have an event of the goal in the range, before or after. Sorted by sessions in descending order, then by path.',
      answer: pagesAnswer,
    },
    schema: listQuery,
    next: nextRows,
    answer: (scope, query) => answerPages(sources, scope, query, pages),
  };
}

/** `GET /insights/{projectId}/pages/entry_exit` */
export function entryExitInsight(
  sources: SeamSources,
  caches = new AnswerCaches(),
): Insight<EntryExitQuery, PagesAnswer> {
  return {
    path: 'pages/entry_exit',
    isShared: true,
    about: {
      summary: 'The most frequent entry or exit pages',
      description:
        'All figures cover the sessions that entered, or exited so far, on the page. Sorted by sessions in descending order, then by path.',
      answer: pagesAnswer,
    },
    schema: entryExitQuery,
    next: nextRows,
    answer: (scope, query) => answerEntryExit(sources, scope, query, caches),
  };
}

/** The question for the conversions of these rows. */
function rowsOf(rows: readonly PageName[], scope: QuestionScope, query: ListQuery) {
  const { span } = requestedRange(query, scope);
  const { storedId: projectId } = scope.site;
  return { projectId, filters: query.filters, span, rows: rows.map(nameOf) };
}

type PageName = Pick<PageRow, 'origin' | 'path'>;

function nameOf({ origin, path }: PageName): RowName {
  return { prefix: origin, name: path };
}

function pageOf({ origin, path, title }: Pick<PageRow, 'origin' | 'path' | 'title'>) {
  return { origin, path, title };
}
