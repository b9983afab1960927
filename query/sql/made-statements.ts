import { BUCKET_FIGURES } from './bucket-figures.ts';
import { GROUP_STATEMENTS } from './group-statements.ts';
import { NAME_COUNTS } from './name-counts.ts';
import { PAGE_FIGURES } from './page-figures.ts';
import { SEARCH_CONSOLE_FIGURES } from './search-console-figures.ts';
import { SESSION_RANKINGS } from './session-rankings.ts';
import { VISIT_DAYS } from './visit-days.ts';

/** The statements that are made from shared parts, by name: one definition of a figure for every place that has rows. All others are files. */
export const MADE_STATEMENTS: Readonly<Record<string, string>> = {
  ...BUCKET_FIGURES,
  ...GROUP_STATEMENTS,
  ...NAME_COUNTS,
  ...PAGE_FIGURES,
  ...SEARCH_CONSOLE_FIGURES,
  ...SESSION_RANKINGS,
  ...VISIT_DAYS,
};
