import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { EVENTS_COLUMNS, HOURLY_PAGES_DAYS, ROLLUP_DIMENSIONS, SESSIONS_COLUMNS } from '../rows.ts';
import { keepHourlyPages } from '../testing/rollups.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { ROLLUP_TABLES } from '../testing/stored-rollups.ts';
import { rollUp } from './rollup.ts';
import { startOfUnit } from './units.ts';

const DATABASE = 'tables_test';
// The store drops old hours by the wall clock.
const NOW_MS = startOfUnit('hour', Date.now());
const RECENT_MS = NOW_MS - 5 * DAY_MS;
const OLD_MS = NOW_MS - (HOURLY_PAGES_DAYS + 40) * DAY_MS;

let server: StoreServer;
let store: Store;
const folder = mkdtempSync(join(tmpdir(), 'footfall-sums-tables-'));

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: DATABASE, requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  const run = new FoldRun();
  [OLD_MS, RECENT_MS].forEach((occurredAtMs, index) => {
    run.take(
      messageOf(
        [plainEvent({ occurredAtMs, receivedAtMs: occurredAtMs, sessionId: `${index + 1}`.repeat(32) })],
        index + 1,
      ),
    );
  });
  run.flush();
  const bytes = (rows: readonly { readonly bytes: Buffer }[]) => rows.map((row) => row.bytes);
  await store.insertRowBinary('events', EVENTS_COLUMNS, bytes(run.events), undefined);
  await store.insertRowBinary('sessions', SESSIONS_COLUMNS, bytes(run.sessions), undefined);
});

afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.each(Object.entries(ROLLUP_DIMENSIONS))(
  'the dimensions of %s are those of rows.ts',
  async (table, dimensions) => {
    const columns = await store.query<{ name: string; type: string; isKey: number }>(
      `SELECT name, type, is_in_sorting_key AS isKey FROM system.columns
     WHERE database = {database:String} AND table = {table:String} ORDER BY position`,
      { database: DATABASE, table },
    );
    const names = columns.map(({ name }) => name);
    expect(names.slice(0, 3)).toEqual(['projectId', 'day', 'block']);
    expect(names.slice(-6)).toEqual(['begun', 'viewed', 'bounced', 'lastedMs', 'revenue', 'visitors']);
    const between = columns.slice(3, -6);
    expect(between.map(({ name }) => name)).toEqual([...dimensions]);
    // A row for each combination: a column outside the key would lose rows when the store merges.
    for (const { name, isKey } of between) expect(`${name} ${isKey}`).toBe(`${name} 1`);
  },
);

test('every column of the rollup tables names its codec', async () => {
  const bare = await store.query(
    `SELECT table, name FROM system.columns
     WHERE database = {database:String} AND table IN {tables:Array(String)} AND compression_codec = ''`,
    { database: DATABASE, tables: ROLLUP_TABLES },
  );
  expect(bare).toEqual([]);
});

async function rollUpBoth(nowMs: number, block: number): Promise<void> {
  const startsMs = [OLD_MS, RECENT_MS];
  await rollUp(store, { projectId: undefined, unit: 'hour', startsMs, block, flushed: [1], nowMs });
}

async function hoursOf(table: string): Promise<readonly number[]> {
  const rows = await store.query<{ hour: number }>(
    `SELECT DISTINCT toUnixTimestamp(hour) AS hour FROM ${table} ORDER BY hour`,
  );
  return rows.map(({ hour }) => hour * 1000);
}

async function ttlOfPages(): Promise<string> {
  const [table] = await store.query<{ text: string }>(
    'SELECT create_table_query AS text FROM system.tables WHERE database = {database:String} AND name = {table:String}',
    { database: DATABASE, table: 'hourly_pages' },
  );
  expect(table?.text).toContain('ttl_only_drop_parts = 1');
  return must(/ TTL (.*) SETTINGS /.exec(table?.text ?? '')?.[1], 'hours by page have a TTL');
}

test('old hours have totals and no pages, and pages are removed when they grow old', async () => {
  const ttl = await ttlOfPages();
  expect(ttl).toBe(`hour + toIntervalDay(${HOURLY_PAGES_DAYS})`);
  await keepHourlyPages(store);
  await rollUpBoth(NOW_MS, 2);
  expect(await hoursOf('hourly_totals')).toEqual([OLD_MS, RECENT_MS]);
  expect(await hoursOf('hourly_pages')).toEqual([RECENT_MS]);
  // Rolls them up as if they were still recent.
  await rollUpBoth(OLD_MS + DAY_MS, 4);
  expect(await hoursOf('hourly_pages')).toEqual([OLD_MS, RECENT_MS]);
  await store.command(`ALTER TABLE hourly_pages MODIFY TTL ${ttl} SETTINGS mutations_sync = 1`);
  await store.command('OPTIMIZE TABLE hourly_pages FINAL');
  expect(await hoursOf('hourly_pages')).toEqual([RECENT_MS]);
  expect(await hoursOf('hourly_totals')).toEqual([OLD_MS, RECENT_MS]);
});
