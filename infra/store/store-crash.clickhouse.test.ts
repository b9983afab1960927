import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { StoreStartError, startStoreServer } from '../testing/store-server.ts';
import { RowBinaryWriter } from './row-binary.ts';
import { type KeyedInsert, Store } from './store.ts';
import { StoreError } from './store-error.ts';

const root = mkdtempSync(join(tmpdir(), 'footfall-store-crash-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const KILLS = 8;
const LANES = 3;
const ROWS = 2000;

/** The rows of one insert, each with the insert's number, so that counts per number show missing and duplicate rows. */
function rowsOf(insert: number): Buffer {
  const writer = new RowBinaryWriter(1_000_000);
  for (let row = 0; row < ROWS; row += 1) {
    writer.u32(insert);
    writer.string(`row ${row} of ${insert}`);
  }
  return writer.take();
}

const insertOf = (number: number, isRepeat: boolean): KeyedInsert => ({
  table: 'rows',
  columns: ['insert', 'text'],
  chunks: [rowsOf(number)],
  key: `crash:${number}`,
  present: { sql: 'insert = {insert: UInt32}', parameters: { insert: number } },
  isRepeat,
});

const ROWS_TABLE = `CREATE TABLE rows (insert UInt32, text String) ENGINE = MergeTree ORDER BY insert
  SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1`;

describe('kill -9', () => {
  test('at any moment of an insert loses no acknowledged row, and repeating inserts duplicates none', async () => {
    const server = await startStoreServer({ dataDir: join(root, 'killed') });
    const store = new Store({ url: server.url, database: 'crash', requestTimeoutMs: 20_000 });
    await store.createDatabase();
    await store.command(ROWS_TABLE);

    let nextInsert = 0;
    const acknowledged = new Set<number>();
    const insert = async (number: number, isRepeat = false) => {
      await store.insertOnce(insertOf(number, isRepeat));
      acknowledged.add(number);
    };
    for (let kill = 0; kill < KILLS; kill += 1) {
      // Kills the store after this many acknowledgements, while the other lanes are in the middle of an insert.
      const killAt = acknowledged.size + 1 + ((kill * 7) % 5);
      const unfinished: number[] = [];
      let killed: Promise<void> | undefined;
      const lanes = Array.from({ length: LANES }, async () => {
        while (killed === undefined) {
          const number = nextInsert++;
          try {
            await insert(number);
          } catch (error) {
            expect(error).toBeInstanceOf(StoreError);
            expect((error as StoreError).kind).toBe('retryable');
            unfinished.push(number);
          }
          if (acknowledged.size >= killAt) killed ??= server.kill();
        }
      });
      await Promise.all(lanes);
      await killed;
      await server.restart();
      const stored = await store.query<{ insert: number; rows: number }>(
        'SELECT insert, count() AS rows FROM rows GROUP BY insert',
      );
      const rows = new Map(stored.map((row) => [row.insert, row.rows]));
      for (const number of acknowledged)
        expect([kill, number, rows.get(number)]).toEqual([kill, number, ROWS]);
      for (const number of unfinished) await insert(number, true);
      for (const number of [...acknowledged].slice(-2)) await insert(number, true);
    }
    expect(
      await store.query(`SELECT count() AS inserts, min(c) AS least, max(c) AS most
        FROM (SELECT insert, count() AS c FROM rows GROUP BY insert)`),
    ).toEqual([{ inserts: nextInsert, least: ROWS, most: ROWS }]);
    expect(acknowledged.size).toBe(nextInsert);
    await store.close();
    expect(await server.stop()).toBe(0);
  });
});

describe('repeating an insert', () => {
  /** Creates by hand the state that a crash can leave: the moments are too short to hit by killing. */
  const storedAfterCrash = async (damage: (tableDir: string) => void): Promise<unknown> => {
    const server = await startStoreServer({ dataDir: mkdtempSync(join(root, 'left-')) });
    const store = new Store({ url: server.url, database: 'crash', requestTimeoutMs: 20_000 });
    await store.createDatabase();
    await store.command(ROWS_TABLE);
    for (const number of [1, 2, 3]) await store.insertOnce(insertOf(number, false));
    const [table] = await store.query<{ path: string }>(
      "SELECT data_paths[1] AS path FROM system.tables WHERE database = 'crash' AND name = 'rows'",
    );
    await server.kill();
    damage(table?.path ?? '');
    await server.restart();
    for (const number of [1, 2, 3, 2]) await store.insertOnce(insertOf(number, true));
    const stored = await store.query(
      'SELECT insert, count() AS rows FROM rows GROUP BY insert ORDER BY insert',
    );
    await store.close();
    expect(await server.stop()).toBe(0);
    return stored;
  };
  const whole = [1, 2, 3].map((insert) => ({ insert, rows: ROWS }));

  test('stores rows whose key the store had recorded before it was killed, but not the rows', async () => {
    expect(
      await storedAfterCrash((tableDir) => rmSync(join(tableDir, 'all_2_2_0'), { recursive: true })),
    ).toEqual(whole);
  });

  test('duplicates nothing although the store lost its deduplication log', async () => {
    expect(
      await storedAfterCrash((tableDir) => rmSync(join(tableDir, 'deduplication_logs'), { recursive: true })),
    ).toEqual(whole);
  });
});

describe('starting', () => {
  const failure = async (dataDir: string): Promise<StoreStartError> => {
    const error = await startStoreServer({ dataDir }).then(
      async (server) => {
        await server.stop();
      },
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(StoreStartError);
    return error as StoreStartError;
  };

  test('reports a data folder that cannot be opened in one line on standard error, and exits with 1', async () => {
    const dataDir = join(root, 'damaged');
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'store'), 'not a folder');
    const { exitCode, stderr } = await failure(dataDir);
    expect(exitCode).toBe(1);
    expect(stderr.trim().split('\n').length).toBe(1);
    expect(stderr).toContain(join(dataDir, 'store'));
  });

  test('rejects a folder that another store uses, which continues to work', async () => {
    const dataDir = join(root, 'shared');
    const first = await startStoreServer({ dataDir });
    const { exitCode, stderr } = await failure(dataDir);
    expect(exitCode).toBe(1);
    expect(stderr).toContain(dataDir);
    const store = new Store({ url: first.url, database: 'default', requestTimeoutMs: 10_000 });
    expect(await store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await store.close();
    expect(await first.stop()).toBe(0);
  });
});

describe('ending', () => {
  test('a client that does not read its answer does not delay the end of the store', async () => {
    const server = await startStoreServer({ dataDir: join(root, 'unread') });
    const answer = await fetch(`${server.url}/?query=SELECT+number+FROM+numbers(100000000)`);
    expect(answer.status).toBe(200);
    expect(await server.stop()).toBe(0);
    await answer.body?.cancel().catch(() => {});
  });
});
