import { DAY_MS } from '../../infra/durations.ts';
import type { Insight } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import type { VisitRow } from '../rollups/finalized-visits.ts';
import { type QuestionScope, requestedRange, type SeamSources } from '../snapshot/question.ts';
import { type Bucket, bucketsOf, floorTo, nextAfter } from '../time/buckets.ts';
import { isRange, type Span } from '../time/range.ts';
import {
  ACTIVE_DAYS_MAX,
  type ActiveUsersAnswer,
  type ActiveUsersQuery,
  activeUsersAnswer,
  activeUsersQuery,
} from './active-users-api.ts';
import { askVisits } from './visits.ts';

const DAYS_DEFAULT = 30;
const WEEK_DAYS = 7;
const MONTH_DAYS = 30;

/** `GET /insights/{projectId}/active_users` */
export function activeUsersInsight(
  sources: SeamSources,
  visits = new AnswerCaches().visits,
): Insight<ActiveUsersQuery> {
  return {
    path: 'active_users',
    isShared: true,
    about: {
      summary: 'Daily, weekly and monthly visitors of each day',
      description:
        'One row per day in the time zone of the site. Counts are exact; a visitor counts once in each window. A bare array has no place for references: `GET /insights/{projectId}/references` has those of the range.',
      answer: activeUsersAnswer,
    },
    schema: activeUsersQuery,
    answer: (asked, query) => answerActiveUsers(sources, asked, query, visits),
  };
}

/** Exact daily, weekly and monthly visitors of each day, from the events that match the filters. */
export async function answerActiveUsers(
  sources: SeamSources,
  scope: QuestionScope,
  query: ActiveUsersQuery,
  visits = new AnswerCaches().visits,
): Promise<ActiveUsersAnswer> {
  const requested = requestedDays(query, scope);
  const days = countedDays(requested, scope);
  const rows = await askVisits(sources, scope, query, {
    span: { fromMs: days[0]?.fromMs ?? requested.fromMs, toMs: requested.toMs },
    windows: { edges: days.map(({ fromMs }) => fromMs), windowMax: MONTH_DAYS },
    visits,
  });
  const figures = activeUsersOf(days, rows);
  return figures.slice(days.findIndex(({ fromMs }) => fromMs >= requested.fromMs));
}

/**
 * A visitor counts in the windows that end on the day of a visit and on later days, until the window has passed or the
 * visitor returns: then the next visit counts. So each visitor is in each window once:
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

/** Whole days in the site's zone: the requested days, or the days that the requested range touches. */
function requestedDays(query: ActiveUsersQuery, scope: QuestionScope): Span {
  const { zone, nowMs } = scope;
  if (isRange(query)) {
    if (query.days !== undefined) {
      throw new RejectError('invalid', 'days: it cannot be combined with range, startDate or endDate');
    }
    const { fromMs, toMs } = requestedRange(query, scope).span;
    return {
      fromMs: floorTo(fromMs, 'day', zone),
      toMs: nextAfter(floorTo(toMs - 1, 'day', zone), 'day', zone),
    };
  }
  const todayMs = floorTo(nowMs, 'day', zone);
  const days = query.days ?? DAYS_DEFAULT;
  return { fromMs: daysBefore(todayMs, days - 1, scope), toMs: nextAfter(todayMs, 'day', zone) };
}

/** The days of a span, and the earlier days in its windows. */
function countedDays(span: Span, scope: QuestionScope): readonly Bucket[] {
  // One day more than the windows need, because a zone that crosses the date line skips a day.
  const leadMs = daysBefore(span.fromMs, MONTH_DAYS, scope);
  const days = bucketsOf({ fromMs: leadMs, toMs: span.toMs }, 'day', scope.zone);
  const daysShown = days?.filter(({ fromMs }) => fromMs >= span.fromMs).length;
  if (days === undefined || daysShown === undefined || daysShown > ACTIVE_DAYS_MAX) {
    throw new RejectError('invalid', `range: expected at most ${ACTIVE_DAYS_MAX} days`);
  }
  return days;
}

/** The start of the day `days` before the day that starts at `dayMs`. */
function daysBefore(dayMs: number, days: number, { zone }: Pick<QuestionScope, 'zone'>): number {
  const wall = zone.wallMs(dayMs);
  return zone.instantOf(Math.floor(wall / DAY_MS) * DAY_MS - days * DAY_MS);
}
