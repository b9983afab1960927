import { BUCKET_FIGURES } from './bucket-figures.ts';
import { GROUP_STATEMENTS } from './group-statements.ts';
import { NAME_COUNTS } from './name-counts.ts';
import { PAGE_FIGURES } from './page-figures.ts';
import { RANKED_SESSIONS } from './ranked-sessions.ts';
import { SEARCH_CONSOLE_FIGURES } from './search-console-figures.ts';
import { VISIT_DAYS } from './visit-days.ts';

/** The statements made from shared parts, by name: a figure is the same from every place with rows. All others are files. */
export const MADE_STATEMENTS: Readonly<Record<string, string>> = {
  ...BUCKET_FIGURES,
  ...GROUP_STATEMENTS,
  ...NAME_COUNTS,
  ...PAGE_FIGURES,
  ...SEARCH_CONSOLE_FIGURES,
  ...RANKED_SESSIONS,
  ...VISIT_DAYS,
};
