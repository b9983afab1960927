import { z } from 'zod';

/**
 * Where a page of a list begins, newest first and ties by id: so many rows from the newest, or behind the row that a page
 * before ended with. Rows that arrive meanwhile shift the first kind; the second shows each row that was there once.
 */
export type Cursor =
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'behind'; readonly atMs: number; readonly id: string; readonly page: number };

export const FIRST: Cursor = { kind: 'rows', rows: 0 };

const ROWS_MAX = 1_000_000_000;
const BEHIND = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{32})(?:_(\d{1,9}))?$/;

/** A parameter that holds a cursor: what `x-next-cursor` or `nextCursor` of a page said, or a number of rows. */
export const cursorField = z
  .string()
  .transform((text, context): Cursor => {
    const cursor = readCursor(text);
    if (cursor !== undefined) return cursor;
    context.addIssue({ code: 'custom', message: 'expected what an answer said, or a number of rows' });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Where to go on: what the answer before said, so that each row comes once whatever arrives meanwhile; or how many rows come before the page.',
  );

function readCursor(text: string): Cursor | undefined {
  if (/^\d{1,10}$/.test(text)) {
    const rows = Number(text);
    return rows <= ROWS_MAX ? { kind: 'rows', rows } : undefined;
  }
  const [, time = '', id = '', page = '1'] = BEHIND.exec(text) ?? [];
  const atMs = Date.parse(time);
  return Number.isNaN(atMs) ? undefined : { kind: 'behind', atMs, id, page: Number(page) };
}

const BEHIND_ROW = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{32})?_([0-9a-f]{32})$/;

/** An event in the order in which streams are. */
export interface RowCursor {
  readonly atMs: number;
  /** Empty for an event of no session. */
  readonly sessionId: string;
  readonly id: string;
}

/** A parameter that says behind which event a stream goes on, from what is in its row. */
export const rowCursorField = z
  .string()
  .transform((text, context): RowCursor => {
    const [, time = '', sessionId = '', id = ''] = BEHIND_ROW.exec(text) ?? [];
    const atMs = Date.parse(time);
    if (!Number.isNaN(atMs)) return { atMs, sessionId, id };
    context.addIssue({ code: 'custom', message: 'expected {createdAt}_{sessionId}_{id} of an event' });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Goes on behind an event: its `createdAt`, `sessionId` and `id` with `_` between them, as the last whole row has them.',
  );

/** The cursor behind a row. `page` counts pages for those that show a number; the first one has none. */
export function cursorBehind(row: { readonly at: string; readonly id: string }, page?: number): string {
  return `${row.at}_${row.id}${page === undefined ? '' : `_${page}`}`;
}

/** What the statements of such lists bind for a cursor; without one, every row up to `toMs` is behind it. */
export function cursorBounds(cursor: Cursor, toMs: number) {
  return cursor.kind === 'behind'
    ? { behindAt: cursor.atMs, behindId: cursor.id }
    : { behindAt: toMs, behindId: '' };
}

/** The cursor behind a page of ranked rows, whose places others may take. */
export function nextRows(
  { cursor, limit }: { readonly cursor: number; readonly limit: number },
  page: readonly unknown[],
): string | undefined {
  return page.length < limit ? undefined : String(cursor + limit);
}

/** The cursor behind a page of rows that go back in time. */
export function nextBehind<Row>(
  { limit }: { readonly limit: number },
  page: readonly Row[],
  placeOf: (row: Row) => { readonly at: string; readonly id: string },
): string | undefined {
  const last = page.at(-1);
  return last === undefined || page.length < limit ? undefined : cursorBehind(placeOf(last));
}
