import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import { type Bucket, bucketsOf, floorTo, type Interval, intervalFor, nextAfter } from './buckets.ts';
import type { WallMs, Zone } from './zone.ts';

/** The named ranges; `custom` has two dates. */
export const RANGES = [
  '30min',
  'lastHour',
  'last24h',
  'today',
  'yesterday',
  '7d',
  '30d',
  '3m',
  '6m',
  '12m',
  'monthToDate',
  'lastMonth',
  'yearToDate',
  'lastYear',
  'custom',
] as const;
export type RangeName = (typeof RANGES)[number];

// The years that the store can represent, less one for the previous span.
const FIRST_YEAR = 1902;
const LAST_YEAR = 2298;

/** From `fromMs` up to but not including `toMs`. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A requested span, the previous span to compare with, and the buckets that tile it. */
export interface Range {
  readonly name: RangeName;
  readonly span: Span;
  readonly previous: Span;
  readonly interval: Interval;
  readonly buckets: readonly Bucket[];
}

export interface RangeQuestion {
  readonly range?: RangeName | undefined;
  readonly startDate?: string | undefined;
  readonly endDate?: string | undefined;
  readonly interval?: Interval | undefined;
}

/** True if a question names its range. */
export function isRange({ range, startDate, endDate }: RangeQuestion): boolean {
  return range !== undefined || startDate !== undefined || endDate !== undefined;
}

/** The reason why a range is invalid, in words for the client. */
export interface RangeReject {
  readonly kind: 'reject';
  readonly message: string;
}

/**
 * The requested range in the site's time zone at `nowMs`:
 *
 *     30min, lastHour        the 30 or 60 whole minutes up to and with the current one
 *     last24h                the 24 whole hours up to and with the current one
 *     today, 7d, 30d         as many whole days up to and with today
 *     3m, 6m, 12m            from the day after the same date as many months ago, up to and with today
 *     monthToDate, yearToDate, lastMonth, lastYear, yesterday     the days of the unit
 *     custom                 from `startDate` to the end of day `endDate`; an instant as end is excluded
 *
 * `previous` has the same length and ends where the range begins: as many days for days, as many months or years for
 * months and years; for a unit to date, the same days of the unit before.
 */
export function rangeOf(question: RangeQuestion, nowMs: number, zone: Zone): Range | RangeReject {
  const { startDate, endDate } = question;
  const dated = startDate !== undefined || endDate !== undefined;
  const name = question.range ?? (dated ? 'custom' : '7d');
  if (dated && name !== 'custom') {
    return reject(`range: ${name} cannot be combined with startDate and endDate; omit it or use custom`);
  }
  const spans = name === 'custom' ? customSpans(startDate, endDate, zone) : namedSpans(name, nowMs, zone);
  if ('kind' in spans) return spans;
  const { span, previous } = spans;
  const interval = question.interval ?? intervalFor(daysLengthMs(span, zone));
  const buckets = bucketsOf(span, interval, zone);
  if (buckets === undefined)
    return reject(`interval: the range has too many buckets of one ${interval}; choose a longer interval`);
  return { name, span, previous, interval, buckets };
}

type Spans = Pick<Range, 'span' | 'previous'>;

function namedSpans(name: Exclude<RangeName, 'custom'>, nowMs: number, zone: Zone): Spans {
  const minuteEnd = floorTo(nowMs, 'minute', zone) + MINUTE_MS;
  if (name === '30min') return lengthBefore(minuteEnd, 30 * MINUTE_MS);
  if (name === 'lastHour') return lengthBefore(minuteEnd, HOUR_MS);
  if (name === 'last24h') {
    return lengthBefore(nextAfter(floorTo(nowMs, 'hour', zone), 'hour', zone), DAY_MS);
  }
  const dates = datesOf(name, floorDay(zone.wallMs(nowMs)));
  return {
    span: spanOf(dates.from, dates.to, zone),
    previous: spanOf(dates.previousFrom, dates.previousTo, zone),
  };
}

interface Dates {
  readonly from: WallMs;
  readonly to: WallMs;
  readonly previousFrom: WallMs;
  readonly previousTo: WallMs;
}

/** The days of a range as midnights of the wall clock. Without a zone, every day has 24 hours. */
function datesOf(
  name: Exclude<RangeName, 'custom' | '30min' | 'lastHour' | 'last24h'>,
  today: WallMs,
): Dates {
  const tomorrow = today + DAY_MS;
  const month = addMonths(today, 0, 1);
  const year = Date.UTC(new Date(today).getUTCFullYear(), 0, 1);
  switch (name) {
    case 'today':
      return daysBefore(tomorrow, 1);
    case 'yesterday':
      return daysBefore(today, 1);
    case '7d':
      return daysBefore(tomorrow, 7);
    case '30d':
      return daysBefore(tomorrow, 30);
    case '3m':
      return monthsBefore(today, 3);
    case '6m':
      return monthsBefore(today, 6);
    case '12m':
      return monthsBefore(today, 12);
    case 'monthToDate':
      return toDate(month, addMonths(month, -1), tomorrow);
    case 'lastMonth':
      return wholeUnits(addMonths(month, -2), addMonths(month, -1), month);
    case 'yearToDate':
      return yearToDate(year, today);
    case 'lastYear':
      return wholeUnits(addMonths(year, -24), addMonths(year, -12), year);
  }
}

function daysBefore(to: WallMs, days: number): Dates {
  return wholeUnits(to - 2 * days * DAY_MS, to - days * DAY_MS, to);
}

function monthsBefore(today: WallMs, months: number): Dates {
  const from = addMonths(today, -months) + DAY_MS;
  return wholeUnits(addMonths(today, -2 * months) + DAY_MS, from, today + DAY_MS);
}

function wholeUnits(previousFrom: WallMs, from: WallMs, to: WallMs): Dates {
  return { from, to, previousFrom, previousTo: from };
}

/** The same number of days in the previous unit, but not more than it has. */
function toDate(from: WallMs, previousFrom: WallMs, to: WallMs): Dates {
  return { from, to, previousFrom, previousTo: Math.min(previousFrom + (to - from), from) };
}

/** Up to the same date of the year before, so that a leap day shifts nothing. */
function yearToDate(year: WallMs, today: WallMs): Dates {
  const previousTo = addMonths(today, -12) + DAY_MS;
  return { from: year, to: today + DAY_MS, previousFrom: addMonths(year, -12), previousTo };
}

/** The same day `months` later, or the last day of a shorter month; with `day`, that day of the month. */
function addMonths(date: WallMs, months: number, day?: number): WallMs {
  const from = new Date(date);
  const first = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months, 1);
  const last = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + months + 1, 0);
  return Math.min(first + ((day ?? from.getUTCDate()) - 1) * DAY_MS, last);
}

function customSpans(
  startDate: string | undefined,
  endDate: string | undefined,
  zone: Zone,
): Spans | RangeReject {
  if (startDate === undefined) return reject('startDate: required for a custom range');
  if (endDate === undefined) return reject('endDate: required for a custom range');
  const start = pointOf(startDate, zone);
  if (start === undefined) return reject(`startDate: ${notATime(startDate)}`);
  const end = pointOf(endDate, zone);
  if (end === undefined) return reject(`endDate: ${notATime(endDate)}`);
  const span = { fromMs: start.fromMs, toMs: end.toMs };
  if (span.fromMs >= span.toMs) return reject('endDate: expected a time after startDate');
  if (!start.isDay || !end.isDay) return lengthBefore(span.toMs, span.toMs - span.fromMs);
  const from = floorDay(zone.wallMs(span.fromMs));
  const to = floorDay(zone.wallMs(span.toMs));
  return { span, previous: spanOf(from - (to - from), from, zone) };
}

/** A day or an instant in a parameter: its start and its end. */
export interface TimePoint extends Span {
  readonly isDay: boolean;
}

/**
 * Reads `2026-03-01`, or a date and a time; a time without zone is in the site's zone. Undefined when it is neither.
 */
export function pointOf(text: string, zone: Zone): TimePoint | undefined {
  const match =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:?\d\d)?)?$/i.exec(
      text,
    );
  if (match === null) return undefined;
  const [year, month, day, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const wall = Date.UTC(
    year ?? 0,
    (month ?? 0) - 1,
    day,
    hour,
    minute,
    second,
    Number((match[7] ?? '').padEnd(3, '0').slice(0, 3)),
  );
  if (new Date(wall).getUTCDate() !== day || new Date(wall).getUTCMonth() + 1 !== month) return undefined;
  if ((year ?? 0) < FIRST_YEAR || (year ?? 0) > LAST_YEAR || hour > 23 || minute > 59 || second > 59)
    return undefined;
  if (match[4] === undefined) return { ...spanOf(wall, wall + DAY_MS, zone), isDay: true };
  const atMs = match[8] === undefined ? zone.instantOf(wall) : wall - offsetOf(match[8]);
  return { fromMs: atMs, toMs: atMs, isDay: false };
}

function offsetOf(text: string): number {
  if (text.toUpperCase() === 'Z') return 0;
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2));
  return (text.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}

/**
 * The length that decides the interval of a span. Two days count as two days if a clock goes back in them (by the wall
 * clock), and if the next day begins with a jump (by real time).
 */
function daysLengthMs({ fromMs, toMs }: Span, zone: Zone): number {
  return Math.min(toMs - fromMs, zone.wallMs(toMs) - zone.wallMs(fromMs));
}

function lengthBefore(toMs: number, lengthMs: number): Spans {
  const fromMs = toMs - lengthMs;
  return { span: { fromMs, toMs }, previous: { fromMs: fromMs - lengthMs, toMs: fromMs } };
}

function spanOf(from: WallMs, to: WallMs, zone: Zone): Span {
  return { fromMs: zone.instantOf(from), toMs: zone.instantOf(to) };
}

function floorDay(wall: WallMs): WallMs {
  return Math.floor(wall / DAY_MS) * DAY_MS;
}

function notATime(text: string): string {
  return `expected YYYY-MM-DD or an ISO time from ${FIRST_YEAR} to ${LAST_YEAR}, got ${JSON.stringify(text.slice(0, 40))}`;
}

function reject(message: string): RangeReject {
  return { kind: 'reject', message };
}
