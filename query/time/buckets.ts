import type { WallMs, Zone } from './zone.ts';

/** Widths of the buckets of a series. Weeks begin on Monday. */
export const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
// 1970-01-05 was a Monday.
const FIRST_MONDAY_MS = 4 * DAY_MS;
/** The most buckets of a series: a little more than two days of minutes. */
export const BUCKETS_MAX = 3_000;

/** One bucket of a series: from `fromMs` until the next one begins. */
export interface Bucket {
  readonly fromMs: number;
  /** What the site's clocks show at the start of the bucket's unit. */
  readonly label: string;
}

/** The default interval for a span of this length on the wall clock. */
export function intervalFor(spanMs: number): Interval {
  if (spanMs <= 2 * HOUR_MS) return 'minute';
  if (spanMs <= 2 * DAY_MS) return 'hour';
  if (spanMs <= 92 * DAY_MS) return 'day';
  if (spanMs <= 186 * DAY_MS) return 'week';
  return 'month';
}

/**
 * The buckets that tile [fromMs, toMs). The first and the last are cut where they reach beyond it. Undefined when there
 * would be more than `BUCKETS_MAX`.
 */
export function bucketsOf(
  span: { readonly fromMs: number; readonly toMs: number },
  interval: Interval,
  zone: Zone,
): readonly Bucket[] | undefined {
  const buckets: Bucket[] = [];
  let fromMs = span.fromMs;
  let begin = floorTo(fromMs, interval, zone);
  while (fromMs < span.toMs) {
    if (buckets.length === BUCKETS_MAX) return undefined;
    buckets.push({ fromMs, label: labelOf(zone.wallMs(begin), interval) });
    fromMs = nextAfter(begin, interval, zone);
    begin = fromMs;
  }
  return buckets;
}

/** The start of the unit that holds `atMs`. */
export function floorTo(atMs: number, interval: Interval, zone: Zone): number {
  if (interval === 'minute') return Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  if (interval === 'hour') return floorHour(atMs, zone);
  return zone.instantOf(floorDate(zone.wallMs(atMs), interval));
}

/** The start of the unit after the one that starts at `beginMs`. */
export function nextAfter(beginMs: number, interval: Interval, zone: Zone): number {
  if (interval === 'minute') return beginMs + MINUTE_MS;
  if (interval === 'hour') return nextHour(beginMs, zone);
  // A day whose midnight the clock skips starts at the jump, when the wall clock is past midnight.
  const date = floorDate(zone.wallMs(beginMs), interval);
  return zone.instantOf(nextDate(date, interval));
}

/** A bucket's label: a date for days and longer, a date and a time below. */
export function labelOf(wall: WallMs, interval: Interval): string {
  const text = new Date(wall).toISOString();
  if (interval === 'minute' || interval === 'hour') return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
  return new Date(floorDate(wall, interval)).toISOString().slice(0, 10);
}

function floorDate(wall: WallMs, interval: 'day' | 'week' | 'month'): WallMs {
  const day = Math.floor(wall / DAY_MS) * DAY_MS;
  if (interval === 'day') return day;
  if (interval === 'week')
    return FIRST_MONDAY_MS + Math.floor((day - FIRST_MONDAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS;
  const date = new Date(day);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

function nextDate(date: WallMs, interval: 'day' | 'week' | 'month'): WallMs {
  if (interval === 'day') return date + DAY_MS;
  if (interval === 'week') return date + 7 * DAY_MS;
  const first = new Date(date);
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1);
}

/**
 * The start of the hour on the wall clock. Where clocks jump by half an hour (Lord Howe), one step back or forth does
 * not reach a full hour, but two do: the hour of the jump then takes 90 minutes.
 */
function floorHour(atMs: number, zone: Zone): number {
  const once = atMs - modulo(zone.wallMs(atMs), HOUR_MS);
  return once - modulo(zone.wallMs(once), HOUR_MS);
}

function nextHour(beginMs: number, zone: Zone): number {
  const once = beginMs + HOUR_MS - modulo(zone.wallMs(beginMs), HOUR_MS);
  const over = modulo(zone.wallMs(once), HOUR_MS);
  return over === 0 ? once : once + HOUR_MS - over;
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
