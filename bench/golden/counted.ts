import { MINUTE_MS } from '../../infra/durations.ts';
import type { MetricsAnswer, MetricsFigures } from '../../query/api.ts';
import type { ActiveUsersAnswer } from '../../query/insights/active-users-api.ts';
import { addDays, type DateText, daysBetween } from './calendar.ts';
import type { AskedFilter } from './filters.ts';
import { groupsOf, heldRows, ratesOf, retainedSessions, type SiteModel, shown, visitorsOf } from './model.ts';
import { type AskedRange, bucketsOf, isIn, type Parameters, rangeOf, type Span } from './ranges.ts';
import { majorUnits, type Row, revenueOf, type Session } from './rows.ts';

const LIVE_MS = 300_000;
const LIVE_MINUTES = 30;
const TOP = 10;
const ACTIVE_DAYS_MAX = 366;

/** The answer of `metrics`; undefined where the series would be too long. */
export function metricsAnswer(
  model: SiteModel,
  { span, previous, interval }: AskedRange,
  filters: readonly AskedFilter[],
): MetricsAnswer | undefined {
  const buckets = bucketsOf(span, interval, model.calendar);
  if (buckets === undefined) return undefined;
  const rows = heldRows(model, filters);
  const figures = (of: Span, begun: readonly Session[]) => figuresIn(model, of, rows, begun);
  const current = retainedSessions(model, filters, span);
  return {
    metrics: figures(span, current),
    previous: figures(previous, retainedSessions(model, filters, previous)),
    series: buckets.map(({ label, ...bucket }) => ({ date: label, ...figures(bucket, current) })),
    interval,
  };
}

function figuresIn(
  { currency }: SiteModel,
  span: Span,
  rows: readonly Row[],
  sessions: readonly Session[],
): MetricsFigures {
  const happened = rows.filter(({ atMs }) => isIn(span, atMs));
  const begun = sessions.filter(({ startMs }) => isIn(span, startMs));
  const views = happened.filter(({ isView }) => isView).length;
  const { bounces, seconds } = ratesOf(begun);
  const revenue = revenueOf(happened);
  return {
    bounce_rate: bounces,
    unique_visitors: visitorsOf(happened.filter(({ isSynthetic }) => !isSynthetic)),
    total_sessions: begun.length,
    avg_session_duration: seconds,
    total_screen_views: views,
    views_per_session: shown(views, begun.length),
    total_revenue: majorUnits(revenue.get(currency) ?? 0n, currency),
    revenue_by_currency: Object.fromEntries([...revenue].map(([code, sum]) => [code, majorUnits(sum, code)])),
  };
}

/** The answer of `active_users`; undefined where it would have too many days. */
export function activeUsersAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  nowMs: number,
): ActiveUsersAnswer | undefined {
  const { from, to } = activeDays(model, parameters, nowMs);
  const count = daysBetween(from, to) + 1;
  if (count > ACTIVE_DAYS_MAX) return undefined;
  const visits = heldRows(model, filters)
    .filter(({ isSynthetic }) => !isSynthetic)
    .map(({ visitor, atMs }) => ({ visitor, date: model.calendar.dateOf(atMs) }));
  const active = (date: DateText, days: number) => {
    const before = addDays(date, -days);
    return visitorsOf(visits.filter((visit) => visit.date > before && visit.date <= date));
  };
  return Array.from({ length: count }, (_, index) => {
    const date = addDays(from, index);
    return { date, dau: active(date, 1), wau: active(date, 7), mau: active(date, 30) };
  });
}

function activeDays({ calendar }: SiteModel, parameters: Parameters, nowMs: number) {
  if (parameters.range === undefined && parameters.startDate === undefined) {
    const to = calendar.dateOf(nowMs);
    return { from: addDays(to, 1 - Number(parameters.days ?? 30)), to };
  }
  const { span } = rangeOf(parameters, calendar, nowMs);
  return { from: calendar.dateOf(span.fromMs), to: calendar.dateOf(span.toMs - 1) };
}

/** The answer of `live`, with or without details. */
export function liveAnswer(model: SiteModel, isDetailed: boolean, nowMs: number) {
  // The service compares whole seconds.
  const floorSecond = Math.floor((nowMs - LIVE_MS) / 1000);
  const live = model.rows
    .filter((row) => !row.isSynthetic && Math.floor(row.atMs / 1000) > floorSecond)
    .sort((a, b) => a.atMs - b.atMs)
    .flatMap(({ event }) => model.sessionById.get(event.sessionId) ?? []);
  const visitors = visitorsOf(live);
  if (!isDetailed) return { visitors };
  // A profile counts in each of its sessions, a device without one in its last.
  const sessions = new Map(
    live.map((session) => [session.profileId === '' ? session.deviceId : session.id, session]),
  );
  const by = (nameOf: (session: Session) => string) => top([...sessions.values()], nameOf);
  const endMs = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
  return {
    visitors,
    pages: by(({ exit }) => exit.event.path).map(([path, count]) => ({ path, visitors: count })),
    countries: by(({ entry }) => entry.event.country).map(([country, count]) => ({
      country: country || null,
      visitors: count,
    })),
    referrers: by(({ entry }) => entry.event.referrerName).map(([referrer, count]) => ({
      referrer: referrer || null,
      visitors: count,
    })),
    minutes: Array.from({ length: LIVE_MINUTES }, (_, index) => {
      const fromMs = endMs - (LIVE_MINUTES - index) * MINUTE_MS;
      const happened = model.rows.filter(
        (row) => !row.isSynthetic && isIn({ fromMs, toMs: fromMs + MINUTE_MS }, row.atMs),
      );
      return {
        date: `${model.calendar.wallOf(fromMs)}:00`,
        visitors: visitorsOf(happened),
        screen_views: happened.filter(({ isView }) => isView).length,
      };
    }),
  };
}

/** The names with most visitors. */
function top(sessions: readonly Session[], nameOf: (session: Session) => string): [string, number][] {
  const counts = groupsOf(sessions, (session) => [nameOf(session)]).map(
    ({ key: [name = ''], members }): [string, number] => [name, visitorsOf(members)],
  );
  return counts.sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1)).slice(0, TOP);
}
