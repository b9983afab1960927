import { type Cursor, cursorBounds } from '../cursor.ts';
import type { History, SiteParameters, Statement } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { StatementTexts } from '../snapshot/statement-texts.ts';
import { edgesOf, isFinest, pageSpanOf } from '../time/page-span.ts';
import type { Span } from '../time/range.ts';
import type { ExportRow } from './row.ts';

/** A selection of events and a page of it. */
export interface EventPage {
  readonly span: Span;
  readonly cursor: Cursor;
  readonly limit: number;
  /** Bound beside the span and the page: `site`, `names`, `synthetic`, `profileId`, `sessionId` and those of `filterTexts`. */
  readonly conditions: SiteParameters;
  readonly filterTexts: StatementTexts;
  /** The filters behind `filterTexts`, where they are those of an insight. */
  readonly filters?: Statement['filters'];
  /** The columns of the rows; our own text. */
  readonly columns: string;
}

/** With more rows to sort, a page is first narrowed to a smaller part of the span, if possible. */
const SORTED_ROWS_MAX = 20_000;

interface PieceRow {
  readonly edge: number;
  readonly events: number;
}

/**
 * A page of events, newest first, and the number of events on all pages. All statements over one seam see the same
 * events: rows of the events table never change, and each statement reads up to the seam's flush numbers plus the same
 * hot rows.
 */
export async function readEventPage(
  history: Pick<History, 'ask'>,
  seam: Seam,
  { span, cursor, limit, conditions, filterTexts, filters = [], columns }: EventPage,
): Promise<{ readonly rows: readonly ExportRow[]; readonly total: number }> {
  let total: number | undefined;
  // Wide pieces that the page touches are divided again, so that all columns are read of few rows only.
  let within: Span = span;
  let from: Cursor = cursor;
  for (;;) {
    const edges = edgesOf(within);
    const counted = { ...conditions, from: within.fromMs, to: within.toMs, edges };
    const pieces = await history.ask<PieceRow>(
      { name: 'event-list-pieces', parameters: counted, texts: filterTexts, filters },
      seam,
    );
    const rowsByEdge = new Map(pieces.map(({ edge, events }) => [edge, events]));
    total ??= rowsIn(pieces, within);
    const part = pageSpanOf(within, edges, rowsByEdge, { cursor: from, limit });
    if (part === undefined) return { rows: [], total };
    const isNarrower = part.toMs - part.fromMs <= (within.toMs - within.fromMs) / 2;
    if (isNarrower && !isFinest(within) && rowsIn(pieces, part) > SORTED_ROWS_MAX) {
      within = part;
      if (from.kind === 'rows') from = { kind: 'rows', rows: part.offset };
      continue;
    }
    const { fromMs, toMs, offset } = part;
    const bound = { ...conditions, ...cursorBounds(from, toMs), from: fromMs, to: toMs, offset, limit };
    const rows = await history.ask<ExportRow>(
      { name: 'event-list', parameters: bound, texts: { ...filterTexts, columns } },
      seam,
    );
    return { rows, total };
  }
}

function rowsIn(pieces: readonly PieceRow[], { fromMs, toMs }: Span): number {
  const inside = pieces.filter(({ edge }) => edge >= fromMs && edge < toMs);
  return inside.reduce((sum, { events }) => sum + events, 0);
}
