import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { rollupSpans } from '../rollups/rollup-spans.ts';
import { type ListSources, listRange, listSeam } from '../snapshot/list-question.ts';
import type { Asked } from '../snapshot/question.ts';
import { type Bucket, bucketsOf, floorTo, nextAfter } from '../time/buckets.ts';
import type { Span } from '../time/range.ts';
import {
  ACTIVE_DAYS_MAX,
  type ActiveUsersAnswer,
  type ActiveUsersQuery,
  activeUsersAnswer,
  activeUsersQuery,
} from './active-users-api.ts';

const DAY_MS = 86_400_000;
const DAYS_ASKED = 30;
const WEEK_DAYS = 7;
const MONTH_DAYS = 30;
/** A day behind all others, on which visitors come again who do not come again. */
const NEVER = 65_535;

/** Of the visitors of a day, counted from 1, those who came again after so many days: `MONTH_DAYS` for more and never. */
export interface VisitRow {
  readonly day: number;
  readonly daysUntilNext: number;
  readonly visitors: number;
}

/** `GET /insights/{projectId}/active_users` */
export function activeUsersInsight(sources: ListSources): Insight<ActiveUsersQuery> {
  return {
    path: 'active_users',
    about: { summary: 'Daily, weekly and monthly visitors of each day', answer: activeUsersAnswer },
    schema: activeUsersQuery,
    answer: (asked, query) => answerActiveUsers(sources, asked, query),
  };
}

/** Daily, weekly and monthly visitors of each day, exactly: those of the events that the filters leave. */
export async function answerActiveUsers(
  sources: ListSources,
  asked: Asked,
  query: ActiveUsersQuery,
): Promise<ActiveUsersAnswer> {
  const span = daysAsked(query, asked);
  const days = daysFor(span, asked);
  const counted = { fromMs: days[0]?.fromMs ?? span.fromMs, toMs: span.toMs };
  const conditions = insightConditions(query.filters, { span: counted });
  const seam = await listSeam(sources, asked, query);
  const edges = days.map(({ fromMs }) => fromMs);
  const question = { projectId: asked.site.storedId, spans: [counted], edges, hoursFromMs: 0, days: false };
  const sums = query.filters.length > 0 ? undefined : await rollupSpans(sources.history, question, seam);
  const rows = await sources.history.ask<VisitRow>(
    sums === undefined ? 'active-users' : 'active-users-rollup',
    {
      ...conditions.parameters,
      ...sums,
      site: asked.site.storedId,
      from: counted.fromMs,
      to: counted.toMs,
      edges,
      synthetic: [SESSION_START, SESSION_END],
      windowMax: MONTH_DAYS,
      never: NEVER,
    },
    seam,
    conditions,
  );
  const figures = activeUsersOf(days, rows);
  return figures.slice(days.findIndex(({ fromMs }) => fromMs >= span.fromMs));
}

/**
 * A visitor is in the windows that end on the day of the visit and on the days after it, until the window has passed
 * or the visitor comes again, which is the next visit's to count. So every visitor is in each window once:
 *
 *     day            1   2   3   4   5   6   7   8   9  10  11
 *     visits         x       x
 *     in a window    ├──────▶├──────────────────────────▶          of 7 days
 */
export function activeUsersOf(
  days: readonly Pick<Bucket, 'label'>[],
  rows: readonly VisitRow[],
): ActiveUsersAnswer {
  const changes = days.map(() => ({ dau: 0, wau: 0, mau: 0 }));
  const add = (window: 'dau' | 'wau' | 'mau', day: number, visitors: number) => {
    const change = changes[day - 1];
    if (change !== undefined) change[window] += visitors;
  };
  for (const { day, daysUntilNext, visitors } of rows) {
    add('dau', day, visitors);
    add('wau', day, visitors);
    add('mau', day, visitors);
    add('wau', day + Math.min(daysUntilNext, WEEK_DAYS), -visitors);
    add('mau', day + Math.min(daysUntilNext, MONTH_DAYS), -visitors);
  }
  let wau = 0;
  let mau = 0;
  return changes.map((change, index) => {
    wau += change.wau;
    mau += change.mau;
    return { date: days[index]?.label ?? '', dau: change.dau, wau, mau };
  });
}

/** Whole days of the site's zone: those asked for, or those that a range touches. */
function daysAsked(query: ActiveUsersQuery, asked: Asked): Span {
  const { zone, nowMs } = asked;
  const isRange = query.range !== undefined || query.startDate !== undefined || query.endDate !== undefined;
  if (isRange) {
    if (query.days !== undefined) {
      throw new RejectError('invalid', 'days: it contradicts range, startDate and endDate');
    }
    const { fromMs, toMs } = listRange(query, asked).span;
    return {
      fromMs: floorTo(fromMs, 'day', zone),
      toMs: nextAfter(floorTo(toMs - 1, 'day', zone), 'day', zone),
    };
  }
  const todayMs = floorTo(nowMs, 'day', zone);
  const days = query.days ?? DAYS_ASKED;
  return { fromMs: daysBefore(todayMs, days - 1, asked), toMs: nextAfter(todayMs, 'day', zone) };
}

/** The days of a span and those before it which its windows reach back to. */
function daysFor(span: Span, asked: Asked): readonly Bucket[] {
  // One day more than the windows need: a zone that crosses the date line leaves one out.
  const leadMs = daysBefore(span.fromMs, MONTH_DAYS, asked);
  const days = bucketsOf({ fromMs: leadMs, toMs: span.toMs }, 'day', asked.zone);
  const daysShown = days?.filter(({ fromMs }) => fromMs >= span.fromMs).length;
  if (days === undefined || daysShown === undefined || daysShown > ACTIVE_DAYS_MAX) {
    throw new RejectError('invalid', `range: at most ${ACTIVE_DAYS_MAX} days are answered`);
  }
  return days;
}

/** Where the day begins that lies so many days before the one that begins at `dayMs`. */
function daysBefore(dayMs: number, days: number, { zone }: Pick<Asked, 'zone'>): number {
  const wall = zone.wallMs(dayMs);
  return zone.instantOf(Math.floor(wall / DAY_MS) * DAY_MS - days * DAY_MS);
}
