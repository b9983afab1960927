import { BUCKET_FIGURES } from './bucket-figures.ts';
import { NAME_COUNTS } from './name-counts.ts';
import { PAGE_FIGURES } from './page-figures.ts';
import { SESSION_RANKINGS } from './session-rankings.ts';
import { VISIT_DAYS } from './visit-days.ts';

/** The statements that are made from figures, by name. All others are files of this folder. */
export const FIGURE_STATEMENTS: Readonly<Record<string, string>> = {
  ...BUCKET_FIGURES,
  ...NAME_COUNTS,
  ...PAGE_FIGURES,
  ...SESSION_RANKINGS,
  ...VISIT_DAYS,
};
