import { z } from 'zod';
import { listParameters, rankedFigures } from './breakdown-api.ts';

/** CONTRACT with clients about pages. A page is an origin and a path. */

export const ENTRY_EXIT_MODES = ['entry', 'exit'] as const;
export type EntryExitMode = (typeof ENTRY_EXIT_MODES)[number];

/** `GET /insights/{projectId}/pages/entry_exit` */
export const entryExitQuery = z.object({
  ...listParameters,
  mode: z
    .enum(ENTRY_EXIT_MODES)
    .default('entry')
    .describe('Pages on which sessions began, or on which they have ended so far.'),
});
export type EntryExitQuery = z.output<typeof entryExitQuery>;

/**
 * Sessions descending, ties by path, then by origin. In `pages`, sessions, screen views and visitors are the page's;
 * bounces and durations are of the sessions that began on it. In `pages/entry_exit`, all figures are of the sessions
 * that began or ended on the page.
 */
export const pagesAnswer = z.array(
  z.object({
    origin: z.string().describe('Scheme and host, such as `https://example.com`.'),
    path: z.string(),
    title: z.string().describe('The last title seen; empty if there was none.'),
    ...rankedFigures,
  }),
);
export type PagesAnswer = z.output<typeof pagesAnswer>;
