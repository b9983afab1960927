import { z } from 'zod';
import { isFullPage } from './page-size.ts';

/**
 * The beginning of a list's page, newest first and ties by id: after a number of rows, or after the last row of the previous
 * page. New rows shift the first kind. With the second, each existing row is shown exactly once.
 */
export type Cursor =
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'behind'; readonly atMs: number; readonly id: string; readonly page: number };

export const FIRST: Cursor = { kind: 'rows', rows: 0 };

const ROWS_MAX = 1_000_000_000;
const BEHIND = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{32})(?:_(\d{1,9}))?$/;

/** A parameter with a cursor: `x-next-cursor` or `nextCursor` of an answer, or a number of rows. */
export const cursorField = z
  .string()
  .transform((text, context): Cursor => {
    const cursor = readCursor(text);
    if (cursor !== undefined) return cursor;
    context.addIssue({ code: 'custom', message: 'expected the cursor of an answer, or a number of rows' });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Where the page begins: the cursor of the previous answer, so that each row comes once even if new rows arrive; or the number of rows before the page.',
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

/** The beginning of a page in a list ordered by id: after a number of rows, or after a row. */
export type IdCursor =
  | { readonly kind: 'rows'; readonly rows: number }
  | { readonly kind: 'behind'; readonly id: string };

const BEHIND_ID = /^id_([A-Za-z0-9_-]+)$/;

/** A parameter with a cursor of such a list: `x-next-cursor` of an answer, or a number of rows. */
export const idCursorField = z
  .string()
  .transform((text, context): IdCursor => {
    const cursor = readCursor(text);
    if (cursor?.kind === 'rows') return cursor;
    const [, id] = BEHIND_ID.exec(text) ?? [];
    if (id !== undefined) return { kind: 'behind', id: Buffer.from(id, 'base64url').toString('utf8') };
    context.addIssue({ code: 'custom', message: 'expected the cursor of an answer, or a number of rows' });
    return z.NEVER;
  })
  .optional()
  .describe(
    'Where the page begins: the cursor of the previous answer, so that each row comes once even if new rows arrive; or the number of rows before the page.',
  );

/** The cursor after a row of a list ordered by id. Ids are any text, so it is encoded. */
export function cursorBehindId(id: string): string {
  return `id_${Buffer.from(id).toString('base64url')}`;
}

const BEHIND_ROW = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)_([0-9a-f]{32})?_([0-9a-f]{32})$/;

/** An event as a position in the order of streams. */
export interface RowCursor {
  readonly atMs: number;
  /** Empty for an event without a session. */
  readonly sessionId: string;
  readonly id: string;
}

/** A parameter with the position of an event, after which a stream continues. */
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
    'Continues after an event: `createdAt`, `sessionId` and `id` of the last complete row, joined by `_`.',
  );

/** The cursor after a row. `page` counts pages, for answers that show the number; the first page has none. */
export function cursorBehind(row: { readonly at: string; readonly id: string }, page?: number): string {
  return `${row.at}_${row.id}${page === undefined ? '' : `_${page}`}`;
}

/** The cursor as the parameters of list statements. Without a row, the position is before every row up to `toMs`. */
export function cursorBounds(cursor: Cursor, toMs: number) {
  return cursor.kind === 'behind'
    ? { behindAt: cursor.atMs, behindId: cursor.id }
    : { behindAt: toMs, behindId: '' };
}

/** The cursor after a page of ranked rows: a number of rows, because ranks change. */
export function nextRows(
  { cursor, limit }: { readonly cursor: number; readonly limit: number },
  page: readonly unknown[],
): string | undefined {
  return page.length < limit ? undefined : String(cursor + limit);
}

/** The cursor after a page of rows that are ordered by time. */
export function nextBehind<Row>(
  { limit }: { readonly limit: number },
  page: readonly Row[],
  placeOf: (row: Row) => { readonly at: string; readonly id: string },
): string | undefined {
  const last = page.at(-1);
  return last === undefined || !isFullPage(page, limit) ? undefined : cursorBehind(placeOf(last));
}
