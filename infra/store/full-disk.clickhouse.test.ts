import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type StoreServer, startStoreServer } from '../testing/store-server.ts';
import { RowBinaryWriter } from './row-binary.ts';
import { type KeyedInsert, Store } from './store.ts';
import { StoreError } from './store-error.ts';

// The real store on a file system of its own, in memory, which shrinks to the size of its content, and grows again.

const ROOM = '1g';
const PAGE_BYTES = 4_096;
const ROWS = 200;
const COLUMNS = Array.from({ length: 16 }, (_, index) => `text${index}`);
const STRUCTURE = `insert UInt32, ${COLUMNS.map((column) => `${column} String`).join(', ')}`;
/** The settings of the service's tables. */
const SETTINGS = `non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1,
  old_parts_lifetime = 10, min_rows_to_fsync_after_merge = 1`;
/** Parts with few files, and parts with a file for each column. */
const TABLES = {
  compact: SETTINGS,
  wide: `${SETTINGS}, min_bytes_for_wide_part = 0, min_rows_for_wide_part = 0, min_level_for_wide_part = 0`,
};
const INSERTERS = 2;
/** The number of times that the engine must end in the middle of a write, and the rounds after which the test gives up. */
const MEETINGS = 3;
const ROUNDS_MAX = 40;

let folder = '';
let isMounted = false;
let server: StoreServer | undefined;
let store: Store;
let inserters: readonly Inserter[] = [];

beforeEach(async ({ skip }) => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-full-disk-'));
  isMounted = remount(`-t tmpfs -o size=${ROOM} footfall-full-disk`);
  if (!isMounted && process.env.CI === undefined) skip('only root can mount the small disk of this test');
  expect(isMounted).toBe(true);
  server = await startStoreServer({ dataDir: join(folder, 'data') });
  store = new Store({ url: server.url, database: 'full', requestTimeoutMs: 20_000 });
  await store.createDatabase();
  const texts = COLUMNS.map(
    (column, index) => `${column} ${index % 2 ? 'String' : 'LowCardinality(String)'}`,
  );
  for (const [table, settings] of Object.entries(TABLES))
    await store.command(
      `CREATE TABLE ${table} (insert UInt32, ${texts.join(', ')}) ENGINE = MergeTree ORDER BY insert SETTINGS ${settings}`,
    );
});

afterEach(async () => {
  for (const inserter of inserters) inserter.abandon();
  inserters = [];
  await store?.close();
  await server?.kill();
  server = undefined;
  if (isMounted) spawnSync('umount', ['--lazy', folder]);
  rmSync(folder, { recursive: true, force: true });
});

test('a disk that is full in the middle of inserts and merges costs no acknowledged row, and none is stored twice', async () => {
  const running = server as StoreServer;
  inserters = Object.keys(TABLES).flatMap((table) =>
    Array.from({ length: INSERTERS }, (_, index) => new Inserter(table, index)),
  );
  let meetings = 0;
  for (let round = 0; meetings < MEETINGS; round += 1) {
    expect(round).toBeLessThan(ROUNDS_MAX);
    await wait(300 + ((round * 137) % 500));
    fill();
    // Space that is freed meanwhile is taken, too.
    const refill = setInterval(fill, 20);
    await wait((round * 71) % 400);
    clearInterval(refill);
    expect(remount(`-o remount,size=${ROOM}`)).toBe(true);
    // The engine may end a moment later: merges are checked every two seconds.
    await wait(2_200);
    if (running.hasEnded) {
      meetings += 1;
      await running.restart();
    }
    for (const inserter of inserters) await expectAll(inserter.table, [...inserter.acknowledged]);
  }
  for (const inserter of inserters) await inserter.stop();
  for (const table of Object.keys(TABLES)) {
    const inserts = inserters
      .filter((inserter) => inserter.table === table)
      .flatMap((inserter) => inserter.acknowledged);
    expect(inserts.length).toBeGreaterThan(0);
    const stored = await storedIn(table);
    expect([...stored.keys()].sort((a, b) => a - b)).toEqual(inserts.sort((a, b) => a - b));
    expect([...new Set(stored.values())]).toEqual([ROWS]);
    const checked = await store.query<{ is_passed: number }>(
      `CHECK TABLE ${table} SETTINGS check_query_single_value_result = 0`,
    );
    expect(checked.filter(({ is_passed }) => is_passed !== 1)).toEqual([]);
  }
});

test('a store whose disk is nearly full refuses to write, says why, answers questions, and writes again', async () => {
  const running = server as StoreServer;
  await store.insertOnce(insertOf('compact', 1, false));
  fill(32 * 1_048_576);
  for (const write of [
    () => store.insertOnce(insertOf('compact', 2, false)),
    () => store.command('INSERT INTO compact SELECT * FROM compact'),
    () => store.command('CREATE TABLE more (number UInt8) ENGINE = MergeTree ORDER BY number'),
  ]) {
    const error = await write().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect((error as StoreError).kind).toBe('retryable');
    expect((error as StoreError).message).toMatch(/3[12] MiB are free on its disk, and 64 MiB are needed/);
  }
  await expectAll('compact', [1]);
  const metrics = await (await fetch(`${running.url}/metrics`)).text();
  expect(metrics).toMatch(/^store_rejects_total\{reason="disk"\} 3$/m);
  const free = Number(/^store_disk_free_bytes (\d+)$/m.exec(metrics)?.[1]);
  expect(free).toBeGreaterThan(30 * 1_048_576);
  expect(free).toBeLessThan(Number(/^store_disk_kept_free_bytes (\d+)$/m.exec(metrics)?.[1]));

  expect(remount(`-o remount,size=${ROOM}`)).toBe(true);
  await store.insertOnce(insertOf('compact', 2, true));
  await expectAll('compact', [1, 2]);
});

/** Inserts one after the other, each until it is acknowledged, as a lane of the service. */
class Inserter {
  readonly table: string;
  readonly acknowledged: number[] = [];
  readonly #index: number;
  readonly #running: Promise<void>;
  #isOver = false;
  #isAbandoned = false;

  constructor(table: string, index: number) {
    this.table = table;
    this.#index = index;
    this.#running = this.#run();
    this.#running.catch(() => {}); // `stop` reports it.
  }

  /** Resolves when the last insert is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  abandon(): void {
    this.#isAbandoned = true;
  }

  async #run(): Promise<void> {
    for (let number = this.#index; !this.#isOver; number += INSERTERS) {
      for (let isRepeat = false; ; isRepeat = true) {
        try {
          await store.insertOnce(insertOf(this.table, number, isRepeat));
          break;
        } catch (error) {
          if (this.#isAbandoned) return;
          if (!(error instanceof StoreError && error.retryable)) throw error;
          await wait(50);
        }
      }
      this.acknowledged.push(number);
    }
  }
}

function insertOf(table: string, number: number, isRepeat: boolean): KeyedInsert {
  const writer = new RowBinaryWriter(4_194_304);
  for (let row = 0; row < ROWS; row += 1) {
    writer.u32(number);
    for (const column of COLUMNS) writer.string(`${column} ${number} ${row % 20}`);
  }
  return {
    table,
    columns: ['insert', ...COLUMNS],
    structure: STRUCTURE,
    chunks: [writer.take()],
    key: `full:${number}`,
    present: { sql: 'insert = {insert: UInt32}', parameters: { insert: number } },
    isRepeat,
  };
}

/** Reads every column of every row. */
async function storedIn(table: string): Promise<ReadonlyMap<number, number>> {
  const lengths = COLUMNS.map((column) => `length(${column})`).join(' + ');
  const sql = `SELECT insert, countIf(${lengths} > 0) AS rows FROM ${table} GROUP BY insert`;
  const rows = await store.query<{ insert: number; rows: number }>(sql).catch(async (error: StoreError) => {
    // It found a moment ago that it could not write.
    if (error.failure !== 'unreachable') throw error;
    await server?.restart();
    return store.query<{ insert: number; rows: number }>(sql);
  });
  return new Map(rows.map(({ insert, rows: count }) => [insert, count]));
}

async function expectAll(table: string, inserts: readonly number[]): Promise<void> {
  const stored = await storedIn(table);
  const wrong = inserts.filter((insert) => stored.get(insert) !== ROWS);
  expect([table, wrong]).toEqual([table, []]);
}

/** Leaves `freeBytes` free. */
function fill(freeBytes = 0): void {
  const { blocks, bfree, bsize } = statfsSync(folder);
  // Usage may grow between the look and the change, which the system then refuses.
  for (let more = 0; more < 100; more += 1) {
    if (remount(`-o remount,size=${(blocks - bfree) * bsize + freeBytes + more * PAGE_BYTES}`)) return;
  }
}

function remount(options: string): boolean {
  mkdirSync(folder, { recursive: true });
  return spawnSync('mount', [...options.split(' '), folder], { stdio: 'ignore' }).status === 0;
}
