import { type Cursor, cursorBounds } from '../cursor.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { SiteParameters, Statement } from '../snapshot/statement.ts';
import type { StatementTexts } from '../snapshot/statement-texts.ts';
import { type CountedPieces, type CountPieces, countAll, countFromNewest } from '../time/counted-pieces.ts';
import { isFinest, pageSpanOf } from '../time/page-span.ts';
import type { Span } from '../time/range.ts';
import type { ExportRow } from './row.ts';

/** A selection of events and a page of it. */
export interface EventPage {
  readonly span: Span;
  readonly cursor: Cursor;
  readonly limit: number;
  /** The time of the question: the search begins with the newest rows before it. */
  readonly nowMs: number;
  /** True if all events of the span are counted, for their total. */
  readonly isCounted: boolean;
  /**
   * Bound in addition to the span and the page: `site`, `names`, `synthetic`, `profileId`, `sessionId` and the parameters of
   * `filterTexts`.
   */
  readonly conditions: SiteParameters;
  readonly filterTexts: StatementTexts;
  /** The filters behind `filterTexts`, if they come from an insight. */
  readonly filters?: Statement['filters'];
  /** The columns of the rows; our own text. */
  readonly columns: string;
}

/** With more rows to sort, a page is first narrowed to a smaller part of the span, if possible. */
const SORTED_ROWS_MAX = 20_000;

/** A page, and the number of events in the whole span if they were counted. */
export interface ReadPage {
  readonly rows: readonly ExportRow[];
  readonly total: number | undefined;
}

/**
 * A page of events, newest first. All statements over one seam see the same events: rows of the events table never
 * change, and each statement reads up to the seam's flush numbers plus the same hot rows.
 */
export async function readEventPage(
  history: StatementRunner,
  seam: Seam,
  { span, cursor, limit, nowMs, isCounted, conditions, filterTexts, filters = [], columns }: EventPage,
): Promise<ReadPage> {
  const count: CountPieces = async ({ fromMs, toMs }, edges) => {
    const parameters = { ...conditions, from: fromMs, to: toMs, edges };
    const pieces = await history.ask(
      { name: 'event-list-pieces', parameters, texts: filterTexts, filters },
      seam,
    );
    return pieces.map(({ edge, events }) => [edge, events]);
  };
  let total: number | undefined;
  // Wide pieces of the page are divided again, so that all columns are read only of few rows.
  let within: Span = span;
  let from: Cursor = cursor;
  for (;;) {
    const page = { cursor: from, limit };
    const isWhole = isCounted && total === undefined;
    const pieces = await (isWhole ? countAll(within, count) : countFromNewest(within, page, nowMs, count));
    if (isWhole) total = rowsIn(pieces, within);
    const part = pageSpanOf(pieces.span, pieces.edges, pieces.rowsByEdge, page);
    if (part === undefined) return { rows: [], total };
    const isNarrower = part.toMs - part.fromMs <= (pieces.span.toMs - pieces.span.fromMs) / 2;
    if (isNarrower && !isFinest(part, pieces.edges) && rowsIn(pieces, part) > SORTED_ROWS_MAX) {
      within = part;
      if (from.kind === 'rows') from = { kind: 'rows', rows: part.offset };
      continue;
    }
    const statement = listStatement({ conditions, filterTexts, columns, limit }, from, part);
    return { rows: await history.ask(statement, seam), total };
  }
}

/**
 * A page from one statement over the whole span, for events that an index finds.
 * @throws {TooManyRowsError} when it would read more than `rowsMax` rows
 */
export function readEventPageAtOnce(
  history: StatementRunner,
  seam: Seam,
  page: Omit<EventPage, 'nowMs' | 'isCounted'>,
  rowsMax: number,
): Promise<ExportRow[]> {
  const { span, cursor } = page;
  const offset = cursor.kind === 'rows' ? cursor.rows : 0;
  return history.ask({ ...listStatement(page, cursor, { ...span, offset }), rowsMax }, seam);
}

/** Reads the part of a span that holds a page. */
function listStatement(
  {
    conditions,
    filterTexts,
    columns,
    limit,
  }: Pick<EventPage, 'conditions' | 'filterTexts' | 'columns' | 'limit'>,
  cursor: Cursor,
  { fromMs, toMs, offset }: Span & { readonly offset: number },
): Statement<'event-list'> {
  const bound = { ...conditions, ...cursorBounds(cursor, toMs), from: fromMs, to: toMs, offset, limit };
  return { name: 'event-list', parameters: bound, texts: { ...filterTexts, columns }, isPage: true };
}

function rowsIn({ rowsByEdge }: CountedPieces, { fromMs, toMs }: Span): number {
  const inside = [...rowsByEdge].filter(([edge]) => edge >= fromMs && edge < toMs);
  return inside.reduce((sum, [, rows]) => sum + rows, 0);
}
