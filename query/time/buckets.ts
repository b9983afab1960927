import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import type { WallMs, Zone } from './zone.ts';

/** Widths of the buckets of a series. Weeks begin on Monday. */
export const INTERVALS = ['minute', 'hour', 'day', 'week', 'month'] as const;
export type Interval = (typeof INTERVALS)[number];

// 1970-01-05 was a Monday.
const FIRST_MONDAY_MS = 4 * DAY_MS;
/** Maximum number of buckets: a little more than two days of minutes. */
export const BUCKETS_MAX = 3_000;

/** One bucket of a series: from `fromMs` until the next one begins. */
export interface Bucket {
  readonly fromMs: number;
  /** The site's local time at the start of the bucket's unit; see `labelOf`. Unique among buckets. */
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

/** The buckets that tile [fromMs, toMs), with the first and the last cut to it. Undefined for more than `BUCKETS_MAX`. */
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
    buckets.push({ fromMs, label: labelOf(begin, interval, zone) });
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

/** The start of the unit `units` before the one that starts at `beginMs`. */
export function startBefore(beginMs: number, units: number, interval: Interval, zone: Zone): number {
  let startMs = beginMs;
  for (let count = 0; count < units; count += 1) startMs = floorTo(startMs - 1, interval, zone);
  return startMs;
}

/**
 * The label of the unit that starts at `beginMs`: a date for days and longer units, else a date and a time. When the
 * clocks show this time for the second time, its offset from UTC follows, as in `2026-10-25 02:00:00+01:00`. So
 * `pointOf` reads every label as the start of its unit.
 */
export function labelOf(beginMs: number, interval: Interval, zone: Zone): string {
  const wall = zone.wallMs(beginMs);
  if (interval !== 'minute' && interval !== 'hour')
    return new Date(floorDate(wall, interval)).toISOString().slice(0, 10);
  const text = new Date(wall).toISOString();
  const offset = zone.instantOf(wall) < beginMs ? offsetText(zone.offsetMs(beginMs)) : '';
  return `${text.slice(0, 10)} ${text.slice(11, 19)}${offset}`;
}

function offsetText(offsetMs: number): string {
  const minutes = Math.floor(Math.abs(offsetMs) / MINUTE_MS);
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0'));
  return `${offsetMs < 0 ? '-' : '+'}${hours}:${rest}`;
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
 * The start of the hour on the wall clock: a full hour, or a jump from another hour into the middle of this one. Where
 * clocks jump by half an hour (Lord Howe), an hour takes 90 minutes if they go back within it, and 30 if they skip its
 * first half.
 */
function floorHour(atMs: number, zone: Zone): number {
  const wall = zone.wallMs(atMs);
  const hour = wall - modulo(wall, HOUR_MS);
  const beginMs = atMs - (wall - hour);
  if (zone.wallMs(beginMs) === hour) return beginMs;
  const jumpMs = zone.changeBetween(beginMs, atMs);
  return entersHour(jumpMs, zone) ? jumpMs : zone.instantOf(hour);
}

function nextHour(beginMs: number, zone: Zone): number {
  const nextMs = beginMs + HOUR_MS - modulo(zone.wallMs(beginMs), HOUR_MS);
  if (zone.offsetMs(nextMs) === zone.offsetMs(beginMs)) return nextMs;
  const jumpMs = zone.changeBetween(beginMs, nextMs);
  return entersHour(jumpMs, zone) ? jumpMs : jumpMs + HOUR_MS - modulo(zone.wallMs(jumpMs), HOUR_MS);
}

/** True if an hour begins with this jump: at its full hour, or with another hour before the jump. */
function entersHour(jumpMs: number, zone: Zone): boolean {
  const [before, after] = [zone.wallMs(jumpMs - 1), zone.wallMs(jumpMs)];
  return modulo(after, HOUR_MS) === 0 || Math.floor(before / HOUR_MS) !== Math.floor(after / HOUR_MS);
}

function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
