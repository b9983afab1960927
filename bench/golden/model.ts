import { DAY_MS } from '../../infra/durations.ts';
import { Calendar } from './calendar.ts';
import { type AskedFilter, holds, isAboutSession, type KnownEntities } from './filters.ts';
import { isIn, type Span } from './ranges.ts';
import {
  majorUnits,
  ofVisitors,
  type Row,
  revenueOf,
  rowOf,
  type Session,
  sessionsOf,
  type WholeEvent,
} from './rows.ts';

/**
 * A slow and obvious computation of every answer, only from the exported events of one site, its known profiles and groups, its
 * zone and its currency. Every figure is counted anew from all rows.
 *
 * The traffic (`visits.ts`) excludes cases that rows cannot decide: two profiles in one session, two events of a device in one
 * millisecond, and a late payment within reach of an event arriving after it.
 */
export interface SiteModel {
  readonly calendar: Calendar;
  readonly currency: string;
  readonly rows: readonly Row[];
  readonly sessions: readonly Session[];
  readonly sessionById: ReadonlyMap<string, Session>;
  readonly records: KnownEntities;
}

export interface SiteTraits {
  readonly zone: string;
  readonly currency: string;
}

export function modelOf(
  { zone, currency }: SiteTraits,
  events: readonly WholeEvent[],
  records: KnownEntities,
  nowMs: number,
): SiteModel {
  const rows = events.map(rowOf);
  const sessions = sessionsOf(rows);
  const sessionById = new Map(sessions.map((session) => [session.id, session]));
  return {
    calendar: calendarOf(zone, nowMs),
    currency,
    rows: ofVisitors(rows, sessionById),
    sessions,
    sessionById,
    records,
  };
}

const calendars = new Map<string, Calendar>();

/** Building one takes a moment. */
function calendarOf(zone: string, nowMs: number): Calendar {
  const key = `${zone} ${Math.floor(nowMs / DAY_MS)}`;
  const calendar = calendars.get(key) ?? new Calendar(zone, nowMs);
  calendars.set(key, calendar);
  return calendar;
}

/**
 * The events that match the filters: filters about events match the event, and filters about sessions match the entry
 * of its session, or the event itself where it has none.
 */
export function heldRows(model: SiteModel, filters: readonly AskedFilter[]): readonly Row[] {
  if (filters.length === 0) return model.rows;
  const ofSession = filters.filter(isAboutSession);
  const ofEvent = filters.filter((filter) => !isAboutSession(filter));
  return model.rows.filter((row) => {
    const made = model.sessionById.get(row.event.sessionId)?.entry ?? row;
    return holds(ofEvent, row, model.records) && holds(ofSession, made, model.records);
  });
}

/**
 * The sessions that began in a span and match the filters: filters about sessions match the session, and all others
 * match one of its events in the span.
 */
export function retainedSessions(
  model: SiteModel,
  filters: readonly AskedFilter[],
  span: Span,
): readonly Session[] {
  const ofSession = filters.filter(isAboutSession);
  const ofEvent = filters.filter((filter) => !isAboutSession(filter));
  const named = new Set(
    model.rows
      .filter((row) => isIn(span, row.atMs) && !row.isSynthetic && holds(ofEvent, row, model.records))
      .map(({ event }) => event.sessionId),
  );
  return model.sessions.filter(
    ({ id, startMs, entry }) =>
      isIn(span, startMs) &&
      holds(ofSession, entry, model.records) &&
      (ofEvent.length === 0 || named.has(id)),
  );
}

/** The number of different visitors; an empty name does not count. */
export function visitorsOf(of: readonly { readonly visitor: string }[]): number {
  return new Set(of.map(({ visitor }) => visitor).filter((visitor) => visitor !== '')).size;
}

/** Percent of bounces and the average duration in seconds. */
export function ratesOf(sessions: readonly Session[]): {
  readonly bounces: number;
  readonly seconds: number;
} {
  const bounces = sessions.filter(({ views }) => views <= 1).length;
  const durationMs = sessions.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
  return {
    bounces: shown(bounces * 100, sessions.length),
    seconds: shown(durationMs / 1000, sessions.length),
  };
}

/** A quotient as answers show it: two decimals, 0 when nothing is counted. */
export function shown(value: number, of: number): number {
  return of === 0 ? 0 : Math.round((value / of) * 100) / 100;
}

/** Figures that all lists of sessions have in common. */
export function sessionFigures(sessions: readonly Session[], currency: string) {
  const { bounces, seconds } = ratesOf(sessions);
  const revenue = sessions.reduce((sum, session) => sum + (session.revenue.get(currency) ?? 0n), 0n);
  return {
    sessions: sessions.length,
    pageviews: sessions.reduce((sum, { views }) => sum + views, 0),
    visitors: visitorsOf(sessions),
    bounce_rate: bounces,
    avg_duration: seconds,
    revenue: majorUnits(revenue, currency),
  };
}

/** The revenue of rows in one currency, in major units. */
export function earned(rows: readonly Row[], currency: string): number {
  return majorUnits(revenueOf(rows).get(currency) ?? 0n, currency);
}

/** The members of each group, keyed by `keyOf`. */
export function groupsOf<Member>(members: readonly Member[], keyOf: (member: Member) => readonly string[]) {
  const groups = new Map<string, { readonly key: readonly string[]; readonly members: Member[] }>();
  for (const member of members) {
    const key = keyOf(member);
    const group = groups.get(JSON.stringify(key)) ?? { key, members: [] };
    groups.set(JSON.stringify(key), group);
    group.members.push(member);
  }
  return [...groups.values()];
}

/** The order of texts in every answer. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** Newest first, ties by id. */
export function byTime(a: Row, b: Row): number {
  return b.atMs - a.atMs || byBytes(a.event.id, b.event.id);
}
