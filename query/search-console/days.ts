import { must } from '../../infra/assert.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { pacificTime } from '../../processor/search-console.ts';
import { RejectError } from '../reject.ts';
import { bucketsOf, type Interval, intervalFor } from '../time/buckets.ts';
import { type RangeName, rangeOf, type Span } from '../time/range.ts';
import { Zone } from '../time/zone.ts';
import type { DAY_INTERVALS } from './search-console-api.ts';

/**
 * The Search Console's days are in Pacific time, and its rows have dates and no times. So a range is resolved on the clock of
 * Pacific time as if this were UTC, where every day has 24 hours and equals its date.
 */
const DATES = must(Zone.of('UTC'), 'every runtime knows UTC');
/** The range of the column of dates. */
const FIRST_DATE = '1970-01-01';
const LAST_DATE = '2149-06-06';

export type DayInterval = (typeof DAY_INTERVALS)[number];

/** Dates, both included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

/** The requested days, the days before them, and the buckets that tile them. */
export interface DayRange {
  readonly days: Days;
  readonly previous: Days;
  readonly interval: DayInterval;
  readonly buckets: readonly DayBucket[];
}

interface DayBucket {
  /** The first day of the bucket that is in the range. */
  readonly from: string;
  /** The first day of its week or month. */
  readonly label: string;
}

interface DayQuestion {
  readonly range?: RangeName | undefined;
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly interval?: DayInterval | undefined;
}

/**
 * Returns the requested days at `nowMs`. A range shorter than a day covers the days that it touches, and is compared with as many
 * days before them.
 * @throws {RejectError} 400 when the parameters name no range, or one with too many buckets
 */
export function dayRange(question: DayQuestion, nowMs: number): DayRange {
  const range = rangeOf({ ...question, interval: 'month' }, pacificTime(nowMs), DATES);
  if ('kind' in range) throw new RejectError('invalid', range.message);
  const span = wholeDays(range.span);
  const isWhole = span.fromMs === range.span.fromMs && span.toMs === range.span.toMs;
  const lengthMs = span.toMs - span.fromMs;
  const before = { fromMs: span.fromMs - lengthMs, toMs: span.fromMs };
  const interval = question.interval ?? defaultInterval(lengthMs);
  const buckets = bucketsOf(span, interval, DATES);
  if (buckets === undefined)
    throw new RejectError(
      'invalid',
      `interval: the range has too many buckets of one ${interval}; choose a longer interval`,
    );
  return {
    days: datesOf(span),
    previous: datesOf(isWhole ? range.previous : before),
    interval,
    buckets: buckets.map(({ fromMs, label }) => ({ from: dateOf(fromMs), label })),
  };
}

/** The days as bound by the statements, within the column's range. Without such days: an empty range. */
export function boundDays({ from, to }: Days): Days {
  if (to < FIRST_DATE || from > LAST_DATE) return { from: LAST_DATE, to: FIRST_DATE };
  return { from: from < FIRST_DATE ? FIRST_DATE : from, to: to > LAST_DATE ? LAST_DATE : to };
}

function wholeDays({ fromMs, toMs }: Span): Span {
  return { fromMs: Math.floor(fromMs / DAY_MS) * DAY_MS, toMs: Math.ceil(toMs / DAY_MS) * DAY_MS };
}

function datesOf({ fromMs, toMs }: Span): Days {
  return { from: dateOf(fromMs), to: dateOf(toMs - DAY_MS) };
}

function dateOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

function defaultInterval(lengthMs: number): DayInterval {
  const interval: Interval = intervalFor(lengthMs);
  return interval === 'minute' || interval === 'hour' ? 'day' : interval;
}
