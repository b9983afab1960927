import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import type { History } from '../history.ts';
import type { Range } from '../range.ts';
import type { Seam } from '../seam.ts';
import { type Figures, NO_FIGURES } from './figures.ts';

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

/** Counts a range over history and hot rows: what happened by events, and what began by sessions. */
export async function historyFigures(
  history: History,
  projectId: string,
  range: Range,
  seam: Seam,
): Promise<RangeFigures> {
  const parameters = {
    site: projectId,
    from: range.span.fromMs,
    to: range.span.toMs,
    previousFrom: range.previous.fromMs,
    previousTo: range.previous.toMs,
    edges: [range.previous.fromMs, ...range.buckets.map(({ fromMs }) => fromMs)],
  };
  const naming = { screenView: SCREEN_VIEW, synthetic: [SESSION_START, SESSION_END] };
  const [events, sessions] = await Promise.all([
    history.ask<EventRow>('metrics-events', { ...parameters, ...naming }, seam),
    history.ask<SessionRow>('metrics-sessions', parameters, seam),
  ]);
  return combine(range, events, sessions);
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
