import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import {
  COLUMN_TYPES,
  EVENTS_COLUMNS,
  EVENTS_TABLE,
  SEARCH_CONSOLE_COLUMNS,
  SEARCH_CONSOLE_TABLE,
  SESSIONS_COLUMNS,
  SESSIONS_TABLE,
  structureOf,
  unionStructureOf,
} from '../rows.ts';
import { FoldRun, messageOf } from '../testing/run.ts';

let server: StoreServer;
let store: Store;
const folder = mkdtempSync(join(tmpdir(), 'footfall-schema-'));
const schema = join(projectRoot, 'processor/schema');

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: 'schema_test', requestTimeoutMs: 30_000 });
  await migrate(store, schema);
});

afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  [EVENTS_TABLE, EVENTS_COLUMNS],
  [SESSIONS_TABLE, SESSIONS_COLUMNS],
  [SEARCH_CONSOLE_TABLE, SEARCH_CONSOLE_COLUMNS],
])('the columns of %s are those of rows.ts, in its order and with its types', async (table, columns) => {
  const stored = await store.query<{ name: string; type: string }>(
    `SELECT name, type FROM system.columns
     WHERE database = {database:String} AND table = {table:String} AND default_kind != 'MATERIALIZED' ORDER BY position`,
    { database: 'schema_test', table },
  );
  const bare = (type: string) => type.replace(/^LowCardinality\((.*)\)$/, '$1');
  const wanted = columns.map((name) => {
    const type = table === SESSIONS_TABLE && name === 'revenue' ? 'Map(String, Int64)' : COLUMN_TYPES[name];
    return { name, type: type ?? 'String' };
  });
  expect(stored.map(({ name, type }) => ({ name, type: bare(type) }))).toEqual(wanted);
  if (table !== EVENTS_TABLE && table !== SESSIONS_TABLE) return;
  // Numbers need no dictionary: they are as short.
  const united = stored.map(
    ({ name, type }) => `${name} ${type.replace('LowCardinality(Float32)', 'Float32')}`,
  );
  expect(unionStructureOf(table)).toBe(united.join(', '));
});

test('the store reads back what the fold wrote', async () => {
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
    environment: {
      ...plainEvent().environment,
      city: 'Köln',
      longitude: 6.5,
      latitude: -50.25,
      language: 'de-DE',
      timezone: 'Europe/Berlin',
      screen: '390x844',
    },
  });
  run.take(messageOf([event], 1));
  run.take(messageOf([{ ...event, occurredAtMs: START_MS + 5 }], 2));
  run.flush();
  await insert(store, run);
  const events = await store.query(
    `SELECT lower(hex(sessionId)) AS session, path, title, revenue, currency, groups, properties, city, longitude, latitude,
       language, timezone, screen
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
      language: 'de-DE',
      timezone: 'Europe/Berlin',
      screen: '390x844',
    },
  ]);
  const sessions = await store.query(
    `SELECT sum(sign) AS sessions, sum(sign * screenViews) AS views, sum(sign * revenue['EUR']) AS euro,
            max(toUnixTimestamp64Milli(endedAt)) AS endedAt, any(exitPath) AS exitPath, any(city) AS city,
            any(language) AS language, any(timezone) AS timezone, any(screen) AS screen
     FROM ${SESSIONS_TABLE} WHERE projectId = 'demo'`,
  );
  expect(sessions).toEqual([
    {
      sessions: 1,
      views: 2,
      euro: -2468,
      endedAt: START_MS + 5,
      exitPath: '/größe/😀',
      city: 'Köln',
      language: 'de-DE',
      timezone: 'Europe/Berlin',
      screen: '390x844',
    },
  ]);
});

test.each([
  ['plain texts', structureOf],
  ['dictionaries', unionStructureOf],
])('hot rows are read by the format function with %s', async (_what, structure) => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent({ path: '/hot' })], 1));
  const { events, sessions } = run.ask({ kind: 'rows', projectId: storedId('demo') });
  const read = async (table: 'events' | 'sessions', bytes: Uint8Array, columns: string) =>
    store.query(
      `SELECT ${columns} FROM format(RowBinary, '${structure(table).replaceAll("'", "\\'")}', unhex('${Buffer.from(bytes).toString('hex')}'))`,
    );
  expect(await read('events', events, 'name, path')).toEqual([
    { name: 'session_start', path: '/hot' },
    { name: 'screen_view', path: '/hot' },
  ]);
  expect(await read('sessions', sessions, 'sign, screenViews, entryPath')).toEqual([
    { sign: 1, screenViews: 1, entryPath: '/hot' },
  ]);
});

describe('ids of events', () => {
  // Each sender, nine days ago and six days ago: on both sides of the eight days, whatever the time of day.
  const senders = ['web', 'node', ''].flatMap((sdkName) =>
    [9, 6].map((days) => ({ sdkName, days, eventId: `${sdkName}-${days}` })),
  );
  const retained = senders.map(({ eventId }) => eventId).filter((eventId) => eventId !== 'web-9');

  /** One message with an event of every sender, as a collector sends it. */
  function sent(): FoldRun {
    const run = new FoldRun();
    const nowMs = Date.now();
    const events = senders.map(({ sdkName, days, eventId }) =>
      plainEvent({ sdkName, eventId, deviceId: eventId, receivedAtMs: nowMs - days * DAY_MS }),
    );
    run.take(
      messageOf(
        events.sort((a, b) => a.receivedAtMs - b.receivedAtMs),
        1,
      ),
    );
    run.flush();
    return run;
  }

  async function storeOf(database: string): Promise<Store> {
    const own = new Store({ url: server.url, database, requestTimeoutMs: 30_000 });
    await migrate(own, schema);
    return own;
  }

  const idsIn = async (own: Store) => {
    const rows = await own.query<{ id: string }>(`SELECT eventId AS id FROM ${EVENTS_TABLE} ORDER BY id`);
    return rows.map(({ id }) => id).filter((id) => id !== '');
  };

  test('expire for the browser script after a week, and nothing else of any row changes', async () => {
    const run = sent();
    const retaining = await storeOf('ids_retained');
    const now = await storeOf('ids_now');
    await retaining.command(`ALTER TABLE ${EVENTS_TABLE} MODIFY COLUMN eventId REMOVE TTL`);
    for (const own of [retaining, now]) {
      await insert(own, run);
      await own.command(`OPTIMIZE TABLE ${EVENTS_TABLE} FINAL`);
    }
    expect(await idsIn(retaining)).toEqual([...retained, 'web-9'].sort());
    expect(await idsIn(now)).toEqual([...retained].sort());
    const rest = (own: Store) => own.query(`SELECT * EXCEPT eventId FROM ${EVENTS_TABLE} ORDER BY id, name`);
    expect(await rest(now)).toEqual(await rest(retaining));
    for (const own of [retaining, now]) await own.close();
  });

  test('expire with any merge', async () => {
    const own = await storeOf('ids_merged');
    // With a single part the store looks for expired ids once a day only; two parts can be merged immediately.
    for (const key of ['one', 'two']) await insert(own, sent(), key);
    const merged = async () => {
      await own.command(`OPTIMIZE TABLE ${EVENTS_TABLE}`);
      return idsIn(own);
    };
    await expect.poll(merged).toEqual([...retained, ...retained].sort());
    await own.close();
  });
});

async function insert(into: Store, run: FoldRun, key = ''): Promise<void> {
  const bytes = (rows: readonly { readonly bytes: Buffer }[]) => rows.map((row) => row.bytes);
  await into.insertRowBinary(EVENTS_TABLE, EVENTS_COLUMNS, bytes(run.events), `events${key}`);
  await into.insertRowBinary(SESSIONS_TABLE, SESSIONS_COLUMNS, bytes(run.sessions), `sessions${key}`);
}

test('the old files of every table leave the disk within seconds, after the new ones are synced', async () => {
  const tables = await store.query<{ name: string; settings: string }>(
    `SELECT name, engine_full AS settings FROM system.tables
     WHERE database = {database:String} AND engine LIKE '%MergeTree' AND name != 'schema_migrations' ORDER BY name`,
    { database: 'schema_test' },
  );
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['erasing', 'events', 'profiles']));
  const lacking = tables.filter(
    ({ settings }) =>
      !settings.includes('old_parts_lifetime = 10') ||
      !settings.includes('min_rows_to_fsync_after_merge = 1'),
  );
  expect(lacking).toEqual([]);
});
