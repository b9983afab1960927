import { HOUR_MS } from '../../infra/durations.ts';
import type { Cursor } from '../cursor.ts';
import type { Span } from './range.ts';

/** Length of the first section; each section reaches this many times as far back as the one before. */
const SECTION_MS = 2 * HOUR_MS;
const SECTION_GROWTH = 12;
/** Maximum number of pieces of a span: up to six weeks each is an hour, beyond that several hours. */
const PIECES_MAX = 1_000;

/** A page of a list, newest first. */
export interface Page {
  readonly cursor: Cursor;
  readonly limit: number;
}

/** The part of a span that holds a page. `offset` counts the rows of the part before the page. */
export interface PageSpan extends Span {
  readonly offset: number;
}

/**
 * The starts of a span's pieces, at whole hours of UTC, because the store sorts its rows by them.
 *
 *     span      |from                                   to|
 *     edges     |    |    |    |    |    |    |    |    |
 *     rows      ....  ..  ....  ...   ..  ....  ...   ...
 *     the page            ◀──────── read ────────▶ ◀ skipped ▶        newest first
 *
 * Counting the rows of each piece reads two narrow columns. Then all columns are read, but only of the pieces with the
 * page. So a page near the newest row costs the same for any range.
 */
export function edgesOf({ fromMs, toMs }: Span): readonly number[] {
  const pieceMs = pieceMsOf({ fromMs, toMs });
  const edges = [fromMs];
  for (let atMs = (Math.floor(fromMs / pieceMs) + 1) * pieceMs; atMs < toMs; atMs += pieceMs)
    edges.push(atMs);
  return edges;
}

/**
 * The sections of a span in which the rows before and on a page are counted, newest first: the newest two hours, then
 * as far as a day back, twelve days, and so on to the beginning of the span. They are counted one after the other until
 * the page is found.
 *
 *     span      |from                                                      to|
 *     sections  |             third                  |    second    | first  |
 *     rows      ....  ..  ....  ...   ..  ....  ...   ...  . ..  .. .. .. ...
 *
 * A page after the last row of the previous page needs no newer rows. Few rows are newer than now.
 */
export function sectionsOf(span: Span, cursor: Cursor, nowMs: number): readonly Span[] {
  const sections: Span[] = [];
  let toMs = cursor.kind === 'behind' ? Math.min(span.toMs, cursor.atMs + 1) : span.toMs;
  const newestMs = Math.min(toMs, nowMs);
  for (let lengthMs = SECTION_MS; toMs > span.fromMs; lengthMs *= SECTION_GROWTH) {
    const fromMs = Math.max(span.fromMs, Math.floor((newestMs - lengthMs) / HOUR_MS) * HOUR_MS);
    sections.push({ fromMs, toMs });
    toMs = fromMs;
  }
  return sections;
}

/** True if consecutive counted pieces certainly hold a page, whatever rows are older. */
export function holdsPage(
  edges: readonly number[],
  rowsByEdge: ReadonlyMap<number, number>,
  { cursor, limit }: Page,
): boolean {
  // The number of remaining rows is unknown for the piece in which the previous page ended.
  const counted = cursor.kind === 'rows' ? edges : edges.filter((edge) => edge <= cursor.atMs).slice(0, -1);
  const rows = counted.reduce((sum, edge) => sum + (rowsByEdge.get(edge) ?? 0), 0);
  return rows >= (cursor.kind === 'rows' ? cursor.rows + limit : limit);
}

/** The edges of a section. Time after the current hour is one piece, since it has few rows. */
export function sectionEdgesOf({ fromMs, toMs }: Span, nowMs: number): readonly number[] {
  const laterMs = (Math.floor(nowMs / HOUR_MS) + 1) * HOUR_MS;
  if (laterMs <= fromMs || laterMs >= toMs) return edgesOf({ fromMs, toMs });
  return [...edgesOf({ fromMs, toMs: laterMs }), laterMs];
}

/** True if no piece in a part is longer than an hour, the shortest length of pieces. */
export function isFinest(part: Span, edges: readonly number[]): boolean {
  const inside = edges.filter((edge) => edge >= part.fromMs && edge < part.toMs);
  return inside.every((edge, index) => (inside[index + 1] ?? part.toMs) - edge <= HOUR_MS);
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

/** The piece in which the previous page ended, with an unknown number of remaining rows, and enough further pieces for the page. */
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
