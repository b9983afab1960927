import { HOUR_MS } from '../../infra/durations.ts';
import type { Span } from '../time/range.ts';
import type { RowTest } from './held-filters.ts';
import { Scratch } from './marks.ts';
import type { Bound } from './memory-statement.ts';
import type { SiteView } from './site-rows.ts';

/** Rows of the events in a span, oldest first. */
export function rowsIn({ events, order }: SiteView, { fromMs, toMs }: Span): Int32Array {
  const from = firstFrom(events.at, order, fromMs);
  return order.subarray(from, Math.max(from, firstFrom(events.at, order, toMs)));
}

/** The span of a statement. */
export function spanOf({ from, to }: Bound): Span {
  return { fromMs: from, toMs: to };
}

/** The previous span, if the statement has one, and the current one. */
export function bothSpans(bound: Bound): readonly [previous: Span, current: Span] {
  const { previousFrom = 0, previousTo = 0 } = bound;
  return [{ fromMs: previousFrom, toMs: previousTo }, spanOf(bound)];
}

/** The row hours of both spans, in order of time. Adjacent hours are one part. */
export function rowSpans(bound: Bound): readonly Span[] {
  const parts: Span[] = [];
  for (const hour of bound.rowHours ?? []) {
    for (const span of bothSpans(bound)) {
      const fromMs = Math.max(span.fromMs, hour * 1000);
      const toMs = Math.min(span.toMs, hour * 1000 + HOUR_MS);
      if (fromMs >= toMs) continue;
      const before = parts.at(-1);
      if (before?.toMs === fromMs) parts[parts.length - 1] = { fromMs: before.fromMs, toMs };
      else parts.push({ fromMs, toMs });
    }
  }
  return parts;
}

const inParts = new Scratch();

/** Rows of the events in some spans, in the order of the spans. Valid until the next call. */
export function rowsInAll(view: SiteView, spans: readonly Span[]): Int32Array {
  const parts = spans.map((span) => rowsIn(view, span));
  if (parts.length <= 1) return parts[0] ?? new Int32Array(0);
  const found = inParts.take(parts.reduce((sum, rows) => sum + rows.length, 0));
  let length = 0;
  for (const rows of parts) {
    found.set(rows, length);
    length += rows.length;
  }
  return found;
}

const passing = new Scratch();

/** Rows of the events in a span that pass the filters, oldest first. Valid until the next call. */
export function passingRows(view: SiteView, span: Span, passes: RowTest | undefined): Int32Array {
  const rows = rowsIn(view, span);
  if (passes === undefined) return rows;
  const found = passing.take(rows.length);
  let length = 0;
  for (let place = 0; place < rows.length; place += 1) {
    const row = rows[place] ?? 0;
    if (!passes(row)) continue;
    found[length] = row;
    length += 1;
  }
  return found.subarray(0, length);
}

/** Calls `visit` with the slots of the sessions that began in a span, in any order. */
export function eachSession(
  { sessions }: SiteView,
  { fromMs, toMs }: Span,
  visit: (slot: number) => void,
): void {
  const { startedAt, length } = sessions;
  for (let slot = 0; slot < length; slot += 1) {
    const startedMs = startedAt[slot] ?? 0;
    if (startedMs >= fromMs && startedMs < toMs) visit(slot);
  }
}

/** The visitor of an event, as in `processor/rows.ts`; 0 for none. */
export function visitorOf({ events, sessions }: SiteView, row: number): number {
  return sessions.eventVisitor[events.session[row] ?? 0] || (events.visitor[row] ?? 0);
}

/** Buckets between ascending edges. Times before the first edge are in the first bucket. */
export class Buckets {
  readonly #edges: readonly number[];
  #bucket = 0;
  #fromMs = Number.POSITIVE_INFINITY;
  #toMs = Number.NEGATIVE_INFINITY;

  constructor(edges: readonly number[]) {
    this.#edges = edges;
  }

  /** The edge of the time's bucket. Cheap while times stay in one bucket. */
  of(atMs: number): number {
    if (atMs >= this.#fromMs && atMs < this.#toMs) return this.#bucket;
    let [low, high] = [0, this.#edges.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#edges[middle] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    this.#bucket = Math.max(0, low - 1);
    this.#fromMs = this.#bucket === 0 ? Number.NEGATIVE_INFINITY : (this.#edges[this.#bucket] ?? 0);
    this.#toMs = this.#edges[this.#bucket + 1] ?? Number.POSITIVE_INFINITY;
    return this.#bucket;
  }
}

function firstFrom(at: Float64Array, order: Int32Array, fromMs: number): number {
  let [low, high] = [0, order.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((at[order[middle] ?? 0] ?? 0) < fromMs) low = middle + 1;
    else high = middle;
  }
  return low;
}
