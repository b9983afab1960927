import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { addTraffic } from '../testing/model-traffic.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import type { ModelEvent } from '../testing/owner-model.ts';
import { Zones } from '../time/zone.ts';
import { answerEngagement } from './engagement.ts';
import { engagementAnswer, engagementQuery } from './engagement-api.ts';
import { answerRetention } from './retention.ts';
import { retentionAnswer, retentionQuery } from './retention-api.ts';
import { answerCohorts } from './retention-cohort.ts';
import { cohortAnswer, cohortQuery } from './retention-cohort-api.ts';
import {
  beginOf,
  later,
  type RecountedCohorts,
  recountCohorts,
  recountEngagement,
  recountRetention,
} from './testing/returning-recount.ts';

// A Wednesday, a few days before the clocks of Berlin go back.
const NOW_MS = Date.parse('2026-10-21T20:34:56.789Z');
const BERLIN = 'Europe/Berlin';
const zones = new Zones();

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

interface Returning {
  readonly lanes: OwnedLanes;
  readonly site?: string;
  readonly zone?: string;
  readonly nowMs?: number;
}

function asking({ lanes, site = 'site', zone = BERLIN, nowMs = NOW_MS }: Returning) {
  const scope = { site: modelSite(site, zone), zone: zones.of(zone), nowMs };
  const sources = () => ({ history: fixture.history, hot: lanes.hotView() });
  return {
    retention: async (query = '') => answerRetention(sources(), scope, readParameters(query, retentionQuery)),
    held: async (query = '') =>
      answerRetention(
        { history: fixture.holding, hot: lanes.hotView() },
        scope,
        readParameters(query, retentionQuery),
      ),
    cohorts: async (query = '') => answerCohorts(sources(), scope, readParameters(query, cohortQuery)),
    engagement: async (query = '') =>
      answerEngagement(sources(), scope, readParameters(query, engagementQuery)),
  };
}

/** The first dates of `count` intervals. The last one begins on `last`. */
function beginsUpTo(last: string, interval: 'day' | 'week' | 'month', count: number): string[] {
  const begins = [last];
  while (begins.length < count) begins.unshift(beginOf(later(begins[0] ?? '', -1), interval));
  return begins;
}

const generated = new OwnedLanes(2);

test('retention, cohorts and engagement equal a recount, hot, stored, and split by flushes', async () => {
  const seeded = new SeededRandom(11);
  const ask = asking({ lanes: generated });
  const span = { fromMs: NOW_MS - 110 * DAY_MS, toMs: NOW_MS };
  const compare = async (step: string) => {
    const events = generated.events('site');
    const retained = recountRetention(events, BERLIN, beginsUpTo('2026-10-05', 'week', 12));
    expect(await ask.retention(), step).toEqual(retained);
    expect(await ask.held(), step).toEqual(retained);
    for (const [interval, last, count] of [
      ['day', '2026-10-21', 30],
      ['week', '2026-10-19', 12],
      ['month', '2026-10-01', 12],
    ] as const) {
      const begins = beginsUpTo(last, interval, count);
      const cohorts = recountCohorts(events, BERLIN, { interval, begins });
      expect(await ask.cohorts(`interval=${interval}`), step).toEqual(cohorts);
    }
    const days = { firstDay: '2026-09-22', lastDay: '2026-10-21' };
    const times = { fromMs: Date.parse('2026-09-21T22:00Z'), toMs: Date.parse('2026-10-21T22:00Z') };
    const engaged = recountEngagement(events, BERLIN, { ...days, ...times });
    expect(await ask.engagement(), step).toEqual(engaged);
    return { retained, engaged };
  };
  for (let step = 0; step < 3; step += 1) {
    addTraffic(generated, seeded, { events: 200, ...span });
    if (step === 0) await compare('all hot');
    for (const owner of generated.owners) {
      const flush = owner.cut();
      if (step === 1) await compare(`cut, step ${step}`);
      await fixture.land(owner, flush);
      if (step === 2) await compare(`landed, step ${step}`);
      if (step !== 1) owner.complete();
    }
  }
  const { retained, engaged } = await compare('at the end');
  // The figures are of all kinds: a recount that finds nothing would prove nothing.
  expect(retained.some(({ retention }) => retention > 0 && retention < 100)).toBe(true);
  expect(engaged.frequency.length).toBeGreaterThan(3);
  expect(engaged.sessions.filter(({ visitors }) => visitors > 0).length).toBeGreaterThan(3);
  expect(retentionAnswer.parse(retained)).toEqual(retained);
  expect(engagementAnswer.parse(engaged)).toEqual(engaged);
});

test.each([
  ['UTC', 'range=30d', '2026-09-28', 2],
  [BERLIN, 'startDate=2026-09-07&endDate=2026-09-27', '2026-09-07', 3],
  [BERLIN, 'startDate=2026-09-08&endDate=2026-09-26', '2026-09-14', 1],
  // The newest complete week has no row, because the next one is not complete.
  [BERLIN, 'startDate=2026-10-05&endDate=2026-12-31', '2026-10-05', 1],
  ['Asia/Kolkata', 'range=12m', '2025-10-27', 50],
  ['America/New_York', 'startDate=2026-09-14T04:00:00Z&endDate=2026-09-28T04:00:00Z', '2026-09-14', 2],
  ['UTC', 'range=7d', '2026-10-12', 0],
])('retention in %s of %s begins with the week of %s and has %i weeks', async (zone, query, first, weeks) => {
  const mondays = beginsUpTo(later(first, (weeks - 1) * 7), 'week', weeks).slice(0, weeks);
  const events = generated.events('site');
  expect(await asking({ lanes: generated, zone }).retention(query)).toEqual(
    recountRetention(events, zone, mondays),
  );
});

test.each<[string, string, RecountedCohorts]>([
  ['UTC', 'interval=day&range=7d', { interval: 'day', begins: beginsUpTo('2026-10-21', 'day', 7) }],
  [BERLIN, 'range=30d', { interval: 'week', begins: beginsUpTo('2026-10-19', 'week', 5) }],
  [
    'Asia/Kolkata',
    'interval=month&range=3m',
    { interval: 'month', begins: beginsUpTo('2026-10-01', 'month', 4) },
  ],
  [
    BERLIN,
    'interval=week&startDate=2026-07-01&endDate=2026-12-31&firstEvent=click&event=revenue',
    { interval: 'week', begins: beginsUpTo('2026-10-19', 'week', 17), firstEvent: 'click', event: 'revenue' },
  ],
  [
    BERLIN,
    'event=session_start',
    { interval: 'week', begins: beginsUpTo('2026-10-19', 'week', 12), event: 'session_start' },
  ],
  [
    'America/New_York',
    'interval=day&firstEvent=click&startDate=2026-08-23&endDate=2026-10-21',
    { interval: 'day', begins: beginsUpTo('2026-10-21', 'day', 60), firstEvent: 'click' },
  ],
])('cohorts in %s of %s equal a recount', async (zone, query, counted) => {
  const answer = await asking({ lanes: generated, zone }).cohorts(query);
  expect(answer).toEqual(recountCohorts(generated.events('site'), zone, counted));
  expect(answer.some(({ values }) => values.slice(1).some((value) => value > 0))).toBe(true);
  expect(cohortAnswer.parse(answer)).toEqual(answer);
});

test('filters select the events that count', async () => {
  const filter = { name: 'name', operator: 'is', value: ['click'] };
  const query = `filters=${encodeURIComponent(JSON.stringify([filter]))}`;
  const clicks = generated.events('site').filter(({ name }) => name === 'click');
  const ask = asking({ lanes: generated });
  expect(await ask.retention(query)).toEqual(
    recountRetention(clicks, BERLIN, beginsUpTo('2026-10-05', 'week', 12)),
  );
  const begins = beginsUpTo('2026-10-19', 'week', 12);
  expect(await ask.cohorts(query)).toEqual(recountCohorts(clicks, BERLIN, { interval: 'week', begins }));
  const span = { fromMs: Date.parse('2026-10-20T12:00Z'), toMs: Date.parse('2026-10-21T12:00Z') };
  expect(await ask.engagement(`${query}&startDate=2026-10-20T12:00Z&endDate=2026-10-21T12:00Z`)).toEqual(
    recountEngagement(clicks, BERLIN, { ...span, firstDay: '2026-10-20', lastDay: '2026-10-21' }),
  );
});

test('days that have not begun are left out, and so is a range that has not', async () => {
  const ask = asking({ lanes: generated });
  const { recency } = await ask.engagement('startDate=2026-10-20&endDate=2026-10-31');
  expect(recency.map(({ days }) => days)).toEqual([0, 1]);
  expect(await ask.engagement('startDate=2026-11-20&endDate=2026-11-30')).toMatchObject({
    visitors: 0,
    recency: [],
    frequency: [],
  });
  expect(await ask.cohorts('startDate=2026-11-20&endDate=2026-11-30')).toEqual([]);
  expect(await ask.retention('startDate=2026-11-20&endDate=2026-11-30')).toEqual([]);
});

/** A lane without generated rows: the store takes each flush of a lane once. */
const HAND_LANE = 2;
let lastEvent = 0;
/** Adds an event of a session of the site `by-hand`. */
function happens(lanes: OwnedLanes, at: string, event: Partial<ModelEvent>): void {
  lastEvent += 1;
  lanes.owners[HAND_LANE]?.add({
    id: `e${lastEvent.toString(16)}`,
    projectId: 'by-hand',
    deviceId: 'd',
    profileId: '',
    sessionId: '',
    name: 'screen_view',
    atMs: Date.parse(at),
    revenue: 0n,
    currency: '',
    ...event,
  });
}

function becomes(lanes: OwnedLanes, id: string, startedAt: string, profileId = ''): void {
  const startedAtMs = Date.parse(startedAt);
  lanes.owners[HAND_LANE]?.put({
    ...{ id, projectId: 'by-hand', profileId, startedAtMs, endedAtMs: startedAtMs + 60_000, screenViews: 1 },
  });
}

test('by hand: a login counts for its visit, a session over midnight in both weeks', async () => {
  const lanes = new OwnedLanes(HAND_LANE + 1);
  const ask = asking({ lanes, site: 'by-hand', zone: 'UTC' });
  const weeks = 'startDate=2026-09-21&endDate=2026-10-11';
  // Device `night` crosses midnight from Sunday to Monday, in one session.
  becomes(lanes, 'a1', '2026-09-27T23:50Z');
  happens(lanes, '2026-09-27T23:50Z', { deviceId: 'night', sessionId: 'a1' });
  happens(lanes, '2026-09-28T00:05Z', { deviceId: 'night', sessionId: 'a1' });
  // Device `phone` without a login, and a week later with one: two visitors. The first view of the later visit counts
  // for the person, too.
  becomes(lanes, 'a2', '2026-09-22T10:00Z');
  happens(lanes, '2026-09-22T10:00Z', { deviceId: 'phone', sessionId: 'a2' });
  becomes(lanes, 'a3', '2026-09-29T10:00Z', 'ada');
  happens(lanes, '2026-09-29T10:00Z', { deviceId: 'phone', sessionId: 'a3' });
  happens(lanes, '2026-09-29T10:01Z', { deviceId: 'phone', sessionId: 'a3', profileId: 'ada' });
  // The same person on another device, and an event without a session from a server.
  becomes(lanes, 'a4', '2026-10-06T10:00Z', 'ada');
  happens(lanes, '2026-10-06T10:00Z', { deviceId: 'laptop', sessionId: 'a4', profileId: 'ada' });
  happens(lanes, '2026-10-07T10:00Z', { deviceId: '', profileId: 'bot', name: 'sync' });
  const check = async () => {
    expect(await ask.retention(weeks)).toEqual([
      { date: '2026-09-21', active_users: 2, retained_users: 1, retention: 50 },
      { date: '2026-09-28', active_users: 2, retained_users: 1, retention: 50 },
      { date: '2026-10-05', active_users: 2, retained_users: 0, retention: 0 },
    ]);
    expect(await ask.cohorts(weeks)).toEqual([
      { cohort_interval: '2026-09-21', sum: 2, values: [2, 1, 0], percentages: [100, 50, 0] },
      { cohort_interval: '2026-09-28', sum: 1, values: [1, 1], percentages: [100, 100] },
      { cohort_interval: '2026-10-05', sum: 1, values: [1], percentages: [100] },
    ]);
    const engaged = await ask.engagement('startDate=2026-09-27&endDate=2026-10-08');
    expect(engaged.visitors).toBe(3);
    expect(engaged.recency.filter(({ visitors }) => visitors > 0)).toEqual([
      { days: 1, visitors: 1 },
      { days: 2, visitors: 1 },
      { days: 10, visitors: 1 },
    ]);
    expect(engaged.frequency).toEqual([
      { days_active: 1, visitors: 1 },
      { days_active: 2, visitors: 2 },
    ]);
    expect(engaged.sessions.slice(0, 3)).toEqual([
      { sessions: 0, sessions_max: 0, visitors: 1 },
      { sessions: 1, sessions_max: 1, visitors: 1 },
      { sessions: 2, sessions_max: 2, visitors: 1 },
    ]);
  };
  await check();
  const owner = lanes.owners[HAND_LANE];
  if (owner === undefined) throw new Error('there is one lane');
  await fixture.land(owner, owner.cut());
  await check();
  owner.complete();
  await check();
});

test.each([
  ['retention', 'startDate=2022-01-01&endDate=2026-01-01', /^range: expected at most 106 weeks/],
  ['retention', 'startDate=1950-01-01&endDate=2026-01-01', /^(range|interval): /],
  ['cohorts', 'interval=day&range=3m', /^interval: the range has more than 60 intervals of one day/],
  ['cohorts', 'startDate=2025-01-01&endDate=2026-10-01', /^interval: the range has more than 60 intervals/],
  ['cohorts', 'interval=hour', /^interval: /],
  ['cohorts', `event=${'x'.repeat(81)}`, /^event: expected at most 80/],
  ['cohorts', 'firstevent=click', /^firstevent/],
  ['engagement', 'startDate=2024-01-01&endDate=2025-01-01', /^range: expected at most 366 days/],
  ['engagement', 'range=custom', /^startDate: /],
] as const)('%s?%s is rejected with the reason', async (question, query, message) => {
  const error = await Promise.resolve()
    .then((): Promise<unknown> => asking({ lanes: generated })[question](query))
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringMatching(message) });
});
