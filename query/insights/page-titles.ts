import { type PageTitlesQuestion, planLookup, planPageTitles } from '../plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import { pageKeyOf } from '../rollups/rollup-page-rows.ts';
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
  const statement = planLookup({ projectId: about.projectId, filters: [] }, [about.span]);
  const lookup = lookUpBlocks(history, statement, seam);
  return async (pages) => {
    if (pages.length === 0) return new Map();
    const rows = await lookup.answer((blocks) =>
      history.ask<TitleRow>(planPageTitles({ ...about, pages }, blocks), seam),
    );
    return new Map(rows.map((row) => [pageKeyOf(row), row.lastTitle]));
  };
}
