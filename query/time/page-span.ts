import type { Cursor } from '../cursor.ts';
import type { Span } from './range.ts';

const HOUR_MS = 3_600_000;
/** The most pieces of a span: of an hour each up to six weeks, and then of several hours. */
const PIECES_MAX = 1_000;

/** Which rows of a list, newest first. */
export interface Page {
  readonly cursor: Cursor;
  readonly limit: number;
}

/** The part of a span that holds a page. `offset` counts the rows of the part before the page. */
export interface PageSpan extends Span {
  readonly offset: number;
}

/**
 * Where the pieces of a span begin: at whole hours of UTC, because the store sorts its rows by them.
 *
 *     span      |from                                   to|
 *     edges     |    |    |    |    |    |    |    |    |
 *     rows      ....  ..  ....  ...   ..  ....  ...   ...
 *     the page            ◀──────── read ────────▶ ◀ skipped ▶        newest first
 *
 * Counting the rows of each piece reads two narrow columns. Then all columns are read, but only of the pieces that the
 * page touches. So a page near the newest row costs the same whatever the range is.
 */
export function edgesOf({ fromMs, toMs }: Span): readonly number[] {
  const pieceMs = pieceMsOf({ fromMs, toMs });
  const edges = [fromMs];
  for (let atMs = (Math.floor(fromMs / pieceMs) + 1) * pieceMs; atMs < toMs; atMs += pieceMs)
    edges.push(atMs);
  return edges;
}

/** Whether the pieces of a span are hours, the smallest there are. */
export function isFinest(span: Span): boolean {
  return pieceMsOf(span) <= HOUR_MS;
}

function pieceMsOf({ fromMs, toMs }: Span): number {
  return Math.ceil((toMs - fromMs) / HOUR_MS / PIECES_MAX) * HOUR_MS;
}

/** The smallest run of pieces that holds the page; undefined when the page is after the last row. */
export function pageSpanOf(
  span: Span,
  edges: readonly number[],
  rowsByEdge: ReadonlyMap<number, number>,
  { cursor, limit }: Page,
): PageSpan | undefined {
  return cursor.kind === 'rows'
    ? spanFrom(span, edges, rowsByEdge, { offset: cursor.rows, limit })
    : spanBehind(span, edges, rowsByEdge, { atMs: cursor.atMs, limit });
}

function spanFrom(
  span: Span,
  edges: readonly number[],
  rowsByEdge: ReadonlyMap<number, number>,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): PageSpan | undefined {
  let rowsSeen = 0;
  let rowsSkipped = 0;
  let toMs = span.toMs;
  let isFound = false;
  for (let index = edges.length - 1; index >= 0; index -= 1) {
    const fromMs = edges[index] ?? span.fromMs;
    rowsSeen += rowsByEdge.get(fromMs) ?? 0;
    if (rowsSeen >= offset + limit) return { fromMs, toMs, offset: offset - rowsSkipped };
    if (rowsSeen > offset) {
      isFound = true;
    } else {
      rowsSkipped = rowsSeen;
      toMs = fromMs;
    }
  }
  return isFound ? { fromMs: span.fromMs, toMs, offset: offset - rowsSkipped } : undefined;
}

/**
 * The piece in which the previous page ended, whose remaining rows are unknown, and as many more pieces as the page
 * needs.
 */
function spanBehind(
  span: Span,
  edges: readonly number[],
  rowsByEdge: ReadonlyMap<number, number>,
  { atMs, limit }: { readonly atMs: number; readonly limit: number },
): PageSpan | undefined {
  const toMs = Math.min(span.toMs, atMs + 1);
  if (toMs <= span.fromMs) return undefined;
  const begun = edges.findLastIndex((edge) => edge < toMs);
  let rows = 0;
  for (let index = begun - 1; index >= 0; index -= 1) {
    const fromMs = edges[index] ?? span.fromMs;
    rows += rowsByEdge.get(fromMs) ?? 0;
    if (rows >= limit) return { fromMs, toMs, offset: 0 };
  }
  return { fromMs: span.fromMs, toMs, offset: 0 };
}
