import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StoreTarget, startStoreTarget } from '../testing/store-target.ts';
import { RowBinaryWriter } from './row-binary.ts';
import { type KeyedInsert, Store } from './store.ts';

// Requirements of `insertOnce` on any server: the embedded store, or the one that CLICKHOUSE_URL names.

const TABLE = 'flushes';
const ROWS = 1_000;

let target: StoreTarget;
let store: Store;

beforeAll(async () => {
  target = await startStoreTarget();
  store = open();
  await store.createDatabase();
  await store.define(`CREATE TABLE ${TABLE} (flush UInt32, n UInt32, name LowCardinality(String))
    ENGINE = MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 1000`);
});
afterAll(async () => {
  await store?.close();
  await target?.stop();
});

function open(): Store {
  const { url, database, cluster } = target;
  return new Store({ url, database, cluster, requestTimeoutMs: 30_000 });
}

function flush(number: number, { rows = ROWS, isRepeat = false } = {}): KeyedInsert {
  const writer = new RowBinaryWriter(16_777_216);
  for (let n = 0; n < rows; n += 1) {
    writer.u32(number);
    writer.u32(n);
    writer.string(`name ${n % 7}`);
  }
  return {
    table: TABLE,
    columns: ['flush', 'n', 'name'],
    structure: 'flush UInt32, n UInt32, name String',
    chunks: [writer.take()],
    key: `0:${number}`,
    present: { sql: 'flush = {number:UInt32}', parameters: { number } },
    isRepeat,
  };
}

async function storedRows(number: number): Promise<number> {
  const sql = `SELECT count() AS rows FROM ${TABLE} WHERE flush = {number:UInt32}`;
  return (await store.query<{ rows: number }>(sql, { number }))[0]?.rows ?? 0;
}

test('an insert that is repeated with its key is stored once, by the same process or by another', async () => {
  await store.insertOnce(flush(1));
  await store.insertOnce(flush(1, { isRepeat: true }));
  // Like a process that does not know of the first attempt.
  await store.insertOnce(flush(1));
  expect(await storedRows(1)).toBe(ROWS);
});

test('attempts that run at the same time store the rows once', async () => {
  await Promise.all([store.insertOnce(flush(2)), store.insertOnce(flush(2)), store.insertOnce(flush(2))]);
  expect(await storedRows(2)).toBe(ROWS);
});

test('a repeated insert of which the store has nothing stores it', async () => {
  await store.insertOnce(flush(3, { isRepeat: true }));
  expect(await storedRows(3)).toBe(ROWS);
});

test('equal rows with another key are other rows, and without a key always', async () => {
  const { table, columns, chunks, structure } = flush(4);
  for (const key of ['a', 'b', undefined, undefined])
    await store.insertRowBinary(table, columns, chunks, key, structure);
  expect(await storedRows(4)).toBe(4 * ROWS);
});

test('a large insert is one part, so that it is there as a whole or not at all', async () => {
  const rows = 400_000;
  await store.command(`SYSTEM STOP MERGES ${TABLE}`);
  await store.insertOnce(flush(5, { rows }));
  const parts = await store.query(`SELECT _part FROM ${TABLE} WHERE flush = 5 GROUP BY _part`);
  await store.command(`SYSTEM START MERGES ${TABLE}`);
  expect(parts.length).toBe(1);
  expect(await storedRows(5)).toBe(rows);
});

test('rows are read at once by whoever asks after the acknowledgement', async () => {
  const other = open();
  for (let number = 10; number < 30; number += 1) {
    await store.insertOnce(flush(number, { rows: 10 }));
    const sql = `SELECT count() AS rows FROM ${TABLE} WHERE flush = {number:UInt32}`;
    expect(await other.query(sql, { number })).toEqual([{ rows: 10 }]);
  }
  await other.close();
});
