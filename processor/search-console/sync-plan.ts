import { addDays, type Connection, daysBetween, type Sync, searchDayAt } from '../search-console.ts';

/**
 * The schedule of the days to fetch, derived only from the record.
 *
 *     │◀──────────────── 16 months ────────────────▶│
 *     backfill.from ◀── a day at a time ── backfill.to │ window: at every interval │ today
 *                       newest first                   settledThrough ─▶ lastDay
 */
const BACKFILL_MONTHS = 16;
/** The newest days, which are fetched again at every interval, because their figures settle late. */
export const WINDOW_DAYS = 3;
/** Days that Google calls incomplete are fetched again for longer, up to this many. */
const WINDOW_DAYS_MAX = 10;

export type DueWork =
  /** The newest days, oldest first. */
  | { readonly kind: 'window'; readonly days: readonly string[] }
  | { readonly kind: 'backfill'; readonly day: string }
  | { readonly kind: 'wait'; readonly untilMs: number };

/** The record of a connection before anything is fetched. Tests set `backfillDays` for a shorter backfill. */
export function firstSync(
  { siteUrl, updatedAt }: Pick<Connection, 'siteUrl' | 'updatedAt'>,
  { nowMs, backfillDays }: { readonly nowMs: number; readonly backfillDays: number | undefined },
): Sync {
  const today = searchDayAt(nowMs);
  const to = addDays(today, -WINDOW_DAYS - 1);
  const from =
    backfillDays === undefined ? monthsBefore(today, BACKFILL_MONTHS) : addDays(to, 1 - backfillDays);
  return {
    version: 1,
    siteUrl,
    triedAs: updatedAt,
    backfill: { from, to, daysDone: 0, daysTotal: daysBetween(from, to) + 1 },
    settledThrough: to,
    lastDay: null,
    lastSyncedAt: null,
    rows: 0,
    failure: null,
  };
}

/** The work to be done now. A connection that was changed since it failed is tried immediately. */
export function dueWork(
  sync: Sync,
  { updatedAt }: Pick<Connection, 'updatedAt'>,
  { nowMs, intervalMs }: { readonly nowMs: number; readonly intervalMs: number },
): DueWork {
  const { failure, triedAs, lastSyncedAt, settledThrough, backfill } = sync;
  const nextTryMs = failure === null ? 0 : Date.parse(failure.nextTryAt);
  if (triedAs === updatedAt && nextTryMs > nowMs) return { kind: 'wait', untilMs: nextTryMs };
  const dueMs = lastSyncedAt === null ? 0 : Date.parse(lastSyncedAt) + intervalMs;
  if (dueMs <= nowMs) return { kind: 'window', days: daysAfter(settledThrough, yesterdayAt(nowMs)) };
  if (backfill.daysDone < backfill.daysTotal)
    return { kind: 'backfill', day: addDays(backfill.to, -backfill.daysDone) };
  return { kind: 'wait', untilMs: dueMs };
}

/** The last of the days of a window that will not change any more. */
export function settledDay(
  { settledThrough }: Pick<Sync, 'settledThrough'>,
  { nowMs, firstIncomplete }: { readonly nowMs: number; readonly firstIncomplete: string | undefined },
): string {
  const yesterday = yesterdayAt(nowMs);
  const usual = addDays(yesterday, -WINDOW_DAYS);
  const complete = firstIncomplete === undefined ? usual : addDays(firstIncomplete, -1);
  const longest = addDays(yesterday, -WINDOW_DAYS_MAX);
  const settled = later(earlier(usual, complete), longest);
  return later(settledThrough, settled);
}

function daysAfter(day: string, last: string): readonly string[] {
  return Array.from({ length: Math.max(0, daysBetween(day, last)) }, (_, index) => addDays(day, index + 1));
}

/** The last day that is over. */
function yesterdayAt(nowMs: number): string {
  return addDays(searchDayAt(nowMs), -1);
}

/** The same day of an earlier month, or the first day of the next one where the month is too short. */
function monthsBefore(day: string, months: number): string {
  const at = new Date(day);
  at.setUTCMonth(at.getUTCMonth() - months);
  return at.toISOString().slice(0, 10);
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}

function earlier(a: string, b: string): string {
  return a < b ? a : b;
}
