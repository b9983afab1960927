import { type PageTitlesQuestion, planLookup, planPageTitles } from '../plan.ts';
import { pageKeyOf } from '../rollups/rollup-page-rows.ts';
import { askFinalizedBlocks } from '../rollups/rollup-spans.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';

interface TitleRow {
  readonly origin: string;
  readonly path: string;
  readonly lastTitle: string;
}

/** The latest titles of pages, by `pageKeyOf`; a page without any title is missing. */
export type TitlesOf = (pages: PageTitlesQuestion['pages']) => Promise<ReadonlyMap<string, string>>;

/**
 * The titles of all views in a span: filters do not apply to them. It begins at once with what it needs for any pages, beside the
 * question that finds out which.
 */
export function titlesIn(
  history: StatementRunner,
  seam: Seam,
  about: Omit<PageTitlesQuestion, 'pages'>,
): TitlesOf {
  const lookup = planLookup({ projectId: about.projectId, filters: [] }, [about.span]);
  const looking = askFinalizedBlocks(history, lookup, seam);
  // Where that question fails first, nobody waits for this.
  looking.catch(() => {});
  return async (pages) => {
    if (pages.length === 0) return new Map();
    const statement = planPageTitles({ ...about, pages }, await looking);
    const rows = await history.ask<TitleRow>(statement, seam);
    return new Map(rows.map((row) => [pageKeyOf(row), row.lastTitle]));
  };
}
