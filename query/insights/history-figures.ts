import { LRUCache } from 'lru-cache';
import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import type { Filter } from '../filters/filter.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { History } from '../history.ts';
import type { Range } from '../range.ts';
import { settledKeyOf, summedSpans, sumsBeside } from '../rollups/summed-spans.ts';
import type { Seam } from '../seam.ts';
import { type Figures, NO_FIGURES } from './figures.ts';

/** A few numbers each. */
const SETTLED_MAX = 10_000;

/** The figures of a range: of all of it, of the span before, and of each bucket in order. */
export interface RangeFigures {
  readonly current: Figures;
  readonly previous: Figures;
  readonly buckets: readonly Figures[];
}

interface EventRow {
  readonly isCurrent: number;
  readonly isTotal: number;
  readonly edge: number;
  readonly screenViews: number;
  readonly visitors: number;
  readonly revenue: Readonly<Record<string, string>>;
}

interface SessionRow {
  readonly edge: number;
  readonly sessions: number;
  readonly bounces: number;
  readonly durationMs: number;
}

type EventFigures = Pick<Figures, 'screenViews' | 'visitors' | 'revenue'>;
type SessionFigures = Pick<Figures, 'sessions' | 'bounces' | 'durationMs'>;

/** Whose figures, and of which of the site's events and sessions. */
export interface FiguresQuestion {
  readonly projectId: string;
  readonly filters: readonly Filter[];
}

/** Figures of spans that are all summed up, by what tells them apart; they never change. */
export type SettledFigures = LRUCache<string, Figures>;

export function settledFigures(): SettledFigures {
  return new LRUCache({ max: SETTLED_MAX });
}

/**
 * Counts a range over history and hot rows: what happened by events, and what began by sessions. The span before is
 * filtered by itself. Without filters, hours that are summed up are not counted again, nor is the span before, once it
 * was counted and is all summed up.
 */
export async function historyFigures(
  history: Pick<History, 'ask'>,
  { projectId, filters }: FiguresQuestion,
  range: Range,
  seam: Seam,
  settled = settledFigures(),
): Promise<RangeFigures> {
  const conditions = insightConditions(filters, range);
  const parameters = {
    ...conditions.parameters,
    site: projectId,
    from: range.span.fromMs,
    to: range.span.toMs,
    previousFrom: range.previous.fromMs,
    previousTo: range.previous.toMs,
    edges: [range.previous.fromMs, ...range.buckets.map(({ fromMs }) => fromMs)],
  };
  const naming = { screenView: SCREEN_VIEW, synthetic: [SESSION_START, SESSION_END] };
  const spans = [range.previous, range.span];
  const asked = { projectId, spans, edges: parameters.edges, hoursFromMs: 0, days: false };
  const found = filters.length > 0 ? undefined : await summedSpans(history, asked, seam);
  const keys = found === undefined ? undefined : settledKeyOf(found, range.previous);
  const key = keys === undefined ? undefined : `${projectId} ${range.previous.fromMs} ${keys}`;
  const before = key === undefined ? undefined : settled.get(key);
  const sums =
    before === undefined || found === undefined
      ? found
      : { ...sumsBeside(found, range.previous), previousTo: range.previous.fromMs };
  const suffix = sums === undefined ? '' : '-summed';
  const [events, sessions] = await Promise.all([
    history.ask<EventRow>(`metrics-events${suffix}`, { ...parameters, ...naming, ...sums }, seam, conditions),
    history.ask<SessionRow>(`metrics-sessions${suffix}`, { ...parameters, ...sums }, seam, conditions),
  ]);
  const figures = combine(range, events, sessions);
  if (before !== undefined) return { ...figures, previous: before };
  if (key !== undefined) settled.set(key, figures.previous);
  return figures;
}

function combine(range: Range, events: readonly EventRow[], sessions: readonly SessionRow[]): RangeFigures {
  const eventsByEdge = new Map<number, EventFigures>();
  const totals: [previous: EventFigures, current: EventFigures] = [NO_FIGURES, NO_FIGURES];
  for (const row of events) {
    if (row.isTotal === 1) totals[row.isCurrent === 1 ? 1 : 0] = eventFigures(row);
    else eventsByEdge.set(row.edge, eventFigures(row));
  }
  const sessionsByEdge = new Map<number, SessionFigures>(sessions.map((row) => [row.edge, row]));
  const at = (edge: number): Figures => ({
    ...(eventsByEdge.get(edge) ?? NO_FIGURES),
    ...sessionFigures(sessionsByEdge.get(edge) ?? NO_FIGURES),
  });
  const buckets = range.buckets.map(({ fromMs }) => at(fromMs));
  return {
    current: { ...totals[1], ...sumOf(buckets) },
    previous: { ...totals[0], ...sessionFigures(sessionsByEdge.get(range.previous.fromMs) ?? NO_FIGURES) },
    buckets,
  };
}

/** Sessions add up over buckets, because each began in one. */
function sumOf(buckets: readonly Figures[]): SessionFigures {
  let sessions = 0;
  let bounces = 0;
  let durationMs = 0;
  for (const bucket of buckets) {
    sessions += bucket.sessions;
    bounces += bucket.bounces;
    durationMs += bucket.durationMs;
  }
  return { sessions, bounces, durationMs };
}

function eventFigures({ screenViews, visitors, revenue }: EventRow): EventFigures {
  const amounts = Object.entries(revenue).map(([currency, text]) => [currency, BigInt(text)] as const);
  return { screenViews, visitors, revenue: new Map(amounts) };
}

function sessionFigures({ sessions, bounces, durationMs }: SessionFigures): SessionFigures {
  return { sessions, bounces, durationMs };
}
