import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import { addDays, addMonths, type Calendar, type DateText, daysBetween, mondayOf } from './calendar.ts';

/** Spans of time as the contract describes them, looked up in a site's calendar. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Bucket extends Span {
  readonly label: string;
}

export const NAMED_RANGES = [
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
] as const;
export const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

/** Parameters of a question as they are sent. */
export type Parameters = Readonly<Record<string, string | readonly string[]>>;

export interface AskedRange {
  readonly span: Span;
  readonly previous: Span;
  readonly interval: Interval;
}

const BUCKETS_MAX = 3_000;

/** The range of a question asked at `nowMs`; 7d where it names none. */
export function rangeOf(parameters: Parameters, calendar: Calendar, nowMs: number): AskedRange {
  const { startDate, endDate } = parameters;
  const name = parameters.range ?? (startDate === undefined ? '7d' : 'custom');
  const { days, ...spans } =
    name === 'custom'
      ? custom(String(startDate), String(endDate), calendar)
      : named(String(name), calendar, nowMs);
  const lengthMs = days === undefined ? clockLengthMs(spans.span, calendar) : days * DAY_MS;
  const asked = INTERVALS.find((interval) => interval === parameters.interval);
  return { ...spans, interval: asked ?? usualInterval(lengthMs) };
}

interface Spans {
  readonly span: Span;
  readonly previous: Span;
  /** For spans of whole days. */
  readonly days?: number;
}

function named(name: string, calendar: Calendar, nowMs: number): Spans {
  const minuteEnd = (Math.floor(nowMs / MINUTE_MS) + 1) * MINUTE_MS;
  if (name === '30min') return before(minuteEnd, 30 * MINUTE_MS);
  if (name === 'lastHour') return before(minuteEnd, HOUR_MS);
  if (name === 'last24h') {
    const minutes = Number(calendar.wallOf(nowMs).slice(14, 16));
    return before(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS + (60 - minutes) * MINUTE_MS, DAY_MS);
  }
  const today = calendar.dateOf(nowMs);
  const tomorrow = addDays(today, 1);
  const month = `${today.slice(0, 7)}-01`;
  const year = `${today.slice(0, 4)}-01-01`;
  const days = (from: DateText, to: DateText, previousFrom: DateText, previousTo = from): Spans => ({
    span: { fromMs: calendar.beginOf(from), toMs: calendar.beginOf(to) },
    previous: { fromMs: calendar.beginOf(previousFrom), toMs: calendar.beginOf(previousTo) },
    days: daysBetween(from, to),
  });
  const lastDays = (to: DateText, count: number) => days(addDays(to, -count), to, addDays(to, -2 * count));
  const lastMonths = (count: number) =>
    days(addDays(addMonths(today, -count), 1), tomorrow, addDays(addMonths(today, -2 * count), 1));
  switch (name) {
    case 'today':
      return lastDays(tomorrow, 1);
    case 'yesterday':
      return lastDays(today, 1);
    case '7d':
      return lastDays(tomorrow, 7);
    case '30d':
      return lastDays(tomorrow, 30);
    case '3m':
      return lastMonths(3);
    case '6m':
      return lastMonths(6);
    case '12m':
      return lastMonths(12);
    case 'monthToDate': {
      const sameDays = addDays(addMonths(month, -1), daysBetween(month, tomorrow));
      return days(month, tomorrow, addMonths(month, -1), sameDays < month ? sameDays : month);
    }
    case 'lastMonth':
      return days(addMonths(month, -1), month, addMonths(month, -2));
    case 'yearToDate':
      return days(year, tomorrow, addMonths(year, -12), addDays(addMonths(today, -12), 1));
    case 'lastYear':
      return days(addMonths(year, -12), year, addMonths(year, -24));
    default:
      throw new Error(`no range ${name}`);
  }
}

function before(toMs: number, lengthMs: number): Spans {
  const fromMs = toMs - lengthMs;
  return { span: { fromMs, toMs }, previous: { fromMs: fromMs - lengthMs, toMs: fromMs } };
}

function custom(start: string, end: string, calendar: Calendar): Spans {
  const isDay = (text: string) => text.length === 10;
  const fromMs = isDay(start) ? calendar.beginOf(start) : instantOf(start, calendar);
  const toMs = isDay(end) ? calendar.beginOf(addDays(end, 1)) : instantOf(end, calendar);
  if (!isDay(start) || !isDay(end)) return before(toMs, toMs - fromMs);
  const days = daysBetween(start, end) + 1;
  return {
    span: { fromMs, toMs },
    previous: { fromMs: calendar.beginOf(addDays(start, -days)), toMs: fromMs },
    days,
  };
}

/** An instant with its zone, or the site's local time. */
function instantOf(text: string, calendar: Calendar): number {
  return /(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : calendar.firstAt(text.replace('T', ' '));
}

/** A day of 25 hours is one day; a day of 23 hours is not less than its hours. */
function clockLengthMs({ fromMs, toMs }: Span, calendar: Calendar): number {
  return Math.min(toMs - fromMs, toMs + calendar.aheadMs(toMs) - fromMs - calendar.aheadMs(fromMs));
}

function usualInterval(lengthMs: number): Interval {
  if (lengthMs <= 2 * HOUR_MS) return 'minute';
  if (lengthMs <= 2 * DAY_MS) return 'hour';
  if (lengthMs <= 92 * DAY_MS) return 'day';
  return lengthMs <= 186 * DAY_MS ? 'week' : 'month';
}

/** The buckets of a span, which cuts off the first and the last; undefined where there are too many. */
export function bucketsOf(
  { fromMs, toMs }: Span,
  interval: Interval,
  calendar: Calendar,
): Bucket[] | undefined {
  const begins: { key: string; label: string; fromMs: number }[] = [];
  const take = (atMs: number, key: string, label: string) => {
    if (begins.at(-1)?.key !== key) begins.push({ key, label, fromMs: Math.max(atMs, fromMs) });
  };
  if (interval === 'minute') {
    if ((toMs - fromMs) / MINUTE_MS > BUCKETS_MAX + 1) return undefined;
    const firstMs = Math.floor(fromMs / MINUTE_MS) * MINUTE_MS;
    for (let atMs = firstMs; atMs < toMs; atMs += MINUTE_MS)
      take(atMs, String(atMs), `${calendar.wallOf(atMs)}:00${repeatOf(atMs, calendar)}`);
  } else {
    for (const { atMs, date, time } of calendar.halfHoursOf(fromMs, toMs)) {
      const hour = `${date} ${time.slice(0, 2)}:00:00`;
      // An hour that occurs twice has the same name and another offset from UTC.
      if (interval === 'hour')
        take(atMs, `${hour} ${calendar.aheadMs(atMs)}`, hour + repeatOf(atMs, calendar));
      else take(atMs, unitOf(date, interval), unitOf(date, interval));
    }
  }
  if (begins.length > BUCKETS_MAX) return undefined;
  return begins.map(({ label, fromMs: beginMs }, index) => ({
    label,
    fromMs: beginMs,
    toMs: begins[index + 1]?.fromMs ?? toMs,
  }));
}

/** The offset from UTC of a local time that clocks showed before; otherwise empty. */
function repeatOf(atMs: number, calendar: Calendar): string {
  const wall = calendar.wallOf(atMs);
  if (calendar.wallOf(atMs - HOUR_MS) !== wall) return '';
  const minutes = calendar.aheadMs(atMs) / MINUTE_MS;
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

function unitOf(date: DateText, interval: 'day' | 'week' | 'month'): DateText {
  if (interval === 'day') return date;
  return interval === 'week' ? mondayOf(date) : `${date.slice(0, 7)}-01`;
}

export function isIn({ fromMs, toMs }: Span, atMs: number): boolean {
  return atMs >= fromMs && atMs < toMs;
}
