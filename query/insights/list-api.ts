import { z } from 'zod';
import { common, exportQuery, wholeNumber } from '../api.ts';
import { cursorField } from '../cursor.ts';

const LIMIT_MAX = 1_000;
const CURSOR_MAX = 1_000_000_000;

/**
 * What lists of rows have in common. Their answers are bare arrays, which have no place to say that something is left
 * out: with `partial` the rows of an owner that is away are missing, as was asked for, and nothing marks it.
 */
export const listFields = {
  ...common,
  cursor: wholeNumber(0, CURSOR_MAX).default(0).describe('How many rows come before the page.'),
};

/** The same of lists that go back in time, whose rows have a place that others do not shift. */
export const timeListFields = { ...common, cursor: cursorField };

/** How many rows a page has when nobody says it; `limit` out of range is refused. */
export function pageLimit(rows: number) {
  return wholeNumber(1, LIMIT_MAX).default(rows).describe('Rows of the page.');
}

/** Names of events, repeated; without any, those of everything but what marks a session's begin and end. */
export const eventNames = exportQuery.shape.event;

/** The id of a session or an event. */
export const hexId = z.string().regex(/^[0-9a-f]{32}$/i, 'expected 32 hexadecimal digits');
