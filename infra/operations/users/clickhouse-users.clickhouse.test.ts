import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectRoot } from '../../root.ts';
import { migrate, statements } from '../../store/migrate.ts';
import { Store } from '../../store/store.ts';
import { StoreError } from '../../store/store-error.ts';
import { settlePlace } from '../../store/store-shards.ts';
import { type StoreServer, startStoreServer } from '../../testing/store-server.ts';

// The users of an outside ClickHouse, read by the embedded engine. It cannot make users, and says so once it has parsed a statement.

const ACCESS_DENIED = 497;
const UNKNOWN_ROLE = 511;
const SYNTAX_ERROR = 62;
const UNKNOWN_ACCESS = 47;
/** Tables that questions never read: the processor's own notes. */
const NOT_ASKED = ['late_hours', 'orders', 'rollup_blocks', 'rollup_days', 'schema_migrations', 'tallies'];

const text = readFileSync(join(projectRoot, 'infra/operations/users/clickhouse-users.sql'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'footfall-store-users-'));
let server: StoreServer;
let store: Store;

beforeAll(async () => {
  server = await startStoreServer({ dataDir: folder });
  store = new Store({ url: server.url, database: 'footfall', requestTimeoutMs: 30_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  await settlePlace(store, { shard: 0, shards: 2 });
});
afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The tables of the database on which a user has a right. */
function granted(user: string, right: string): readonly string[] {
  const grants = text.matchAll(/^GRANT ([A-Z ,]+) ON footfall\.(\S+) TO (\w+);$/gm);
  return [...grants]
    .filter(([, rights = '', , to]) => to === user && rights.split(', ').includes(right))
    .map(([, , table = '']) => table)
    .sort();
}

async function codeOf(statement: string): Promise<number | undefined> {
  try {
    await store.command(statement);
    return undefined;
  } catch (error) {
    if (error instanceof StoreError) return error.code;
    throw error;
  }
}

test('the engine reads every statement', async () => {
  const all = statements(text);
  expect(all.length).toBeGreaterThan(20);
  const [database = '', ...rights] = all;
  expect(await codeOf(database)).toBeUndefined();
  for (const statement of rights)
    expect([statement, await codeOf(statement)]).toEqual([
      statement,
      expect.toBeOneOf([ACCESS_DENIED, UNKNOWN_ROLE]),
    ]);
  const wrong = ['GRANT SELEKT ON footfall.* TO footfall_query', 'CREATE USER a IDENTIFIED WITH nothing'];
  for (const statement of wrong) expect([SYNTAX_ERROR, UNKNOWN_ACCESS]).toContain(await codeOf(statement));
});

test('every table may be read for questions, or is one that no question reads', async () => {
  const tables = await store.query<{ name: string }>(
    'SELECT name FROM system.tables WHERE database = currentDatabase() ORDER BY name',
  );
  expect([...granted('footfall_query', 'SELECT'), ...NOT_ASKED].sort()).toEqual(
    tables.map(({ name }) => name),
  );
  const named = new RegExp(`\\b(?:FROM|JOIN|IN)\\s+\\(?(?:${NOT_ASKED.join('|')})\\b`);
  const files = readdirSync(join(projectRoot, 'query'), { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => file.endsWith('.ts') && !/\.test\.ts$|testing/.test(file));
  expect(sources.length).toBeGreaterThan(100);
  expect(
    sources.filter((file) => named.test(readFileSync(join(projectRoot, 'query', file), 'utf8'))),
  ).toEqual([]);
});

test('only the processor changes tables, and the query tier writes one', () => {
  expect(granted('footfall_processor', 'SELECT')).toEqual(['*']);
  for (const user of ['footfall_query', 'footfall_import'])
    for (const right of ['CREATE TABLE', 'DROP TABLE', 'ALTER TABLE'])
      expect(granted(user, right)).toEqual([]);
  expect(granted('footfall_query', 'INSERT')).toEqual([]);
  expect(granted('footfall_import', 'INSERT')).toEqual(['search_console']);
});
