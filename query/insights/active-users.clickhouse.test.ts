import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { FLUSHES, FlushedEvents } from '../testing/flushed-events.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { answerActiveUsers } from './active-users.ts';
import { activeUsersAnswer, activeUsersQuery } from './active-users-api.ts';

const zones = new Zones();
// The evening of the day on which clocks in Europe go back.
const NOW_MS = Date.parse('2026-10-25T20:34:56.789Z');

let fixture: HistoryStore;
const model = new FlushedEvents(new SeededRandom(5), {
  events: 700,
  fromMs: NOW_MS - 150 * DAY_MS,
  toMs: NOW_MS,
});
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

function ask(query: string, zone: string, known: number) {
  const scope = { site: modelSite('site', zone), zone: zones.of(zone), nowMs: NOW_MS };
  const sources = { history: fixture.history, hot: model.hotView(known) };
  return answerActiveUsers(sources, scope, readParameters(query, activeUsersQuery));
}

/** The series between two dates. Days of 24 hours; every window examines every event. */
function expected(from: string, to: string, zone: string) {
  const visits = model.ours
    .filter(({ name }) => name !== 'session_start' && name !== 'session_end')
    .map(({ profileId, deviceId, atMs }) => ({
      visitor: profileId === '' ? deviceId : profileId,
      day: Math.floor(zones.of(zone).wallMs(atMs) / DAY_MS),
    }))
    .filter(({ visitor }) => visitor !== '');
  const active = (day: number, windowDays: number) =>
    new Set(
      visits
        .filter((visit) => visit.day <= day && visit.day > day - windowDays)
        .map(({ visitor }) => visitor),
    ).size;
  const first = Date.parse(from) / DAY_MS;
  return Array.from({ length: Date.parse(to) / DAY_MS - first + 1 }, (_, index) => ({
    date: new Date((first + index) * DAY_MS).toISOString().slice(0, 10),
    dau: active(first + index, 1),
    wau: active(first + index, 7),
    mau: active(first + index, 30),
  }));
}

test('daily, weekly and monthly visitors equal a recount, whether events are hot, stored, or both', async () => {
  const series = expected('2026-09-26', '2026-10-25', 'Europe/Berlin');
  expect(series.at(-1)?.mau).toBeGreaterThan(series.at(-1)?.wau ?? 0);
  for (let stored = 0; stored <= FLUSHES; stored += 1) {
    if (stored > 0) await model.land(fixture.store, stored);
    for (let known = 0; known <= stored; known += 1) {
      expect(await ask('', 'Europe/Berlin', known), `known ${known} of ${stored}`).toEqual(series);
    }
  }
  expect(activeUsersAnswer.safeParse(series).success).toBe(true);
});

test.each([
  ['days=1', 'UTC', '2026-10-25', '2026-10-25'],
  ['days=3', 'Asia/Kolkata', '2026-10-24', '2026-10-26'],
  ['days=366', 'America/New_York', '2025-10-25', '2026-10-25'],
  ['range=7d', 'Europe/Berlin', '2026-10-19', '2026-10-25'],
  ['range=30min', 'UTC', '2026-10-25', '2026-10-25'],
  ['range=lastMonth', 'Africa/Cairo', '2026-09-01', '2026-09-30'],
  ['range=12m', 'Pacific/Chatham', '2025-10-27', '2026-10-26'],
  ['startDate=2026-08-01&endDate=2026-08-09', 'Australia/Lord_Howe', '2026-08-01', '2026-08-09'],
  ['startDate=2026-08-01T13:00:00Z&endDate=2026-08-03T01:00:00Z', 'UTC', '2026-08-01', '2026-08-03'],
  ['startDate=2026-08-01&endDate=2026-08-03T00:00:00Z', 'UTC', '2026-08-01', '2026-08-02'],
  ['startDate=2024-02-01&endDate=2025-01-31', 'UTC', '2024-02-01', '2025-01-31'],
])('active_users?%s in %s is a row for each day from %s to %s', async (query, zone, from, to) => {
  expect(await ask(query, zone, 2)).toEqual(expected(from, to, zone));
});

test.each([
  ['days=0', /^days: /],
  ['days=367', /^days: /],
  ['days=7&range=7d', /^days: it cannot be combined with range/],
  ['days=7&startDate=2026-01-01&endDate=2026-01-02', /^days: it cannot be combined with range/],
  ['startDate=2024-01-01&endDate=2025-01-01', /^range: expected at most 366 days/],
  ['startDate=1990-01-01&endDate=2025-01-01', /^range: expected at most 366 days/],
])('active_users?%s is rejected with the reason', async (query, message) => {
  const error = await Promise.resolve()
    .then(() => ask(query, 'UTC', 0))
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringMatching(message) });
});
