import { z } from 'zod';
import { common, exportQuery, wholeNumber } from '../api.ts';
import { cursorField } from '../cursor.ts';

const LIMIT_MAX = 1_000;
const CURSOR_MAX = 1_000_000_000;

/**
 * Shared parameters of lists. Answers are bare arrays, which cannot carry a mark: with `partial`, the rows of an
 * unavailable owner are missing without notice.
 */
export const listFields = {
  ...common,
  cursor: wholeNumber(0, CURSOR_MAX).default(0).describe('The number of rows before the page.'),
};

/** Parameters of lists in order of time, where a row keeps its position. */
export const timeListFields = { ...common, cursor: cursorField };

/** The `limit` of a page, with its default. Values out of range are rejected. */
export function pageLimit(rows: number, max = LIMIT_MAX) {
  return wholeNumber(1, max)
    .default(rows)
    .describe(
      'The most rows of the page. A page of very large rows ends earlier, at about 4 MB, and has a next cursor like any other.',
    );
}

/** Names of events, repeatable. Without any: every event but `session_start` and `session_end`. */
export const eventNames = exportQuery.shape.event;

/** The id of a session or an event. */
export const hexId = z.string().regex(/^[0-9a-f]{32}$/i, 'expected 32 hexadecimal digits');
