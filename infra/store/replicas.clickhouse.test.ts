import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import {
  KINDS_OF_REPLICAS,
  type Replicas,
  type ReplicasOptions,
  startReplicas,
} from '../testing/replicas.ts';
import { clusterOf, type StoreTarget, startStoreTarget } from '../testing/store-target.ts';
import { acceptCluster } from './cluster.ts';
import { RowBinaryWriter } from './row-binary.ts';
import { checkServer } from './server-check.ts';
import { type KeyedInsert, Store } from './store.ts';

// A store with `cluster` against the worst of replicas (infra/testing/replicas.ts): one is behind, and answers of
// inserts are lost. Removing each setting causes the fault that it prevents.

const ROWS = 10;
const BAD_ARGUMENTS = 36;

let engine: StoreTarget;
let databases = 0;
const open: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  engine = await startStoreTarget();
});
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop();
});
afterAll(() => engine?.stop());

interface ReplicaScene {
  readonly replicas: Replicas;
  readonly store: Store;
  /** Rows of a flush, as a replica has them. */
  storedAt(replica: 'most' | 'behind', number: number): Promise<number>;
}

async function scene(options: ReplicasOptions = {}): Promise<ReplicaScene> {
  databases += 1;
  const database = `shop_${databases}`;
  const replicas = await startReplicas(engine.url, options);
  const store = new Store({
    url: replicas.url,
    database,
    cluster: clusterOf(options),
    requestTimeoutMs: 30_000,
  });
  const direct = new Store({ url: engine.url, database, requestTimeoutMs: 30_000 });
  open.push(replicas, { stop: () => store.close() }, { stop: () => direct.close() });
  await store.createDatabase();
  await store.define(`CREATE TABLE flushes (flush UInt32, n UInt32)
ENGINE = MergeTree
ORDER BY n
SETTINGS non_replicated_deduplication_window = 1000`);
  await store.define('CREATE TABLE gone (flush UInt32)\nENGINE = MergeTree\nORDER BY flush');
  return {
    replicas,
    store,
    storedAt: async (replica, number) => {
      const table = replica === 'most' ? 'flushes' : `${database}__behind.flushes`;
      const [row] = await direct.query<{ rows: number }>(
        `SELECT count() AS rows FROM ${table} WHERE flush = {number:UInt32}`,
        { number },
      );
      return row?.rows ?? 0;
    },
  };
}

function flush(number: number, isRepeat = false): KeyedInsert {
  const writer = new RowBinaryWriter(1_048_576);
  for (let n = 0; n < ROWS; n += 1) {
    writer.u32(number);
    writer.u32(n);
  }
  return {
    table: 'flushes',
    columns: ['flush', 'n'],
    chunks: [writer.take()],
    key: `0:${number}`,
    present: { sql: 'flush = {number:UInt32}', parameters: { number } },
    isRepeat,
  };
}

async function readRows(store: Store, number: number): Promise<number> {
  const [row] = await store.query<{ rows: number }>(
    'SELECT count() AS rows FROM flushes WHERE flush = {number:UInt32}',
    { number },
  );
  return row?.rows ?? 0;
}

test.each(KINDS_OF_REPLICAS)(
  '%s: an insert whose answer is lost is there once after its repetition, and every reader sees it at once',
  async (_, kind) => {
    const { replicas, store, storedAt } = await scene(kind);
    for (let number = 1; number <= 5; number += 1) {
      replicas.loseAnswers(1);
      await expect(store.insertOnce(flush(number))).rejects.toMatchObject({ kind: 'retryable' });
      await store.insertOnce(flush(number, true));
      expect(await readRows(store, number)).toBe(ROWS);
      expect(await storedAt('behind', number)).toBe(0);
    }
    await replicas.catchUp();
    for (let number = 1; number <= 5; number += 1)
      expect([await storedAt('most', number), await storedAt('behind', number)]).toEqual([ROWS, ROWS]);
  },
);

test.each(KINDS_OF_REPLICAS)(
  '%s: a repeated insert keeps its key, even where a read does not show its rows',
  async (_, kind) => {
    const { store, storedAt } = await scene({ ...kind, ignored: ['select_sequential_consistency'] });
    await store.insertOnce(flush(1));
    // It never comes to an end, and does not store the rows twice.
    await expect(store.insertOnce(flush(1, true))).rejects.toMatchObject({ kind: 'retryable' });
    expect(await storedAt('most', 1)).toBe(ROWS);
  },
);

test.each(['select_sequential_consistency', 'insert_quorum_parallel'])(
  'without %s, a reader sees an old state',
  async (name) => {
    const { store } = await scene({ ignored: [name] });
    await store.insertOnce(flush(1));
    expect(await readRows(store, 1)).toBe(0);
  },
);

test('without select_sequential_consistency, a reader in ClickHouse Cloud sees an old state', async () => {
  const { store } = await scene({ sharesFiles: true, ignored: ['select_sequential_consistency'] });
  await store.insertOnce(flush(1));
  expect(await readRows(store, 1)).toBe(0);
});

test('without insert_quorum, an acknowledged insert is lost with its replica', async () => {
  const { store, storedAt } = await scene({ ignored: ['insert_quorum'] });
  await store.insertOnce(flush(1));
  expect(await storedAt('most', 1)).toBe(0);
});

test.each(KINDS_OF_REPLICAS)(
  '%s: a deletion deletes the same on every replica that has the rows',
  async (_, kind) => {
    const { replicas, store, storedAt } = await scene(kind);
    await store.insertOnce(flush(1));
    await store.insertOnce(flush(2));
    await replicas.catchUp();
    const sql = 'ALTER TABLE flushes DELETE WHERE flush IN {numbers:Array(UInt32)}';
    await store.mutate({ sql, parameters: { numbers: [1] } });
    const stored = async (number: number) => [
      await storedAt('most', number),
      await storedAt('behind', number),
    ];
    expect([await stored(1), await stored(2)]).toEqual([
      [0, 0],
      [ROWS, ROWS],
    ]);
  },
);

test('a deletion that looks up a table is rejected', async () => {
  const { store } = await scene();
  const sql = 'ALTER TABLE flushes DELETE WHERE flush IN (SELECT flush FROM gone)';
  await expect(store.mutate({ sql, parameters: {} })).rejects.toMatchObject({ code: BAD_ARGUMENTS });
});

test('more than one shard is refused at the start, one is not', async () => {
  const two = await scene({ shards: 2 });
  await expect(acceptCluster(two.store, 'ours')).rejects.toThrow('has 2 shards, and footfall needs one');
  const one = await scene();
  await acceptCluster(one.store, 'ours');
  expect(one.replicas.texts.some((text) => text.includes("ReplicatedMergeTree('/clickhouse/tables/"))).toBe(
    true,
  );
});

test('ClickHouse Cloud gets definitions for shared files, and waits for no quorum', async () => {
  const { replicas, store, storedAt } = await scene({ sharesFiles: true });
  await store.insertOnce(flush(1));
  await store.defineLike('copied', 'flushes', {});
  expect(await storedAt('behind', 1)).toBe(0);
  await store.settle('flushes');
  expect(await storedAt('behind', 1)).toBe(ROWS);
  await store.define('DROP TABLE IF EXISTS copied');
  const { texts } = replicas;
  expect(texts.filter((text) => text.includes('ON CLUSTER'))).toEqual([
    "SYSTEM SYNC REPLICA ON CLUSTER 'default' flushes LIGHTWEIGHT",
  ]);
  expect(texts.some((text) => /\breplicated_deduplication_window = 1000, replicated_dedup/.test(text))).toBe(
    true,
  );
  expect(texts.some((text) => /non_replicated|Replicated\w*MergeTree/.test(text))).toBe(false);
  expect(texts).toContain('DROP TABLE IF EXISTS copied SYNC');
});

test.each<[ReplicasOptions | undefined, string, string | undefined]>([
  [{ sharesFiles: true }, 'cloud', undefined],
  [
    { sharesFiles: true },
    '',
    'is ClickHouse Cloud, whose replicas may answer with an old state: set STORE_CLUSTER=cloud',
  ],
  [{ sharesFiles: true }, 'ours', 'set STORE_CLUSTER=cloud'],
  [{}, 'ours', undefined],
  [{}, 'cloud', 'STORE_CLUSTER is cloud, which stands for ClickHouse Cloud, and the server'],
  [undefined, '', undefined],
  [undefined, 'cloud', 'and the server that CLICKHOUSE_URL names is none'],
])('servers %j with STORE_CLUSTER=%s: %s', async (kind, cluster, problem) => {
  const replicas = kind && (await startReplicas(engine.url, kind));
  const address = {
    url: replicas?.url ?? engine.url,
    database: 'default',
    cluster,
    requestTimeoutMs: 30_000,
  };
  const store = new Store(address);
  if (replicas !== undefined) open.push(replicas);
  open.push({ stop: () => store.close() });
  const checked = checkServer(address, createLogger('test', 'silent'));
  if (problem === undefined) await checked;
  else await expect(checked).rejects.toThrow(problem);
  expect(await store.rejectsUs()).toBe(problem !== undefined);
});
