import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { EXPORT_GROUPS } from '../../processor/event-export.ts';
import { encodeHotAnswer } from '../../processor/hot.ts';
import { EVENTS_COLUMNS } from '../../processor/rows.ts';
import { exportAnswer, exportedEvent, exportQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import type { History } from '../snapshot/history.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { hotViewOver } from '../testing/hot-view.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type EventColumn, eventBytes, type Row } from '../testing/row-writer.ts';
import { insertProfile, noteErasure, ownerOfProfiles } from '../testing/stored-profiles.ts';
import { Zones } from '../time/zone.ts';
import { answerExport } from './events.ts';

const zone = new Zones().of('Asia/Kolkata');
// The first instant of a day in Kolkata.
const DAY = Date.parse('2026-06-09T18:30:00Z');

const full: Row<EventColumn> = {
  id: 'ab',
  sessionId: 'cd',
  projectId: 'site',
  deviceId: 'device',
  profileId: '007',
  eventId: 'event-1',
  revenue: 1_999n,
  currency: 'USD',
  orderId: 'order-1',
  name: 'revenue',
  createdAt: DAY + 1,
  receivedAt: DAY + 2,
  origin: 'https://example.com',
  path: '/it\'s \\ "here"\n☂',
  query: 'a=b',
  hash: 'top',
  title: 'Title',
  referrer: 'https://search.example',
  referrerName: 'Search',
  referrerType: 'search',
  utmSource: 'source',
  utmMedium: 'medium',
  utmCampaign: 'campaign',
  utmTerm: 'term',
  utmContent: 'content',
  channel: 'paid',
  country: 'IN',
  region: 'MH',
  city: 'Mumbai',
  longitude: 72.5,
  latitude: 19.25,
  browser: 'Firefox',
  browserVersion: '140',
  os: 'Linux',
  osVersion: '6',
  device: 'desktop',
  brand: 'Brand',
  model: 'Model',
  language: 'hi-IN',
  timezone: 'Asia/Kolkata',
  screen: '1366x768',
  groups: ['a', 'b'],
  properties: ['size', 'xl', "o'key", '1'],
  sdkName: 'node',
  sdkVersion: '1.2.3',
};
const ADA = {
  id: '007',
  firstName: 'Ada',
  lastName: 'Lovelace',
  email: 'ada@example.org',
  avatar: 'https://example.org/ada.png',
  properties: { plan: 'pro', "o'key": 'ÿ' },
  groups: ['acme', 'b'],
  createdAtMs: DAY - 3 * DAY_MS,
  updatedAtMs: DAY + 7,
};
const plain = { projectId: 'site', flushNumber: 1, name: 'screen_view' };
const stored: Row<EventColumn>[] = [
  { ...full, flushNumber: 1 },
  { ...plain, id: '2', createdAt: DAY - 1, profileId: 'p' },
  { ...plain, id: '1', createdAt: DAY - 1, name: 'click' },
  { ...plain, id: '3', createdAt: DAY + DAY_MS },
  // In the store, but not yet known to be complete: the owner still has the rows.
  { ...plain, id: '4', createdAt: DAY + 5, flushNumber: 2 },
  { ...plain, id: '5', createdAt: DAY, projectId: 'other' },
];
const fewHotRows: Row<EventColumn>[] = [
  { ...plain, id: '4', createdAt: DAY + 5, flushNumber: 2 },
  { ...plain, id: '6', createdAt: DAY + 6, flushNumber: 3, profileId: '007' },
];

let historyStore: HistoryStore;
beforeAll(async () => {
  historyStore = await startHistoryStore();
  await historyStore.store.insertRowBinary('events', EVENTS_COLUMNS, [eventBytes(stored)], undefined);
  const at = { createdAtMs: DAY, updatedAtMs: DAY + 5 };
  for (const profile of [
    { ...ADA, version: 2 },
    { ...ADA, firstName: 'Before', version: 1 },
    { id: 'erased', email: 'erased@example.org', version: 1, ...at },
  ])
    await insertProfile(historyStore.store, 'site', profile);
  await insertProfile(historyStore.store, 'other', { id: 'p', firstName: 'Stranger', version: 9, ...at });
  await noteErasure(historyStore.store, 'site', 'erased');
});
afterAll(async () => {
  await historyStore.stop();
});

function ask(
  query: string,
  hotRows = fewHotRows,
  records = ownerOfProfiles(),
  history: Pick<History, 'ask' | 'rejectAway'> = historyStore.history,
) {
  const events = eventBytes(hotRows);
  const ask = async () =>
    encodeHotAnswer(
      {
        kind: 'rows',
        partition: 0,
        flushNumber: 1,
        eventBytes: events.length,
        sessionBytes: 0,
        eventRows: hotRows.length,
        sessionRows: 0,
        hours: [],
      },
      events,
    );
  const hot = hotViewOver(ask, 1);
  const scope = { site: modelSite('site'), zone, nowMs: DAY };
  const sources = { history, hot, records };
  return answerExport(sources, scope, readParameters(query, exportQuery));
}

async function ids(query: string): Promise<string> {
  const { data, meta } = await ask(query);
  expect(meta).toMatchObject({
    count: data.length,
    totalCount: data.length,
    pages: data.length === 0 ? 0 : 1,
  });
  return data.map(({ id }) => id.replace(/^0+/, '')).join(' ');
}

test.each([
  ['', '3 6 4 ab 1 2'],
  ['event=click', '1'],
  ['event=click&event=revenue', 'ab 1'],
  ['event=nothing', ''],
  ['profileId=007', '6 ab'],
  ['profileId=7', ''],
  ['start=2026-06-10&end=2026-06-10', '6 4 ab'],
  ['start=2026-06-11', '3'],
  ['end=2026-06-09', '1 2'],
  ["event='); DROP TABLE events --&profileId={site:String}", ''],
])('export?%s returns the events %s', async (query, expected) => {
  expect(await ids(query)).toBe(expected);
});

test('pages are consecutive, and one beyond the last is empty', async () => {
  const { data, meta } = await ask('page=2&limit=4');
  expect(data.map(({ id }) => id.slice(-1))).toEqual(['1', '2']);
  expect(meta).toEqual({ count: 2, totalCount: 6, pages: 2, current: 2, nextCursor: null });
  const beyond = { count: 0, totalCount: 6, pages: 2, current: 3, nextCursor: null };
  expect((await ask('page=3&limit=4')).meta).toEqual(beyond);
});

test('cursor pages contain every event of the start exactly once, whatever arrives meanwhile', async () => {
  const arriving: Row<EventColumn>[] = [];
  const seen: string[] = [];
  let cursor: string | null = '';
  for (let page = 1; cursor !== null; page += 1) {
    const { data, meta } = await ask(`limit=1&cursor=${cursor}`, [...fewHotRows, ...arriving]);
    seen.push(...data.map(({ id }) => id.replace(/^0+/, '')));
    expect(meta).toMatchObject({ current: page, totalCount: 6 + arriving.length });
    cursor = meta.nextCursor;
    // One event newer than all others, and one at a position of an earlier page.
    const from = { ...plain, flushNumber: 3 };
    arriving.push({ ...from, id: `f${page}`, createdAt: DAY + 2 * DAY_MS + page });
    arriving.push({ ...from, id: `e${page}`, createdAt: DAY + DAY_MS + page });
  }
  expect(seen.join(' ')).toBe('3 6 4 ab 1 2');
});

test('a number is also a cursor, and no cursor can be combined with page', async () => {
  const { data, meta } = await ask('cursor=4&limit=4');
  expect(data.map(({ id }) => id.slice(-1))).toEqual(['1', '2']);
  expect(meta).toMatchObject({ current: 2, nextCursor: null });
  await expect(ask('cursor=4&page=1')).rejects.toThrow(/^cursor: cannot be combined with page/);
  expect(() => ask('cursor=next')).toThrow(/^cursor: /);
});

test('an event has the default fields, and others only if included', async () => {
  const { data } = await ask('event=revenue');
  expect(data).toEqual([
    {
      id: 'ab'.padStart(32, '0'),
      name: 'revenue',
      deviceId: 'device',
      profileId: '007',
      sessionId: 'cd'.padStart(32, '0'),
      projectId: 'site',
      createdAt: '2026-06-09T18:30:00.001Z',
      path: full.path,
      origin: 'https://example.com',
      title: 'Title',
      country: 'IN',
      city: 'Mumbai',
      os: 'Linux',
      browser: 'Firefox',
      device: 'desktop',
      groups: ['a', 'b'],
    },
  ]);
});

const { createdAtMs, updatedAtMs, ...described } = ADA;
const PROFILE_OF_ADA = {
  ...described,
  createdAt: new Date(createdAtMs).toISOString(),
  updatedAt: new Date(updatedAtMs).toISOString(),
};
const UNKNOWN_PROFILE = {
  ...{ firstName: '', lastName: '', email: '', avatar: '', properties: {}, groups: [] },
  ...{ createdAt: null, updatedAt: null },
};

test('a profile is what the last update left, and empty if there is none, or if it is being erased', async () => {
  const erased = { ...plain, id: '7', createdAt: DAY + 9, flushNumber: 3, profileId: 'erased' };
  const { data } = await ask('includes=profile', [...fewHotRows, erased]);
  expect(data.map(({ profile }) => profile)).toEqual([
    null,
    { id: 'erased', ...UNKNOWN_PROFILE },
    PROFILE_OF_ADA,
    null,
    PROFILE_OF_ADA,
    null,
    { id: 'p', ...UNKNOWN_PROFILE },
  ]);
  for (const event of data) exportedEvent.strict().parse(event);
});

test('profiles that an owner cannot answer for are rejected, or partial on request', async () => {
  const away = ownerOfProfiles('unavailable');
  await expect(ask('includes=profile', fewHotRows, away)).rejects.toMatchObject({
    status: 503,
    reason: 'lane-away',
  });
  const answer = await ask('includes=profile&partial=true&event=revenue', fewHotRows, away);
  expect(answer).toMatchObject({ partial: true, data: [{ profile: PROFILE_OF_ADA }] });
  expect(await ask('event=revenue', fewHotRows, away)).not.toHaveProperty('partial');
});

test('all included fields are returned as stored', async () => {
  const answer = await ask(`event=revenue&includes=${EXPORT_GROUPS.join(',')}`);
  expect(exportAnswer.parse(answer)).toEqual(answer);
  expect(Object.keys(answer.data[0] ?? {}).sort()).toEqual(Object.keys(exportedEvent.shape).sort());
  expect(answer.data[0]).toMatchObject({
    profile: PROFILE_OF_ADA,
    meta: { eventId: 'event-1', receivedAt: '2026-06-09T18:30:00.002Z', query: 'a=b', hash: 'top' },
    properties: { size: 'xl', "o'key": '1' },
    referrerName: 'Search',
    longitude: 72.5,
    brand: 'Brand',
    language: 'hi-IN',
    timezone: 'Asia/Kolkata',
    screen: '1366x768',
    revenue: 19.99,
    currency: 'USD',
    orderId: 'order-1',
    utmContent: 'content',
    channel: 'paid',
    sdkVersion: '1.2.3',
  });
});

test('missing values are empty or null', async () => {
  const { data } = await ask('event=click&includes=revenue,geo,profile');
  expect(data[0]).toMatchObject({
    sessionId: '',
    profile: null,
    revenue: null,
    longitude: null,
    latitude: null,
  });
});

test('a span without a whole day is counted together with its page, and rollups are not looked up', async () => {
  const asked: string[] = [];
  const history: Pick<History, 'ask' | 'rejectAway'> = {
    ask: (statement, seam) => {
      asked.push(statement.name);
      return historyStore.history.ask(statement, seam);
    },
    rejectAway: () => {},
  };
  const totalOf = async (fromMs: number, toMs: number) => {
    const query = `start=${new Date(fromMs).toISOString()}&end=${new Date(toMs).toISOString()}`;
    const { meta } = await ask(query, fewHotRows, ownerOfProfiles(), history);
    return { total: meta.totalCount, asked: asked.splice(0) };
  };
  expect(await totalOf(DAY - DAY_MS + 1, DAY + DAY_MS)).toMatchObject({
    total: 5,
    asked: expect.arrayContaining(['rollup-spans']),
  });
  const counted = ['event-list-pieces', 'event-list'];
  expect(await totalOf(DAY + 1, DAY + DAY_MS)).toEqual({ total: 3, asked: counted });
  expect(await totalOf(DAY - DAY_MS / 2, DAY + DAY_MS / 2)).toEqual({ total: 5, asked: counted });
  const midnight = Math.floor(DAY / DAY_MS) * DAY_MS;
  expect((await totalOf(midnight, midnight + DAY_MS)).asked).toContain('rollup-spans');
  expect((await totalOf(midnight + 1, midnight + DAY_MS)).asked).toEqual(counted);
});

test('many megabytes of hot rows are exported', async () => {
  const many = Array.from({ length: 40_000 }, (_, index) => ({
    ...full,
    id: (index + 256).toString(16),
    flushNumber: 2,
  }));
  expect(eventBytes(many).length).toBeGreaterThan(12_000_000);
  const { meta, data } = await ask('event=revenue&limit=3', many);
  expect(meta.totalCount).toBe(40_001);
  expect(data.map(({ id }) => Number.parseInt(id, 16))).toEqual([0xab, 256, 257]);
});
