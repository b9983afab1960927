import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { keepInstant, openInstant, openRestored } from '../../processor/backups/instant.ts';
import { BACKED_TABLES, instantTable, restoredTable } from '../../processor/backups.ts';
import { BackupFolder } from '../../query/manage/admin/whole/backup-folder.ts';
import type { TableFiles } from '../../query/manage/admin/whole/manifest.ts';
import { readTables } from '../../query/manage/admin/whole/tables-in.ts';
import { hasInstant, writeTables } from '../../query/manage/admin/whole/tables-out.ts';

// Rows of every table with values of every kind, out to Parquet files and in again: not a bit differs.

const ROWS = 5_000;
const FILE_ROWS_MAX = 700;
const BACKUP = 'aaaaaaaa';
const folder = mkdtempSync(join(tmpdir(), 'footfall-backup-files-'));
const place = new BackupFolder(folder);
let server: StoreServer;
let store: Store;
let stores: PerShard<Store>;

beforeAll(async () => {
  server = await startStoreServer({ dataDir: join(folder, 'data') });
  store = new Store({ url: server.url, database: 'footfall', requestTimeoutMs: 60_000 });
  stores = new PerShard([store]);
  await migrate(store, join(projectRoot, 'processor/schema'));
  for (const { name } of BACKED_TABLES) await fill(name);
  await openInstant(store, BACKUP);
  await keepInstant(store, BACKUP);
});
afterAll(async () => {
  await store.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Random bytes in every column that the store does not compute, with texts that are no UTF-8, and times of few days. */
async function fill(table: string): Promise<void> {
  const columns = (await columnsOf(table)).map(
    ({ name, type }) => [name, madeValue(table, name, type)] as const,
  );
  await store.command(
    `INSERT INTO ${table} (${columns.map(([name]) => `\`${name}\``).join(', ')})
     SELECT ${columns.map(([, value]) => value).join(', ')} FROM numbers(${ROWS})`,
  );
}

function madeValue(table: string, name: string, type: string): string {
  if (name === 'sign') return '1';
  if (name === 'partition') return '0';
  if (name === 'flushNumber') return 'number % 40 + 1';
  if (name === 'startedAt' || (name === 'createdAt' && table === 'events'))
    return "toDateTime64('2026-03-28 22:00:00', 3, 'UTC') + number * 61.017";
  const plain = type.replace(/LowCardinality\((.*)\)/, '$1').replace(/ DEFAULT .*$/, '');
  if (plain === 'String') return `concat(toString(number % 97), '${name}', char(number % 256), 'ü')`;
  if (plain.startsWith('FixedString')) return 'reinterpretAsFixedString(sipHash128(number))';
  if (plain.startsWith('Float')) return '(number - 2500) / 7';
  if (plain.startsWith('Array')) return "arrayMap(n -> concat(toString(n), ''''), range(number % 4))";
  if (plain === 'Map(String, String)') return "map('a', toString(number), concat('ö', toString(number)), '')";
  if (plain === 'Map(String, Int64)') return "map('EUR', -toInt64(number), 'JPY', 9007199254740993)";
  if (plain === 'Bool') return 'number % 2';
  if (plain === 'Date') return "toDate('2026-01-01') + number % 90";
  if (plain.startsWith('DateTime64'))
    return "toDateTime64('1970-01-01 00:00:00', 3, 'UTC') + number * 86399.999";
  if (plain.startsWith('DateTime')) return "toDateTime('2026-01-01 00:00:00', 'UTC') + number * 3600";
  if (plain === 'UInt64') return '18446744073709551615 - number';
  if (plain === 'Int64') return '-9223372036854775807 + number';
  return 'number % 100';
}

async function columnsOf(table: string): Promise<readonly { name: string; type: string }[]> {
  return store.query(
    `SELECT name, type FROM system.columns
     WHERE database = currentDatabase() AND table = {table:String} AND default_kind != 'MATERIALIZED'`,
    { table },
  );
}

/** Row count of a table, and a sum over all bits of all columns except `left`. */
async function sumOf(table: string, left: readonly string[]): Promise<unknown> {
  const columns = (await columnsOf(table)).filter(({ name }) => !left.includes(name));
  const values = columns.map(({ name }) => `hex(sipHash128(\`${name}\`))`).join(', ');
  const final = table.endsWith('_events') ? '' : 'FINAL';
  const [row] = await store.query(
    `SELECT count() AS rows, toString(sum(cityHash64(${values}))) AS sum FROM ${table} ${final}`,
  );
  return row;
}

test('every value of every table is the same, also in days of several files', async () => {
  const notes: string[] = [];
  const out = {
    place,
    backupId: BACKUP,
    writeNote: (note: string) => notes.push(note),
    fileRowsMax: FILE_ROWS_MAX,
  };
  expect(await hasInstant(stores, BACKUP)).toBe(true);
  expect(await hasInstant(stores, 'bbbbbbbb')).toBe(false);
  const tables = await writeTables(stores, out);
  const files = (of: TableFiles | undefined) => of?.files.map(({ file }) => file) ?? [];
  const byName = new Map(tables.map((table) => [table.name, table]));
  expect(files(byName.get('events')).slice(0, 3)).toEqual([
    'events/2026-03-28.parquet',
    'events/2026-03-29-1-of-3.parquet',
    'events/2026-03-29-2-of-3.parquet',
  ]);
  expect(files(byName.get('profiles'))[0]).toBe('profiles/all-1-of-8.parquet');
  expect(notes.at(-1)).toMatch(/^events: written (\d+) of \1 files, 5000 rows, /);
  // Existing files are not written again, and are described the same.
  expect(await writeTables(stores, out)).toEqual(tables);
  await openRestored(store, 'cccccccc');
  const target = {
    attempt: 'cccccccc',
    lanes: [{ flushNumber: 40, clockMs: 0 }],
    versionMax: '18446744073709551615',
  };
  await readTables(stores, { place, tables, writeNote: () => {} }, target);
  for (const { name } of BACKED_TABLES)
    expect([name, await sumOf(restoredTable('cccccccc', name), [])]).toEqual([
      name,
      await sumOf(instantTable(BACKUP, name), []),
    ]);
});

test('rows fit under a lane with fewer flushes and a bus that is older', async () => {
  const tables = await writeTables(stores, { place, backupId: BACKUP, writeNote: () => {} });
  await openRestored(store, 'dddddddd');
  const target = { attempt: 'dddddddd', lanes: [{ flushNumber: 7, clockMs: 0 }], versionMax: '1000' };
  await readTables(stores, { place, tables, writeNote: () => {} }, target);
  const max = async (table: string, column: string) => {
    const rows = await store.query<{ max: string }>(
      `SELECT toString(max(${column})) AS max FROM ${restoredTable('dddddddd', table)}`,
    );
    return rows[0]?.max;
  };
  expect(await max('events', 'flushNumber')).toBe('7');
  expect(await max('profiles', 'version')).toBe('1000');
  // The version of a session counts its states and is no message number.
  expect(await max('sessions', 'version')).toBe('99');
  for (const { name, hasMessages } of BACKED_TABLES) {
    const left = hasMessages ? ['version'] : ['flushNumber'];
    expect([name, await sumOf(restoredTable('dddddddd', name), left)]).toEqual([
      name,
      await sumOf(instantTable(BACKUP, name), left),
    ]);
  }
});

test('columns that this release does not have are refused, and nothing of their text becomes part of a statement', async () => {
  const tables = await writeTables(stores, { place, backupId: BACKUP, writeNote: () => {} });
  const target = { attempt: 'ffffffff', lanes: [{ flushNumber: 40, clockMs: 0 }], versionMax: '1000' };
  await openRestored(store, target.attempt);
  const [first] = must(tables.at(-1), 'there are tables').columns;
  const known = must(first, 'it has columns');
  const injected = "id`) SELECT 'x' AS `id` FROM system.users --";
  const hostile: readonly ((columns: TableFiles['columns']) => TableFiles['columns'])[] = [
    (columns) => [...columns.slice(1), { ...known, name: injected }],
    (columns) => [...columns.slice(1), { ...known, type: "String', (SELECT hostName()), '" }],
    (columns) => [...columns, { ...known, name: 'more' }],
    (columns) => [...columns.slice(1), must(columns[1], 'there are more')],
    (columns) => columns.slice(1),
  ];
  for (const change of hostile) {
    const changed = tables.map((table, at) =>
      at === tables.length - 1 ? { ...table, columns: change(table.columns) } : table,
    );
    const reading = readTables(stores, { place, tables: changed, writeNote: () => {} }, target);
    await expect(reading).rejects.toThrow(
      /the manifest names columns of events that this release does not have; nothing was changed/,
    );
  }
  for (const { name } of BACKED_TABLES) {
    const rows = await store.query(`SELECT 1 FROM ${restoredTable(target.attempt, name)} LIMIT 1`);
    expect([name, rows]).toEqual([name, []]);
  }
});

test('a file that has changed fails when it is read, wherever that is', async () => {
  const tables = await writeTables(stores, { place, backupId: BACKUP, writeNote: () => {} });
  const profiles = tables.filter(({ name }) => name === 'profiles');
  const path = join(folder, must(profiles[0]?.files[0], 'there are profiles').file);
  const whole = readFileSync(path);
  const target = { attempt: 'eeeeeeee', lanes: [{ flushNumber: 40, clockMs: 0 }], versionMax: '1000' };
  // In the rows, and at two places of the footer that describes them, of which the store does not need every byte.
  for (const offset of [100, whole.length - 100, whole.length - 12]) {
    await openRestored(store, target.attempt);
    const flipped = Buffer.from(whole);
    flipped.writeUInt8(flipped.readUInt8(offset) ^ 1, offset);
    writeFileSync(path, flipped);
    const reading = readTables(stores, { place, tables: profiles, writeNote: () => {} }, target);
    await expect(reading).rejects.toThrow(`${path} is damaged; nothing was changed`);
  }
  writeFileSync(path, whole);
});
