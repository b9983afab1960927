import { z } from 'zod';
import { listParameters, rankedFigures } from './breakdown-api.ts';

/** CONTRACT with those who ask about pages. A page is an origin and a path. */

export const ENTRY_EXIT_MODES = ['entry', 'exit'] as const;
export type EntryExitMode = (typeof ENTRY_EXIT_MODES)[number];

/** `GET /insights/{projectId}/pages/entry_exit` */
export const entryExitQuery = z.object({
  ...listParameters,
  mode: z
    .enum(ENTRY_EXIT_MODES)
    .default('entry')
    .describe('Pages on which sessions began, or those on which they ended so far.'),
});
export type EntryExitQuery = z.output<typeof entryExitQuery>;

/**
 * Sessions descending, ties by path, then by origin. For `pages`, sessions, screen views and visitors are those of the
 * page, bounces and durations of the sessions that began on it; for `pages/entry_exit` all are of the sessions that
 * began or ended on it.
 */
export const pagesAnswer = z.array(
  z.object({
    origin: z.string().describe('Scheme and host, such as `https://example.com`.'),
    path: z.string(),
    title: z.string().describe('The last that was seen there; empty when there was none.'),
    ...rankedFigures,
  }),
);
export type PagesAnswer = z.output<typeof pagesAnswer>;
