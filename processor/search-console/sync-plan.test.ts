import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { addDays, daysBetween, type Sync, searchDayAt } from '../search-console.ts';
import { dueWork, firstSync, settledDay } from './sync-plan.ts';

// In Pacific time it is still March 9.
const NOW_MS = Date.parse('2026-03-10T05:00:00Z');
const connection = { siteUrl: 'sc-domain:site.example', updatedAt: '2026-03-01T00:00:00.000Z' };
const first = firstSync(connection, { nowMs: NOW_MS, backfillDays: undefined });
const at = (nowMs: number) => ({ nowMs, intervalMs: DAY_MS });

test('the backfill has 16 months up to the window of three days that ends yesterday', () => {
  expect(first.backfill).toEqual({ from: '2024-11-09', to: '2026-03-05', daysDone: 0, daysTotal: 482 });
  expect(dueWork(first, connection, at(NOW_MS))).toEqual({
    kind: 'window',
    days: ['2026-03-06', '2026-03-07', '2026-03-08'],
  });
});

test('after the newest days earlier ones follow, the newest first, and then a wait until the next day', () => {
  const synced = { ...first, lastSyncedAt: new Date(NOW_MS).toISOString() };
  expect(dueWork(synced, connection, at(NOW_MS))).toEqual({ kind: 'backfill', day: '2026-03-05' });
  const last = { ...synced, backfill: { ...synced.backfill, daysDone: 481 } };
  expect(dueWork(last, connection, at(NOW_MS))).toEqual({ kind: 'backfill', day: '2024-11-09' });
  const done = { ...synced, backfill: { ...synced.backfill, daysDone: 482 } };
  expect(dueWork(done, connection, at(NOW_MS))).toEqual({ kind: 'wait', untilMs: NOW_MS + DAY_MS });
});

describe('a failure', () => {
  const nextTryAt = new Date(NOW_MS + 60_000).toISOString();
  const failure = { reason: 'quota' as const, message: '', since: nextTryAt, attempts: 1, nextTryAt };
  const failing: Sync = { ...first, failure };

  test('waits for its time, and for no time when the connection was changed', () => {
    expect(dueWork(failing, connection, at(NOW_MS))).toEqual({ kind: 'wait', untilMs: NOW_MS + 60_000 });
    expect(dueWork(failing, connection, at(NOW_MS + 60_000)).kind).toBe('window');
    const changed = { ...connection, updatedAt: '2026-03-02T00:00:00.000Z' };
    expect(dueWork(failing, changed, at(NOW_MS)).kind).toBe('window');
  });
});

test('whatever the days of the syncs, every day is fetched again on the three days after it, or once later', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 12 }), (gaps) => {
      let sync = first;
      let nowMs = NOW_MS;
      const fetched = new Map<string, number>();
      for (const gap of [0, ...gaps]) {
        nowMs += gap * DAY_MS;
        const work = dueWork(sync, connection, { nowMs, intervalMs: 0 });
        const days = work.kind === 'window' ? work.days : [];
        for (const day of days) fetched.set(day, nowMs);
        sync = { ...sync, settledThrough: settledDay(sync, { nowMs, firstIncomplete: undefined }) };
      }
      const last = [...fetched.keys()].at(-1) ?? '';
      expect([...fetched.keys()]).toEqual(
        Array.from({ length: fetched.size }, (_, index) => addDays('2026-03-06', index)),
      );
      expect(daysBetween(last, searchDayAt(nowMs))).toBe(1);
      for (const [day, atMs] of fetched)
        if (day <= sync.settledThrough) expect(daysBetween(day, searchDayAt(atMs))).toBeGreaterThan(3);
    }),
  );
});

test.each([
  [undefined, '2026-03-05'],
  ['2026-03-08', '2026-03-05'],
  ['2026-03-04', '2026-03-03'],
  // Google cannot hold a day open for ever.
  ['2026-01-01', '2026-02-26'],
])('with days incomplete from %s, days up to %s are settled', (firstIncomplete, settled) => {
  const earlier = { settledThrough: '2026-02-20' };
  expect(settledDay(earlier, { nowMs: NOW_MS, firstIncomplete })).toBe(settled);
});
