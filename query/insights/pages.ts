import { SCREEN_VIEW } from '../../ingest/event.ts';
import { HOURLY_PAGES_DAYS } from '../../processor/rows.ts';
import { nextRows } from '../cursor.ts';
import type { Insight } from '../http/endpoint.ts';
import type { PageRow } from '../rollups/rollup-page-rows.ts';
import { RollupPages } from '../rollups/rollup-pages.ts';
import type { SiteMemory } from '../site-memory.ts';
import type { ListSources } from '../snapshot/list-question.ts';
import type { Asked } from '../snapshot/question.ts';
import { type ListQuery, listQuery } from './breakdown-api.ts';
import {
  type EntryExitMode,
  type EntryExitQuery,
  entryExitQuery,
  type PagesAnswer,
  pagesAnswer,
} from './pages-api.ts';
import { askRanked, figuresOf } from './ranked-rows.ts';

type EntryExitRow = Omit<PageRow, 'entries'>;

/** A day less than sums of hours by page are there for, as clocks may be apart. */
const HOURS_KEPT_MS = (HOURLY_PAGES_DAYS - 1) * 86_400_000;

/** The columns of a session that hold its page. */
const COLUMNS_BY_MODE: Readonly<Record<EntryExitMode, string>> = {
  entry: 'entryOrigin AS origin, entryPath AS path',
  exit: 'exitOrigin AS origin, exitPath AS path',
};

/**
 * `GET /insights/{projectId}/pages`: the pages that were seen in a range. Refused without the store; with `partial`
 * answered without what an owner that is away holds, and not marked.
 */
export async function answerPages(
  sources: ListSources,
  asked: Asked,
  query: ListQuery,
  pages = new RollupPages(),
): Promise<PagesAnswer> {
  const rows = await askRanked<PageRow>(sources, asked, query, {
    question: 'pages',
    columns: '',
    parameters: { screenView: SCREEN_VIEW },
    summed: {
      hoursFromMs: asked.nowMs - HOURS_KEPT_MS,
      ask: (history, parameters, seam) => pages.ask(history, parameters, seam),
    },
  });
  const { currency } = asked.site;
  return rows.map((row) => ({ ...pageOf(row), ...figuresOf(row, row.entries, currency) }));
}

/**
 * `GET /insights/{projectId}/pages/entry_exit`: the sessions that began in a range, by the page on which they began or,
 * so far, ended. Away and `partial` are as for `pages`.
 */
export async function answerEntryExit(
  sources: ListSources,
  asked: Asked,
  query: EntryExitQuery,
): Promise<PagesAnswer> {
  const rows = await askRanked<EntryExitRow>(sources, asked, query, {
    question: 'entry-exit',
    columns: COLUMNS_BY_MODE[query.mode],
    parameters: { screenView: SCREEN_VIEW },
  });
  const { currency } = asked.site;
  return rows.map((row) => ({ ...pageOf(row), ...figuresOf(row, row.sessions, currency) }));
}

/** `GET /insights/{projectId}/pages` */
export function pagesInsight(sources: ListSources, memory: SiteMemory): Insight<ListQuery, PagesAnswer> {
  const pages = new RollupPages();
  memory.keeps((storedId) => pages.forget(storedId));
  return {
    path: 'pages',
    about: { summary: 'The pages that were seen most', answer: pagesAnswer },
    schema: listQuery,
    next: nextRows,
    answer: (asked, query) => answerPages(sources, asked, query, pages),
  };
}

/** `GET /insights/{projectId}/pages/entry_exit` */
export function entryExitInsight(sources: ListSources): Insight<EntryExitQuery, PagesAnswer> {
  return {
    path: 'pages/entry_exit',
    about: { summary: 'The pages on which most sessions began or ended', answer: pagesAnswer },
    schema: entryExitQuery,
    next: nextRows,
    answer: (asked, query) => answerEntryExit(sources, asked, query),
  };
}

function pageOf({ origin, path, title }: EntryExitRow) {
  return { origin, path, title };
}
