import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../infra/migrate.ts';
import { projectRoot } from '../infra/root.ts';
import { Store } from '../infra/store.ts';
import { type StoreServer, startStoreServer } from '../infra/testing/store-server.ts';
import { plainEvent, START_MS } from '../ingest/testing/events.ts';
import {
  COLUMN_TYPES,
  EVENTS_COLUMNS,
  EVENTS_TABLE,
  SESSIONS_COLUMNS,
  SESSIONS_TABLE,
  structureOf,
} from './rows.ts';
import { FoldRun, messageOf } from './testing/run.ts';

let server: StoreServer;
let store: Store;
const folder = mkdtempSync(join(tmpdir(), 'footfall-schema-'));

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: 'schema_test', requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
});

afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  [EVENTS_TABLE, EVENTS_COLUMNS],
  [SESSIONS_TABLE, SESSIONS_COLUMNS],
])('the columns of %s are those of rows.ts, in its order and with its types', async (table, columns) => {
  const stored = await store.query<{ name: string; type: string }>(
    'SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String} ORDER BY position',
    { database: 'schema_test', table },
  );
  const bare = (type: string) => type.replace(/^LowCardinality\((.*)\)$/, '$1');
  const wanted = columns.map((name) => {
    const type = table === SESSIONS_TABLE && name === 'revenue' ? 'Map(String, Int64)' : COLUMN_TYPES[name];
    return { name, type: type ?? 'String' };
  });
  expect(stored.map(({ name, type }) => ({ name, type: bare(type) }))).toEqual(wanted);
});

test('what the fold writes is read back by the store as it was meant', async () => {
  const run = new FoldRun();
  const event = plainEvent({
    sessionId: 'ab'.repeat(16),
    path: '/größe/😀',
    title: 'a\u0001b"\\',
    profileId: 'profile',
    revenue: -1234n,
    currency: 'EUR',
    groups: ['g1', ''],
    properties: ['key', 'välue', 'empty', ''],
    setting: { ...plainEvent().setting, city: 'Köln', longitude: 6.5, latitude: -50.25 },
  });
  run.take(messageOf([event], 1));
  run.take(messageOf([{ ...event, occurredAtMs: START_MS + 5 }], 2));
  run.flush();
  await insert(run);
  const events = await store.query(
    `SELECT lower(hex(sessionId)) AS session, path, title, revenue, currency, groups, properties, city, longitude, latitude
     FROM ${EVENTS_TABLE} WHERE name = 'screen_view' AND createdAt = fromUnixTimestamp64Milli({at:Int64}, 'UTC')`,
    { at: START_MS },
  );
  expect(events).toEqual([
    {
      session: 'ab'.repeat(16),
      path: '/größe/😀',
      title: 'a\u0001b"\\',
      revenue: -1234,
      currency: 'EUR',
      groups: ['g1', ''],
      properties: { key: 'välue', empty: '' },
      city: 'Köln',
      longitude: 6.5,
      latitude: -50.25,
    },
  ]);
  const sessions = await store.query(
    `SELECT sum(sign) AS sessions, sum(sign * screenViews) AS views, sum(sign * revenue['EUR']) AS euro,
            max(toUnixTimestamp64Milli(endedAt)) AS endedAt, any(exitPath) AS exitPath, any(city) AS city
     FROM ${SESSIONS_TABLE} WHERE projectId = 'demo'`,
  );
  expect(sessions).toEqual([
    { sessions: 1, views: 2, euro: -2468, endedAt: START_MS + 5, exitPath: '/größe/😀', city: 'Köln' },
  ]);
});

test('hot rows are read by the format function with the structure of rows.ts', async () => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent({ path: '/hot' })], 1));
  const { events, sessions } = run.ask({ kind: 'rows', projectId: 'demo' });
  const read = async (table: 'events' | 'sessions', bytes: Uint8Array, columns: string) =>
    store.query(
      `SELECT ${columns} FROM format(RowBinary, '${structureOf(table).replaceAll("'", "\\'")}', unhex('${Buffer.from(bytes).toString('hex')}'))`,
    );
  expect(await read('events', events, 'name, path')).toEqual([
    { name: 'session_start', path: '/hot' },
    { name: 'screen_view', path: '/hot' },
  ]);
  expect(await read('sessions', sessions, 'sign, screenViews, entryPath')).toEqual([
    { sign: 1, screenViews: 1, entryPath: '/hot' },
  ]);
});

async function insert(run: FoldRun): Promise<void> {
  const bytes = (rows: readonly { readonly bytes: Buffer }[]) => rows.map((row) => row.bytes);
  await store.insertRowBinary(EVENTS_TABLE, EVENTS_COLUMNS, bytes(run.events), 'events');
  await store.insertRowBinary(SESSIONS_TABLE, SESSIONS_COLUMNS, bytes(run.sessions), 'sessions');
}
