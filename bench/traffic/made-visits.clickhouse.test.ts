import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import {
  ENVIRONMENT_COLUMNS,
  LANES_DEFAULT,
  laneOf,
  SESSION_END,
  SESSION_START,
  SOURCE_COLUMNS,
  sessionIdOf,
} from '../../ingest/event.ts';
import { storedFlushNumber } from '../../processor/lane/load-state.ts';
import { type ReferenceEvent, type ReferenceResult, reference } from '../../processor/testing/reference.ts';
import { DISTRIBUTION, fillStore, SITE_CURRENCY } from './made-visits.ts';

// Compares the site of the query benchmark with the oracle: its rows must be those that the fold would have written.

const PLAN = { seed: 3, events: 6_000, site: 'demo', endMs: Date.UTC(2026, 5, 1, 14) };
const RETAIN_MS = HOUR_MS;
const DATABASES = ['made', 'again'] as const;

interface EventRow {
  readonly id: string;
  readonly partition: number;
  readonly flushNumber: number;
  readonly sessionId: string;
  readonly deviceId: string;
  readonly profileId: string;
  readonly eventId: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly receivedAtMs: number;
  readonly revenue: number;
  readonly currency: string;
  readonly origin: string;
  readonly path: string;
  readonly source: readonly string[];
  readonly environment: readonly (string | number)[];
}

const folder = mkdtempSync(join(tmpdir(), 'footfall-query-site-'));
let server: StoreServer;
let store: Store;
let events: EventRow[];
let oracle: ReferenceResult;
let filled: Awaited<ReturnType<typeof fillStore>>;

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  for (const database of DATABASES) {
    store = new Store({ url: server.url, database, requestTimeoutMs: 60_000 });
    await migrate(store, join(projectRoot, 'processor/schema'));
    filled = await fillStore(store, PLAN, () => {});
    if (database !== DATABASES.at(-1)) await store.close();
  }
  const texts = (columns: readonly string[]) => `[${columns.map((name) => `toString(${name})`).join(', ')}]`;
  events = await store.query<EventRow>(
    `SELECT hex(id) AS id, partition, flushNumber, lower(hex(sessionId)) AS sessionId, deviceId, profileId, eventId, name,
      toUnixTimestamp64Milli(createdAt) AS createdAtMs, toUnixTimestamp64Milli(receivedAt) AS receivedAtMs,
      revenue, currency, origin, path, ${texts(SOURCE_COLUMNS)} AS source, ${texts(ENVIRONMENT_COLUMNS)} AS environment
     FROM events ORDER BY createdAt, id`,
  );
  const arrivals = events.filter(({ name }) => !isSynthetic(name)).map(arrivalOf);
  const options = { retainMs: RETAIN_MS, lanes: LANES_DEFAULT };
  oracle = reference([...arrivals, { tickAtMs: PLAN.endMs }], options);
});

afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the sessions are those that the oracle makes of the events', async () => {
  const texts = [...SOURCE_COLUMNS, ...ENVIRONMENT_COLUMNS].map((name) => `toString(${name})`).join(', ');
  const stored = await store.query(
    `SELECT lower(hex(id)) AS id, partition, deviceId, profileId, screenViews, otherEvents, sign, ended,
      toUnixTimestamp64Milli(startedAt) AS startedAtMs, toUnixTimestamp64Milli(endedAt) AS endedAtMs,
      toUnixTimestamp64Milli(touchedAt) AS touchedAtMs, mapApply((k, v) -> (k, toString(v)), revenue) AS revenue,
      if(toUnixTimestamp64Milli(entryAt) = 0, startedAtMs, toUnixTimestamp64Milli(entryAt)) AS entryAtMs,
      if(toUnixTimestamp64Milli(exitAt) = 0, endedAtMs, toUnixTimestamp64Milli(exitAt)) AS exitAtMs, entryIsView, exitIsView,
      entryOrigin, entryPath, exitOrigin, exitPath, [${texts}] AS texts
     FROM sessions WHERE projectId = {site:String} ORDER BY id`,
    { site: PLAN.site },
  );
  const expected = oracle.sessions.map((session) => ({
    id: session.id,
    partition: laneOf(storedId(PLAN.site), session.deviceId, { lanes: LANES_DEFAULT, storeShards: 1 }),
    deviceId: session.deviceId,
    profileId: session.profileId,
    screenViews: session.screenViews,
    otherEvents: session.otherEvents,
    sign: 1,
    ended: 0,
    startedAtMs: session.startedAtMs,
    endedAtMs: session.endedAtMs,
    touchedAtMs: session.touchedAtMs,
    revenue: Object.fromEntries(Object.entries(session.revenue).map(([code, sum]) => [code, String(sum)])),
    entryAtMs: session.entry.occurredAtMs,
    exitAtMs: session.exit.occurredAtMs,
    entryIsView: session.entry.name === 'screen_view' ? 1 : 0,
    exitIsView: session.exit.name === 'screen_view' ? 1 : 0,
    entryOrigin: session.entry.origin,
    entryPath: session.entry.path,
    exitOrigin: session.exit.origin,
    exitPath: session.exit.path,
    texts: [...(session.entry.source as string[]), ...(session.entry.environment as string[])],
  }));
  expect(expected).toHaveLength(filled.sessions);
  expect(stored).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
});

test('sessions have their start, and their end unless they would still be held', () => {
  const found = events.filter(({ name }) => isSynthetic(name));
  // Without an open session, this would show nothing about open sessions.
  expect(oracle.sessions.some(({ evicted }) => !evicted)).toBe(true);
  const line = (name: string, sessionId: string, atMs: number) => `${sessionId} ${name} ${atMs}`;
  const expected = oracle.synthetic.map((row) => line(row.name, row.sessionId, row.createdAtMs));
  expect(found.map((row) => line(row.name, row.sessionId, row.createdAtMs)).sort()).toEqual(expected.sort());
});

test('every row is where its device belongs, and came with a flush of its time', () => {
  const startMs = PLAN.endMs - 365 * DAY_MS;
  for (const { partition, deviceId, flushNumber, receivedAtMs } of events) {
    expect(partition).toBe(laneOf(storedId(PLAN.site), deviceId, { lanes: LANES_DEFAULT, storeShards: 1 }));
    expect(flushNumber).toBe(Math.floor((receivedAtMs - startMs) / 2_000) + 1);
    expect(flushNumber).toBeLessThanOrEqual(filled.flushNumber);
  }
});

test('ids are ids, and every lane finds its last flush', async () => {
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1) {
    expect(await storedFlushNumber(store, lane)).toBe(filled.flushNumber);
  }
  const markers = await store.query<{ id: string }>(
    "SELECT hex(id) AS id FROM sessions WHERE projectId = '' ORDER BY id",
  );
  expect(markers.map(({ id }) => Number.parseInt(id.slice(28), 16) / 256)).toEqual(
    Array.from({ length: LANES_DEFAULT }, (_, lane) => lane),
  );
});

test('a session’s id is that of its beginning but for the hash, and an end’s is made of it as by the fold', () => {
  const slotsOf = (sessionId: string) => sessionId.slice(0, 16);
  expect(oracle.sessions.map(({ id }) => slotsOf(id))).toEqual(
    oracle.sessions.map(({ deviceId, startedAtMs }) =>
      slotsOf(sessionIdOf(storedId(PLAN.site), deviceId, startedAtMs, startedAtMs)),
    ),
  );
  const ends = events.filter(({ name }) => name === SESSION_END);
  expect(ends.map(({ id }) => id.toLowerCase())).toEqual(
    ends.map(({ sessionId }) => `ffffffff${sessionId.slice(0, 8)}${sessionId.slice(16)}`),
  );
});

test('the site is as large and as varied as it was meant to be', () => {
  const sent = events.filter(({ name }) => !isSynthetic(name));
  expect(sent).toHaveLength(filled.acknowledged);
  expect(Math.abs(sent.length / PLAN.events - 1)).toBeLessThan(0.05);
  const bounces = oracle.sessions.filter(({ screenViews }) => screenViews <= 1).length;
  expect(bounces / oracle.sessions.length).toBeCloseTo(DISTRIBUTION.bounceShare, 1);
  const known = oracle.sessions.filter(({ profileId }) => profileId !== '').length;
  expect(known / oracle.sessions.length).toBeCloseTo(DISTRIBUTION.knownShare, 1);
  expect(new Set(oracle.sessions.map(({ deviceId }) => deviceId)).size).toBeLessThan(oracle.sessions.length);
  expect(sent.some(({ revenue, currency }) => revenue > 0 && currency === SITE_CURRENCY)).toBe(true);
});

test('the same seed makes the same rows', async () => {
  const sums = DATABASES.map((database) =>
    store.query(
      `SELECT (SELECT sum(cityHash64(*)) FROM ${database}.events) AS events,
        (SELECT sum(cityHash64(*)) FROM ${database}.sessions) AS sessions`,
      {},
      { output_format_json_quote_64bit_integers: 1 },
    ),
  );
  const [made, again] = await Promise.all(sums);
  expect(made).toEqual(again);
});

function isSynthetic(name: string): boolean {
  return name === SESSION_START || name === SESSION_END;
}

function arrivalOf(row: EventRow): ReferenceEvent {
  const { createdAtMs, receivedAtMs, revenue, ...rest } = row;
  const amount = row.currency === '' ? undefined : BigInt(revenue);
  return { ...rest, projectId: PLAN.site, occurredAtMs: createdAtMs, receivedAtMs, revenue: amount };
}
