import { expect, test } from 'vitest';
import { SYNC_FAILURES, type Sync } from '../../../processor/search-console.ts';
import { syncShown } from './gsc-api.ts';
import { shownSync } from './gsc-status.ts';

const AT = '2026-03-10T18:00:00.000Z';
const connection = { siteUrl: 'sc-domain:site.example', updatedAt: AT };
const first: Sync = {
  version: 1,
  siteUrl: connection.siteUrl,
  triedAs: AT,
  backfill: { from: '2024-11-10', to: '2026-03-06', daysDone: 0, daysTotal: 482 },
  settledThrough: '2026-03-06',
  lastDay: null,
  lastSyncedAt: null,
  rows: 0,
  failure: null,
};
const synced: Sync = { ...first, lastDay: '2026-03-09', lastSyncedAt: AT };
const withDays = (daysDone: number): Sync => ({ ...synced, backfill: { ...synced.backfill, daysDone } });
const failing = (reason: (typeof SYNC_FAILURES)[number]): Sync => ({
  ...withDays(3),
  failure: { reason, message: 'why', since: AT, attempts: 2, nextTryAt: AT },
});
const show = (sync: Sync | undefined, isReadable = true) => {
  const shown = shownSync(connection, sync, isReadable);
  expect(syncShown.parse(shown)).toEqual(shown);
  return shown;
};

test('a connection is never synced, then backfilling with its progress, then up to date', () => {
  expect(show(undefined)).toMatchObject({ state: 'never-synced', backfill: null, preliminaryFrom: null });
  expect(show(first)).toMatchObject({ state: 'never-synced', backfill: { daysDone: 0, percent: 0 } });
  expect(show(withDays(481))).toEqual({
    state: 'backfilling',
    backfill: { from: '2024-11-10', to: '2026-03-06', daysDone: 481, daysTotal: 482, percent: 99 },
    lastSyncedAt: AT,
    lastDay: '2026-03-09',
    preliminaryFrom: '2026-03-07',
    failure: null,
  });
  expect(show(withDays(482))).toMatchObject({ state: 'up-to-date', backfill: { percent: 100 } });
});

test('each reason is a state, or failing, and keeps the progress', () => {
  const states = SYNC_FAILURES.map((reason) => [reason, show(failing(reason)).state]);
  expect(Object.fromEntries(states)).toEqual({
    'token-expired': 'token-expired',
    'no-access': 'no-access',
    quota: 'quota',
    unreadable: 'unreadable',
    'google-away': 'failing',
    'store-away': 'failing',
    failed: 'failing',
  });
  expect(show(failing('quota'))).toMatchObject({ backfill: { daysDone: 3 }, failure: { attempts: 2 } });
});

test('a failure of earlier credentials, and the progress with another property, do not count', () => {
  expect(show({ ...failing('no-access'), triedAs: '2026-03-01T00:00:00.000Z' })).toMatchObject({
    state: 'backfilling',
    failure: null,
  });
  expect(show({ ...synced, siteUrl: 'https://other.example/' }).state).toBe('never-synced');
  expect(show(synced, false).state).toBe('unreadable');
});
