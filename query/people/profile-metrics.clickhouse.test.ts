import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { answerProfile } from './entities.ts';
import { KeptSessions } from './kept-sessions.ts';
import { answerProfileMetrics } from './profile-metrics.ts';
import {
  type ProfileSessionsQuery,
  profileMetricsAnswer,
  profileSessionsQuery,
} from './profile-metrics-api.ts';
import { answerProfileSessions, profileSessionsInsight } from './profile-sessions.ts';
import { isSynthetic, PeopleTraffic } from './testing/people-traffic.ts';
import { recordsOf } from './testing/records.ts';

const zones = new Zones();
// Clocks in Europe go back on the last of these days.
const TO_MS = Date.parse('2026-10-25T22:00:00Z');
const FROM_MS = TO_MS - 5 * DAY_MS;
const ZONE = 'Europe/Berlin';
const PEOPLE = 6;
const ROUNDS = 2;

let fixture: HistoryStore;
const seed = Number(process.env.SEED ?? 77);
const traffic = new PeopleTraffic(new SeededRandom(seed), { fromMs: FROM_MS, toMs: TO_MS, people: PEOPLE });

beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

const scope = { site: modelSite('site', ZONE), zone: zones.of(ZONE), nowMs: TO_MS };
const kept = new KeptSessions();
const sources = () => ({
  history: fixture.history,
  kept,
  hot: traffic.visits.hotView(),
  records: recordsOf({ profiles: ['known'] }),
});

function ask(profileId: string) {
  return answerProfileMetrics(sources(), scope, { profileId, partial: false });
}

/** The figures. Examines every event of the person. Slow and obvious. */
function expected(profileId: string) {
  const sessions = traffic.sessions().filter((session) => session.profileId === profileId);
  sessions.sort((a, b) => a.startedAtMs - b.startedAtMs);
  const alone = traffic.alone().filter((event) => event.profileId === profileId);
  const within = sessions.flatMap(({ events }) => events).filter(({ name }) => !isSynthetic(name));
  const events = [...within, ...alone];
  const times = [
    ...sessions.flatMap(({ startedAtMs, endedAtMs }) => [startedAtMs, endedAtMs]),
    ...alone.map(({ atMs }) => atMs),
  ];
  const days = new Set(alone.map(({ atMs }) => dayOf(atMs)));
  for (const { startedAtMs, endedAtMs } of sessions)
    for (let atMs = startedAtMs; atMs <= endedAtMs; atMs += 60_000) days.add(dayOf(atMs));
  for (const { endedAtMs } of sessions) days.add(dayOf(endedAtMs));
  const durations = sessions
    .map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs)
    .sort((a, b) => a - b);
  const views = (list: typeof events) => list.filter(({ name }) => name === 'screen_view').length;
  const gaps = sessions.slice(1).map(({ startedAtMs }, at) => startedAtMs - (sessions[at]?.startedAtMs ?? 0));
  const sum = (list: readonly number[]) => list.reduce((total, number) => total + number, 0);
  const average = (list: readonly number[]) => (list.length === 0 ? 0 : sum(list) / list.length);
  const revenue = new Map<string, number>();
  for (const { currency, revenue: amount } of events)
    if (currency !== '') revenue.set(currency, (revenue.get(currency) ?? 0) + Number(amount));
  const majors = [...revenue].filter(([, amount]) => amount !== 0);
  const byCurrency = Object.fromEntries(
    majors.map(([currency, amount]) => [currency, amount / (currency === 'JPY' ? 1 : 100)]),
  );
  return {
    profileId,
    firstSeen: times.length === 0 ? null : new Date(Math.min(...times)).toISOString(),
    lastSeen: times.length === 0 ? null : new Date(Math.max(...times)).toISOString(),
    sessions: sessions.length,
    screenViews: views(events),
    totalEvents: events.length,
    conversionEvents: events.length - views(events),
    uniqueDaysActive: days.size,
    avgSessionDurationMin: hundredths(average(durations) / 60_000),
    p90SessionDurationMin: hundredths(
      (durations.find((_, at) => at + 1 >= 0.9 * durations.length - 1e-9) ?? 0) / 60_000,
    ),
    avgEventsPerSession: hundredths(sessions.length === 0 ? 0 : within.length / sessions.length),
    avgTimeBetweenSessionsSec: hundredths(average(gaps) / 1000),
    bounceRate: hundredths(average(sessions.map((session) => (views([...session.events]) <= 1 ? 100 : 0)))),
    revenue: byCurrency.EUR ?? 0,
    revenueByCurrency: byCurrency,
  };
}

function dayOf(atMs: number): number {
  return Math.floor(scope.zone.wallMs(atMs) / DAY_MS);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}

const EVERYONE = Array.from({ length: PEOPLE }, (_, number) => `p${number}`);

/** Returns the profiles that have data by now. */
function known(): string[] {
  return EVERYONE.filter((id) => traffic.ours().some(({ profileId }) => profileId === id));
}

/** The newest events that name a person, synthetic ones as well: ids and times. */
function newestEvents(profileId: string) {
  const events = traffic.ours().filter((event) => event.profileId === profileId);
  events.sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? -1 : 1));
  return events
    .slice(0, 20)
    .map(({ id, name, atMs }) => ({ id, name, createdAt: new Date(atMs).toISOString() }));
}

function timesAsked(question: string): number {
  const [, times = '0'] =
    new RegExp(`query_statements_total\\{question="${question}"\\} (\\d+)`).exec(fixture.metrics.expose()) ??
    [];
  return Number(times);
}

async function holds(): Promise<void> {
  for (const id of known()) {
    const { events } = await answerProfile(sources(), scope, id);
    expect(events, `seed ${seed}, ${id}`).toMatchObject(newestEvents(id));
    // With more rows than one statement may read, several statements give the same events.
    const before = timesAsked('event-list-pieces');
    expect(await answerProfile(sources(), scope, id, 1)).toMatchObject({ events });
    expect(timesAsked('event-list-pieces')).toBeGreaterThan(before);
    const answer = await ask(id);
    expect(answer, `seed ${seed}, ${id}`).toEqual(expected(id));
    expect(await ask(id)).toEqual(answer);
    // With too many states to add up here, the store does it.
    const summed = timesAsked('profile-metrics');
    expect(await answerProfileMetrics(sources(), scope, { profileId: id, partial: false }, 0)).toEqual(
      answer,
    );
    if (answer.sessions > 0) expect(timesAsked('profile-metrics')).toBe(summed + 1);
    profileMetricsAnswer.strict().parse(answer);
    const sessions = traffic.sessions().filter(({ profileId }) => profileId === id);
    sessions.sort((a, b) => b.startedAtMs - a.startedAtMs || (a.id < b.id ? -1 : 1));
    const asked = { profileId: id, limit: 100, partial: false, cursor: undefined };
    const listed = await answerProfileSessions(sources(), scope, asked);
    expect(await answerProfileSessions(sources(), scope, asked, 0)).toEqual(listed);
    const asStored = { ...sources(), kept: new KeptSessions() };
    expect(await answerProfileSessions(asStored, scope, asked)).toEqual(listed);
    expect(listed).toMatchObject(
      sessions.slice(0, 100).map((session) => ({
        id: session.id,
        profileId: id,
        startedAt: new Date(session.startedAtMs).toISOString(),
        duration: session.endedAtMs - session.startedAtMs,
        screenViews: session.events.filter(({ name }) => name === 'screen_view').length,
      })),
    );
    expect(listed).toHaveLength(Math.min(sessions.length, 100));
  }
}

test('the figures of a person equal a recount of all events, whether they are hot, stored, or both', async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    traffic.add(100);
    await holds();
    // Sessions continue in the same flush, so their states keep their versions.
    traffic.add(50);
    await holds();
    for (const lane of [0, 1]) {
      traffic.visits.cut(lane);
      await traffic.visits.land(lane, fixture.store);
    }
    // The owners do not know yet that the flush is complete.
    if (round === 0) await holds();
    for (const lane of [0, 1]) traffic.visits.complete(lane);
    if (round === 1) await holds();
  }
  const figures = await Promise.all(known().map(ask));
  expect(Math.max(...figures.map(({ sessions }) => sessions))).toBeGreaterThan(5);
  expect(figures.some(({ uniqueDaysActive }) => uniqueDaysActive > 2)).toBe(true);
});

test('a profile that only an update describes has no figures, and one that nothing names is 404', async () => {
  expect(await ask('known')).toEqual(expected('known'));
  await expect(ask('nobody')).rejects.toMatchObject({ status: 404 });
  const asked = { profileId: 'nobody', limit: 20, cursor: undefined, partial: false };
  await expect(answerProfileSessions(sources(), scope, asked)).rejects.toMatchObject({ status: 404 });
  expect(await answerProfileSessions(sources(), scope, { ...asked, profileId: 'known' })).toEqual([]);
});

test('a profile that is named only within a session of another profile is known, without figures', async () => {
  const event = {
    id: 'aa'.repeat(16),
    sessionId: 'bb'.repeat(16),
    projectId: 'site',
    deviceId: 'd-late',
    name: 'screen_view',
    origin: '',
    path: '/',
    title: '',
    revenue: 0n,
    currency: '',
    isCredited: false,
    atMs: FROM_MS,
  };
  traffic.put({ ...event, profileId: 'former' });
  traffic.put({ ...event, id: 'ac'.repeat(16), profileId: 'latter', atMs: FROM_MS + 90 * 60_000 });
  expect(await ask('former')).toEqual(expected('former'));
  expect(await ask('latter')).toMatchObject({ sessions: 1, screenViews: 2, avgSessionDurationMin: 90 });
});

test('the sessions of a profile come in pages, each session once', async () => {
  const [busiest = ''] = known().sort((a, b) => Number(expected(b).sessions) - Number(expected(a).sessions));
  const { answer, next } = profileSessionsInsight(sources());
  const ids: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const query: ProfileSessionsQuery = readParameters(`limit=4&cursor=${cursor}`, profileSessionsQuery);
    const page = await answer(scope, query, { profileId: busiest });
    ids.push(...page.map(({ id }) => id));
    cursor = next?.(query, page);
  }
  const all = await answer(scope, readParameters('limit=100', profileSessionsQuery), { profileId: busiest });
  expect(ids).toEqual(all.map(({ id }) => id));
  expect(ids.length).toBe(expected(busiest).sessions);
});
