import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { insertProfile, noteErasure } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { answerGroupTypes, groupListInsight } from './group-list.ts';
import { groupListAnswer, groupListQuery, groupMetricsAnswer, groupMetricsQuery } from './group-list-api.ts';
import { answerGroupMetrics } from './group-metrics.ts';
import { isSynthetic, PeopleTraffic, type PersonEvent } from './testing/people-traffic.ts';
import { recordsOf } from './testing/records.ts';

const TO_MS = Date.parse('2026-06-15T12:00:00Z');
const SPAN = { fromMs: Date.parse('2026-06-11T00:00:00Z'), toMs: Date.parse('2026-06-14T00:00:00Z') };
const DATES = 'startDate=2026-06-11&endDate=2026-06-13';
const scope = { site: modelSite('site'), zone: new Zones().of('UTC'), nowMs: TO_MS };
const seed = Number(process.env.SEED ?? 12);
const MEMBERS = ['p0', 'p1', 'p4'];

let fixture: HistoryStore;
let stored: 'stored' | 'unavailable' = 'stored';
const traffic = new PeopleTraffic(new SeededRandom(seed), {
  fromMs: TO_MS - 6 * DAY_MS,
  toMs: TO_MS,
  people: 8,
});

beforeAll(async () => {
  fixture = await startHistoryStore();
  const { store } = fixture;
  await store.command(
    `INSERT INTO groups (projectId, id, type, name, properties, createdAt, updatedAt, version) VALUES
     ('site', 'acme', 'team', 'Old name', map(), '2026-01-01 00:00:00', '2026-01-01 00:00:00', 1),
     ('site', 'acme', 'company', 'Acme Inc', map('seats', '20'), '2026-01-01 00:00:00', '2026-02-01 00:00:00', 2),
     ('site', 'empty', 'company', 'Émpty', map(), '2026-01-03 00:00:00', '2026-01-03 00:00:00', 3),
     ('site', 'named', '', 'named', map(), '2026-01-04 00:00:00', '2026-01-04 00:00:00', 4),
     ('other', 'foreign', 'company', 'Foreign', map(), '2026-01-04 00:00:00', '2026-01-04 00:00:00', 5)`,
  );
  const times = { createdAtMs: TO_MS, updatedAtMs: TO_MS };
  for (const id of MEMBERS)
    await insertProfile(store, 'site', { id, groups: ['acme'], ...times, version: 2 });
  // Not counted: left the group, was erased, is of another group, is of another site.
  await insertProfile(store, 'site', { id: 'p2', groups: ['acme'], ...times, version: 1 });
  await insertProfile(store, 'site', { id: 'p2', groups: ['only assigned'], ...times, version: 2 });
  await insertProfile(store, 'site', { id: 'p3', groups: ['acme', 'secret'], ...times, version: 2 });
  await noteErasure(store, 'site', 'p3');
  await insertProfile(store, 'other', { id: 'p5', groups: ['acme'], ...times, version: 2 });
});
afterAll(async () => {
  await fixture.stop();
});

const sources = () => ({
  history: fixture.history,
  hot: traffic.visits.hotView(),
  records: recordsOf({ stored, groups: ['acme', 'empty', 'named'] }),
});

const ROWS = [
  {
    id: 'acme',
    type: 'company',
    name: 'Acme Inc',
    properties: { seats: '20' },
    createdAt: '2026-01-01T00:00:00.000Z',
    updatedAt: '2026-02-01T00:00:00.000Z',
    members: 3,
  },
  ...[
    ['empty', 'company', 'Émpty', '2026-01-03T00:00:00.000Z'],
    ['named', '', 'named', '2026-01-04T00:00:00.000Z'],
  ].map(([id, type, name, at]) => ({
    id,
    type,
    name,
    properties: {},
    createdAt: at,
    updatedAt: at,
    members: 0,
  })),
  {
    id: 'only assigned',
    type: '',
    name: 'only assigned',
    properties: {},
    createdAt: null,
    updatedAt: null,
    members: 1,
  },
];

function list(text: string) {
  return groupListInsight(sources()).answer(scope, readParameters(text, groupListQuery));
}

test('the groups of a site are those that updates describe and those with members, by id', async () => {
  const rows = await list('');
  expect(rows).toEqual(ROWS);
  groupListAnswer.parse(rows);
  const { answer, next } = groupListInsight(sources());
  const query = readParameters('limit=2', groupListQuery);
  const page = await answer(scope, query);
  expect(page).toEqual(ROWS.slice(0, 2));
  expect(await list(`limit=2&cursor=${next?.(query, page)}`)).toEqual(ROWS.slice(2));
  expect(await list('cursor=3')).toEqual(ROWS.slice(3));
});

test.each([
  ['search=%C3%A9MPTY', ['empty']],
  ['search=only', ['only assigned']],
  ['search=A', ['acme', 'named', 'only assigned']],
  ['type=company', ['acme', 'empty']],
  ['type=company&search=inc', ['acme']],
  ['type=team', []],
])('groups?%s lists the groups that match', async (query, ids) => {
  expect((await list(query)).map(({ id }) => id)).toEqual(ids);
});

test('types come with the number of their groups', async () => {
  expect(await answerGroupTypes(sources(), scope, { partial: false })).toEqual([
    { type: '', groups: 2 },
    { type: 'company', groups: 2 },
  ]);
});

function metrics(groupId: string, text = DATES) {
  return answerGroupMetrics(sources(), scope, { ...readParameters(text, groupMetricsQuery), groupId });
}

/** The figures. Examines every event. */
function expected(wanted: (event: PersonEvent) => boolean = () => true) {
  const isIn = (atMs: number) => atMs >= SPAN.fromMs && atMs < SPAN.toMs;
  const sessions = traffic.sessions();
  const profiles = new Map(sessions.map(({ id, profileId }) => [id, profileId]));
  const visitorOf = ({ sessionId, profileId, deviceId }: PersonEvent) =>
    profiles.get(sessionId) || profileId || deviceId;
  const events = traffic
    .ours()
    .filter(({ atMs, name }) => isIn(atMs) && !isSynthetic(name))
    .filter(wanted)
    .filter((event) => MEMBERS.includes(visitorOf(event)) || isNaming(event));
  const visitors = events.map(visitorOf).filter((visitor) => MEMBERS.includes(visitor));
  const amounts = new Map<string, number>();
  for (const { currency, revenue } of events)
    if (currency !== '') amounts.set(currency, (amounts.get(currency) ?? 0) + Number(revenue));
  const revenueByCurrency = Object.fromEntries(
    [...amounts]
      .filter(([, amount]) => amount !== 0)
      .map(([currency, amount]) => [currency, amount / (currency === 'JPY' ? 1 : 100)]),
  );
  return {
    groupId: 'acme',
    members: 3,
    activeMembers: new Set(visitors).size,
    events: events.length,
    screenViews: events.filter(({ name }) => name === 'screen_view').length,
    revenue: revenueByCurrency.EUR ?? 0,
    revenueByCurrency,
  };
}

function isNaming({ columns }: PersonEvent): boolean {
  return Array.isArray(columns?.groups) && columns.groups.includes('acme');
}

/** Sessions of members that began in the range. */
function begun(): number {
  return traffic
    .sessions()
    .filter(({ profileId }) => MEMBERS.includes(profileId))
    .filter(({ startedAtMs }) => startedAtMs >= SPAN.fromMs && startedAtMs < SPAN.toMs).length;
}

test('the figures of a group equal a recount of all events, whether they are hot, stored, or both', async () => {
  for (let round = 0; round < 2; round += 1) {
    traffic.add(120);
    expect(await metrics('acme'), `seed ${seed}`).toEqual({ ...expected(), sessions: begun() });
    for (const lane of [0, 1]) {
      traffic.visits.cut(lane);
      await traffic.visits.land(lane, fixture.store);
    }
    // The owners do not know yet that the flush is complete.
    expect(await metrics('acme')).toEqual({ ...expected(), sessions: begun() });
    for (const lane of [0, 1]) traffic.visits.complete(lane);
  }
  const figures = await metrics('acme');
  expect(figures).toEqual({ ...expected(), sessions: begun() });
  groupMetricsAnswer.strict().parse(figures);
  expect(figures.events).toBeGreaterThan(20);
  expect(figures.sessions).toBeGreaterThan(2);
  const filter = 'filters=[{"name":"name","operator":"is","value":["click"]}]';
  expect(await metrics('acme', `${DATES}&${filter}`)).toMatchObject(expected(({ name }) => name === 'click'));
});

test('a group without members has the events that name it, and one that nothing names is 404', async () => {
  expect(await metrics('empty')).toMatchObject({ members: 0, sessions: 0, events: 0, revenue: 0 });
  await expect(metrics('nothing')).rejects.toMatchObject({ status: 404 });
});

test('without the word of an owner lists are 503, and with partial=true what the store has', async () => {
  stored = 'unavailable';
  await expect(list('')).rejects.toMatchObject({ status: 503 });
  expect(await list('partial=true')).toEqual(ROWS);
  stored = 'stored';
});
