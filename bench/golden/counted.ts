import type { MetricsAnswer, MetricsFigures } from '../../query/api.ts';
import type { ActiveUsersAnswer } from '../../query/insights/active-users-api.ts';
import { addDays, type DateText, daysBetween } from './calendar.ts';
import type { AskedFilter } from './filters.ts';
import { heldRows, ratesOf, retainedSessions, type SiteModel, shown, visitorsOf } from './model.ts';
import { type AskedRange, bucketsOf, isIn, type Parameters, rangeOf, type Span } from './ranges.ts';
import { majorUnits, type Row, revenueOf, type Session } from './rows.ts';

const LIVE_MS = 300_000;
const MINUTE_MS = 60_000;
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
  const lastByDevice = new Map<string, Row>();
  for (const row of model.rows) {
    const { deviceId, sessionId } = row.event;
    if (sessionId === '' || row.isSynthetic || Math.floor(row.atMs / 1000) <= floorSecond) continue;
    const known = lastByDevice.get(deviceId);
    if (known === undefined || row.atMs > known.atMs) lastByDevice.set(deviceId, row);
  }
  if (!isDetailed) return { visitors: lastByDevice.size };
  const sessions = [...lastByDevice.values()].flatMap(
    ({ event }) => model.sessionById.get(event.sessionId) ?? [],
  );
  const endMs = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
  return {
    visitors: lastByDevice.size,
    pages: top(sessions.map(({ exit }) => exit.event.path)).map(([path, visitors]) => ({ path, visitors })),
    countries: top(sessions.map(({ entry }) => entry.event.country)).map(([country, visitors]) => ({
      country: country || null,
      visitors,
    })),
    referrers: top(sessions.map(({ entry }) => entry.event.referrerName)).map(([referrer, visitors]) => ({
      referrer: referrer || null,
      visitors,
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

function top(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1)).slice(0, TOP);
}
