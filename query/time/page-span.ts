import type { Cursor } from '../cursor.ts';
import type { Span } from './range.ts';

const HOUR_MS = 3_600_000;
/** Pieces that a span is cut into: an hour each up to six weeks, and then longer ones. */
const PIECES_MAX = 1_000;

/** Which rows of a list, newest first. */
export interface Page {
  readonly cursor: Cursor;
  readonly limit: number;
}

/** The part of a span that holds a page, and how many rows of the part come before the page. */
export interface PageSpan extends Span {
  readonly offset: number;
}

/**
 * Where the pieces of a span begin. They are whole hours of UTC, because so the store's rows are sorted:
 *
 *     span      |from                                   to|
 *     edges     |    |    |    |    |    |    |    |    |
 *     rows      ....  ..  ....  ...   ..  ....  ...   ...
 *     the page            ◀──────── read ────────▶ ◀ skipped ▶        newest first
 *
 * Counting what is in each piece reads two narrow columns. All columns are then read of those pieces alone that the page
 * touches, so a page near the newest row costs the same whatever the range is.
 */
export function edgesOf({ fromMs, toMs }: Span): readonly number[] {
  const pieceMs = pieceMsOf({ fromMs, toMs });
  const edges = [fromMs];
  for (let atMs = (Math.floor(fromMs / pieceMs) + 1) * pieceMs; atMs < toMs; atMs += pieceMs)
    edges.push(atMs);
  return edges;
}

/** Whether the pieces of a span are hours, which are not cut any further. */
export function isFinest(span: Span): boolean {
  return pieceMsOf(span) <= HOUR_MS;
}

function pieceMsOf({ fromMs, toMs }: Span): number {
  return Math.ceil((toMs - fromMs) / HOUR_MS / PIECES_MAX) * HOUR_MS;
}

/** The smallest run of pieces that holds the page; undefined when the page is behind the last row. */
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

/** The piece that the page before ended in, of which it is not known how much is left, and as many more as it takes. */
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
