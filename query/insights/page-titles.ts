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

/**
 * The latest titles of pages, of all views in the span: filters do not apply to them. By `pageKeyOf`; a page without any
 * title is missing.
 */
export async function askTitles(
  history: StatementRunner,
  seam: Seam,
  question: PageTitlesQuestion,
): Promise<ReadonlyMap<string, string>> {
  if (question.pages.length === 0) return new Map();
  const lookup = planLookup({ projectId: question.projectId, filters: [] }, [question.span]);
  const blocks = await askFinalizedBlocks(history, lookup, seam);
  const rows = await history.ask<TitleRow>(planPageTitles(question, blocks), seam);
  return new Map(rows.map((row) => [pageKeyOf(row), row.lastTitle]));
}
