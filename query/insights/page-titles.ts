import { type PageTitlesQuestion, planLookup, planPageTitles } from '../plan/plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import type { FinalizedTitles, TitleRow } from '../rollups/finalized-titles.ts';
import { pageKeyOf } from '../rollups/rollup-page-rows.ts';
import type { ShownPages } from '../rollups/shown-pages.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import { Otherwise } from '../ways.ts';

/** The latest titles of pages, by `pageKeyOf`, without pages that have no title. */
export type TitlesOf = (pages: PageTitlesQuestion['pages']) => Promise<ReadonlyMap<string, string>>;

/** The titles of finalized hours, and the pages that a question showed last, with its key. */
export interface TitlesBefore {
  readonly titles: FinalizedTitles;
  readonly shown: ShownPages;
  /** Begins with the site and a space. */
  readonly key: string;
}

/**
 * The titles of all views in a span, whatever the filters. Begins immediately with the pages that the question showed
 * last, in parallel with the question itself. New pages are asked for afterwards.
 */
export function titlesIn(
  history: StatementRunner,
  seam: Seam,
  about: Omit<PageTitlesQuestion, 'pages'>,
  { titles, shown, key }: TitlesBefore,
): TitlesOf {
  const lookup = lookUpBlocks(
    history,
    planLookup({ projectId: about.projectId, filters: [] }, [about.span], about.hoursFromMs),
    seam,
  );
  const ask = async (paths: readonly string[]): Promise<readonly TitleRow[]> => {
    if (paths.length === 0) return [];
    const pages = paths.map((path) => ({ path }));
    return lookup.answer((blocks) => {
      const { all, parts } = planPageTitles({ ...about, pages }, blocks);
      return parts instanceof Otherwise
        ? history.ask({ ...all, why: parts.why }, seam)
        : titles.ask(history, parts, paths, seam);
    });
  };
  const before = shown.last(key);
  const early = ask(before);
  // Not awaited if the question fails.
  early.catch(() => {});
  return async (pages) => {
    const paths = [...new Set(pages.map(({ path }) => path))];
    shown.note(key, paths);
    const added = paths.filter((path) => !before.includes(path));
    const rows = await Promise.all([added.length < paths.length ? early : [], ask(added)]);
    return new Map(rows.flat().map((row) => [pageKeyOf(row), row.lastTitle]));
  };
}
