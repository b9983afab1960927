import type { Compare, Period } from './address.ts';

/** Days as `YYYY-MM-DD` in the site's time zone; both are included. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

const DAY_MS = 86_400_000;

/** Today in a time zone. */
export function todayIn(timezone: string, nowMs: number): string {
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
  return parts.format(nowMs);
}

/** The days of a period; undefined for one that does not begin with a day, such as the last hour. */
export function daysOf({ range, startDate, endDate }: Period, today: string): Days | undefined {
  const month = `${today.slice(0, 7)}-01`;
  const year = `${today.slice(0, 4)}-01-01`;
  switch (range) {
    case 'today':
      return { from: today, to: today };
    case 'yesterday':
      return { from: addDays(today, -1), to: addDays(today, -1) };
    case '7d':
      return { from: addDays(today, -6), to: today };
    case '30d':
      return { from: addDays(today, -29), to: today };
    case '3m':
    case '6m':
    case '12m':
      return { from: addDays(addMonths(today, -Number.parseInt(range, 10)), 1), to: today };
    case 'monthToDate':
      return { from: month, to: today };
    case 'lastMonth':
      return { from: addMonths(month, -1), to: addDays(month, -1) };
    case 'yearToDate':
      return { from: year, to: today };
    case 'lastYear':
      return { from: addMonths(year, -12), to: addDays(year, -1) };
    case 'custom':
      return startDate !== undefined && endDate !== undefined ? { from: startDate, to: endDate } : undefined;
    default:
      return undefined;
  }
}

/** The days that a period is compared with, as the service compares them; undefined where there are none. */
export function comparedDays(period: Period, compare: Compare, today: string): Days | undefined {
  const days = daysOf(period, today);
  if (days === undefined || compare === 'off') return undefined;
  if (compare === 'year') return { from: addMonths(days.from, -12), to: addMonths(days.to, -12) };
  const { from, to } = days;
  switch (period.range) {
    case '3m':
    case '6m':
    case '12m': {
      const months = 2 * Number.parseInt(period.range, 10);
      return { from: addDays(addMonths(today, -months), 1), to: addDays(from, -1) };
    }
    case 'monthToDate': {
      const before = addMonths(from, -1);
      const last = addDays(from, -1);
      const same = addDays(before, daysBetween(from, to));
      return { from: before, to: [same, last].sort()[0] ?? same };
    }
    case 'lastMonth':
      return { from: addMonths(from, -1), to: addDays(from, -1) };
    case 'yearToDate':
    case 'lastYear':
      return {
        from: addMonths(from, -12),
        to: period.range === 'lastYear' ? addDays(from, -1) : addMonths(to, -12),
      };
    default:
      return { from: addDays(from, -daysBetween(from, to) - 1), to: addDays(from, -1) };
  }
}

/** The period of the same length right before or after; undefined for one that does not begin with a day. */
export function neighbourOf(period: Period, direction: -1 | 1, today: string): Period | undefined {
  const days = daysOf(period, today);
  if (days === undefined) return undefined;
  const length = daysBetween(days.from, days.to) + 1;
  const [startDate, endDate] = [days.from, days.to].map((day) => addDays(day, direction * length));
  if (startDate === undefined || endDate === undefined || startDate > today) return undefined;
  return { range: 'custom', startDate, endDate: endDate > today ? today : endDate };
}

/** The day `count` days later. */
export function addDays(day: string, count: number): string {
  return dayOf(Date.parse(day) + count * DAY_MS);
}

function daysBetween(from: string, to: string): number {
  return Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS);
}

/** The same day of another month, or its last day if it has no such day. */
function addMonths(day: string, count: number): string {
  const date = new Date(day);
  const first = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count, 1);
  const last = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + count + 1, 0);
  return dayOf(Math.min(first + (date.getUTCDate() - 1) * DAY_MS, last));
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
