import { DAY_MS } from '../../../infra/durations.ts';
import type { EngagementAnswer } from '../engagement-api.ts';
import type { RetentionAnswer } from '../retention-api.ts';
import type { CohortAnswer } from '../retention-cohort-api.ts';

/** An event with its visitor, empty for none. */
export interface VisitorEvent {
  readonly name: string;
  readonly atMs: number;
  readonly visitor: string;
  readonly sessionId: string;
}

/** The dates that clocks of a zone show, by the runtime's own calendar. */
function datesIn(zone: string): (atMs: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
  return (atMs) => format.format(atMs);
}

/** The first date of the day, week or month of a date. */
export function beginOf(date: string, interval: 'day' | 'week' | 'month'): string {
  if (interval === 'day') return date;
  if (interval === 'month') return `${date.slice(0, 7)}-01`;
  const weekday = (new Date(date).getUTCDay() + 6) % 7;
  return later(date, -weekday);
}

/** Returns the date `days` days later. */
export function later(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The events that make a visitor. */
export function counted<Event extends VisitorEvent>(events: readonly Event[]): readonly Event[] {
  return events.filter(
    ({ name, visitor }) => name !== 'session_start' && name !== 'session_end' && visitor !== '',
  );
}

/** The retention of the weeks that begin on these Mondays. Examines every visitor. */
export function recountRetention(
  events: readonly VisitorEvent[],
  zone: string,
  mondays: readonly string[],
): RetentionAnswer {
  const dateOf = datesIn(zone);
  const visits = counted(events).map(({ visitor, atMs }) => ({
    visitor,
    week: beginOf(dateOf(atMs), 'week'),
  }));
  const ofWeek = (monday: string) =>
    new Set(visits.filter(({ week }) => week === monday).map(({ visitor }) => visitor));
  return mondays.map((date) => {
    const next = ofWeek(later(date, 7));
    const active = [...ofWeek(date)];
    const retained = active.filter((visitor) => next.has(visitor)).length;
    return {
      date,
      active_users: active.length,
      retained_users: retained,
      retention: percent(retained, active.length),
    };
  });
}

export interface RecountedCohorts {
  readonly interval: 'day' | 'week' | 'month';
  /** The first date of each interval. */
  readonly begins: readonly string[];
  readonly firstEvent?: string | undefined;
  readonly event?: string | undefined;
}

/** The cohorts of these intervals. Examines all events of each visitor. */
export function recountCohorts(
  events: readonly VisitorEvent[],
  zone: string,
  { interval, begins, firstEvent, event }: RecountedCohorts,
): CohortAnswer {
  const dateOf = datesIn(zone);
  const named = (name: string | undefined) =>
    events
      .filter((each) => each.visitor !== '')
      .filter((each) => (name === undefined ? counted([each]).length > 0 : each.name === name))
      .map(({ visitor, atMs }) => ({ visitor, begin: beginOf(dateOf(atMs), interval) }))
      .filter(({ begin }) => begins.includes(begin));
  const firsts = named(firstEvent);
  const returns = new Set(named(event).map(({ visitor, begin }) => `${visitor} ${begin}`));
  const visitors = [...new Set(firsts.map(({ visitor }) => visitor))];
  const cohortOf = (visitor: string) =>
    begins.find((begin) => firsts.some((first) => first.visitor === visitor && first.begin === begin));
  return begins.map((cohort, index) => {
    const members = visitors.filter((visitor) => cohortOf(visitor) === cohort);
    const values = begins
      .slice(index)
      .map((begin) => members.filter((visitor) => returns.has(`${visitor} ${begin}`)).length);
    return {
      cohort_interval: cohort,
      sum: members.length,
      values,
      percentages: values.map((value) => percent(value, members.length)),
    };
  });
}

/** The engagement of a span with the last day `lastDay`. Examines all events of each visitor. */
export function recountEngagement(
  events: readonly VisitorEvent[],
  zone: string,
  { fromMs, toMs, firstDay, lastDay }: { fromMs: number; toMs: number; firstDay: string; lastDay: string },
): EngagementAnswer {
  const dateOf = datesIn(zone);
  const inSpan = counted(events).filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const visitors = [...new Set(inSpan.map(({ visitor }) => visitor))].map((visitor) => {
    const own = inSpan.filter((event) => event.visitor === visitor);
    const dates = [...new Set(own.map(({ atMs }) => dateOf(atMs)))].sort();
    const sessions = new Set(own.map(({ sessionId }) => sessionId).filter((id) => id !== '')).size;
    return { recency: daysBetween(dates.at(-1) ?? '', lastDay), days: dates.length, sessions };
  });
  const daysMost = Math.max(0, ...visitors.map(({ days }) => days));
  const limits = [
    [0, 0],
    [1, 1],
    [2, 2],
    [3, 3],
    [4, 4],
    [5, 5],
    [6, 10],
    [11, 20],
    [21, 50],
    [51, 100],
    [101, null],
  ] as const;
  return {
    visitors: visitors.length,
    recency: Array.from({ length: daysBetween(firstDay, lastDay) + 1 }, (_, days) => ({
      days,
      visitors: visitors.filter(({ recency }) => recency === days).length,
    })),
    frequency: Array.from({ length: daysMost }, (_, index) => ({
      days_active: index + 1,
      visitors: visitors.filter(({ days }) => days === index + 1).length,
    })),
    sessions: limits.map(([least, most]) => ({
      sessions: least,
      sessions_max: most,
      visitors: visitors.filter(({ sessions }) => sessions >= least && (most === null || sessions <= most))
        .length,
    })),
  };
}

function daysBetween(first: string, last: string): number {
  return (Date.parse(last) - Date.parse(first)) / DAY_MS;
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100;
}
