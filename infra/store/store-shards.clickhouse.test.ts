import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StoreServer, startStoreServer } from '../testing/store-server.ts';
import { Store } from './store.ts';
import { comparePlace, settlePlace } from './store-shards.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'footfall-shards-'));
let server: StoreServer;
const stores: Store[] = [];

beforeAll(async () => {
  server = await startStoreServer({ dataDir });
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A database plays the part of a server. */
function storeOf(database: string): Store {
  const store = new Store({ url: server.url, database, requestTimeoutMs: 30_000 });
  stores.push(store);
  return store;
}

const FIRST = { shard: 0, shards: 2 };
const SECOND = { shard: 1, shards: 2 };
const UNKNOWN = { isOurs: false, problem: undefined };

test('a server is no shard before a processor has made it one, and then that one for good', async () => {
  const store = storeOf('second');
  expect(await comparePlace(store, SECOND)).toEqual(UNKNOWN);
  await store.createDatabase();
  expect(await comparePlace(store, SECOND)).toEqual(UNKNOWN);
  for (let start = 0; start < 2; start += 1) await settlePlace(store, SECOND);
  expect(await comparePlace(store, SECOND)).toEqual({ isOurs: true, problem: undefined });
  const problem =
    'CLICKHOUSE_URL: server 1 of 2 is shard 2 of the 2 of a service: list its servers as at the first start';
  expect(await comparePlace(store, FIRST)).toEqual({ isOurs: false, problem });
  await expect(settlePlace(store, FIRST)).rejects.toThrow(problem);
  expect((await comparePlace(store, { shard: 1, shards: 3 })).isOurs).toBe(false);
  expect(await store.query('SELECT shard, shards FROM store_shard')).toEqual([SECOND]);
});

test('a store that is not divided is asked nothing, and nothing is written into it', async () => {
  const store = storeOf('whole');
  await store.createDatabase();
  await settlePlace(store, { shard: 0, shards: 1 });
  expect(await comparePlace(store, { shard: 0, shards: 1 })).toEqual({ isOurs: true, problem: undefined });
  expect(await store.query("SELECT name FROM system.tables WHERE database = 'whole'")).toEqual([]);
});
