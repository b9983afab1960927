import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { cloudText, clusterText, tableLike } from '../../infra/store/cluster-text.ts';
import { migrate, statements } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { type StoreTarget, startStoreTarget } from '../../infra/testing/store-target.ts';
import { BACKED_TABLES } from '../backups.ts';

// Every statement of the schema as a cluster of replicas gets it, read by the engine's own parser. Its effect there is not shown: a single
// engine has no cluster.

const FOLDER = join(projectRoot, 'processor/schema');
const SCHEMA = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.sql'))
  .sort()
  .flatMap((name) =>
    statements(readFileSync(join(FOLDER, name), 'utf8')).map((text, index) => ({
      at: `${name} ${index + 1}`,
      text,
    })),
  );

let target: StoreTarget;
let store: Store;
beforeAll(async () => {
  target = await startStoreTarget();
  store = new Store({ url: target.url, database: target.database, requestTimeoutMs: 30_000 });
  await migrate(store, FOLDER);
});
afterAll(async () => {
  await store?.close();
  await target?.stop();
});

/** The statement as the engine writes it, after it has read it. */
async function asRead(text: string): Promise<string> {
  const [row] = await store.query<{ read: string }>('SELECT formatQuery({text:String}) AS read', { text });
  return row?.read ?? '';
}

describe.each(SCHEMA)('$at', ({ text }) => {
  test('is a statement for a cluster, and otherwise the same', async () => {
    const read = await asRead(clusterText(text, 'our_cluster'));
    const alone = await asRead(text);
    expect(read).toContain('ON CLUSTER our_cluster');
    if (alone.startsWith('DROP')) expect(read).toMatch(/ SYNC$/);
    const back = read
      .replace(/^(DROP [\s\S]*) SYNC$/, '$1')
      .replace(' ON CLUSTER our_cluster', '')
      .replace('Replicated', '')
      .replace(/\('\/clickhouse\/tables\/\{shard\}\/\{database\}\/\{table\}', '\{replica\}'(?:, )?/, '(')
      .replace('MergeTree()', 'MergeTree')
      .replace(
        /replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/,
        'non_replicated_deduplication_window = $1',
      )
      .replace(/, replicated_deduplication_window = 0/, '');
    expect(back).toBe(alone);
  });

  test('is a statement for ClickHouse Cloud, and otherwise the same', async () => {
    const back = (await asRead(cloudText(text)))
      .replace(/^(DROP [\s\S]*) SYNC$/, '$1')
      .replace(
        /(?<!_)replicated_deduplication_window = (\d+), replicated_deduplication_window_seconds = \d+/,
        'non_replicated_deduplication_window = $1',
      )
      .replace(/, replicated_deduplication_window = 0/, '');
    expect(back).toBe((await asRead(text)).replace(/^(DROP [\s\S]*) SYNC$/, '$1'));
    const window = /non_replicated_deduplication_window = (\d+)/.exec(text)?.[1] ?? '0';
    if (!/CREATE TABLE/.test(text)) return;
    expect(cloudText(text).match(/\breplicated_deduplication_window = (\d+)/)?.[1]).toBe(window);
  });

  test('makes a replicated table, if it makes one, whose keys are as before', () => {
    const cluster = clusterText(text, 'our_cluster');
    if (!/CREATE TABLE/.test(text)) return;
    expect(cluster).toMatch(
      /ENGINE = Replicated\w*MergeTree\('\/clickhouse\/tables\/\{shard\}\/\{database\}\/\{table\}', '\{replica\}'/,
    );
    const window = /non_replicated_deduplication_window = (\d+)/.exec(text)?.[1] ?? '0';
    expect(cluster.match(/\breplicated_deduplication_window = (\d+)/)?.[1]).toBe(window);
    expect(cluster).not.toContain('non_replicated');
  });
});

test('a table for a backup has the order of its table, and a place of its own', async () => {
  for (const { name } of BACKED_TABLES) {
    const [found] = await store.query<{ engine: string }>(
      'SELECT engine_full AS engine FROM system.tables WHERE database = currentDatabase() AND name = {name:String}',
      { name },
    );
    // The engine of such a table, as the store would report it.
    const engineFull = (found?.engine ?? '').replace(
      /^(\w+)(?:\(([^)]*)\))?/,
      (_, engine: string, own?: string) =>
        `Replicated${engine}('/clickhouse/tables/{shard}/footfall/${name}', '{replica}'${own === undefined ? '' : `, ${own}`})`,
    );
    const text = tableLike({ table: `backup_1_${name}`, like: name, engineFull }, 'our_cluster');
    const read = await asRead(text);
    expect(read).toContain(`CREATE TABLE backup_1_${name} ON CLUSTER our_cluster AS ${name}`);
    expect(read).toContain("('/clickhouse/tables/{shard}/{database}/{table}', '{replica}'");
    expect(read).not.toContain(`footfall/${name}`);
    const order = /ORDER BY [^\n]*/.exec(
      await asRead(`CREATE TABLE t (a UInt8) ENGINE = ${found?.engine}`),
    )?.[0];
    expect(read).toContain(order ?? 'no order');
  }
  expect(() => tableLike({ table: 'a', like: 'b', engineFull: 'MergeTree ORDER BY n' }, 'c')).toThrow(
    'not replicated',
  );
});

test.each([
  ['CREATE DATABASE IF NOT EXISTS `footfall`', "CREATE DATABASE IF NOT EXISTS `footfall` ON CLUSTER 'c'"],
  ['TRUNCATE TABLE IF EXISTS rollup_days', "TRUNCATE TABLE IF EXISTS rollup_days ON CLUSTER 'c'"],
  ['DROP TABLE IF EXISTS backup_1_events SYNC', "DROP TABLE IF EXISTS backup_1_events ON CLUSTER 'c' SYNC"],
  ['DROP TABLE IF EXISTS daily_pages', "DROP TABLE IF EXISTS daily_pages ON CLUSTER 'c' SYNC"],
  ['-- why\nALTER TABLE a ADD COLUMN b UInt8', "-- why\nALTER TABLE a ON CLUSTER 'c' ADD COLUMN b UInt8"],
])('%s', async (text, expected) => {
  expect(clusterText(text, 'c')).toBe(expected);
  expect(await asRead(clusterText(text, 'c'))).toContain('ON CLUSTER c');
});

test.each([
  'DROP DATABASE a',
  'OPTIMIZE TABLE a FINAL',
  'RENAME TABLE a TO b',
  'CREATE TABLE a (n UInt8) ENGINE = Memory',
  'CREATE TABLE a AS b',
  'CREATE MATERIALIZED VIEW a ENGINE = MergeTree ORDER BY n AS SELECT 1 AS n',
])('%s is refused', (text) => {
  expect(() => clusterText(text, 'c')).toThrow('no form for replicas');
  expect(() => cloudText(text)).toThrow('no form for replicas');
});
