import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClickHouseError } from '@clickhouse/client';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type StoreServer, startStoreServer } from '../testing/store-server.ts';
import type { StoreSettings } from './replication.ts';
import { RowBinaryWriter } from './row-binary.ts';
import { Store } from './store.ts';
import { StoreError, storeError } from './store-error.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'footfall-store-test-'));
const PASSWORD = 'a p@ss:w/rd?';
let server: StoreServer;
let store: Store;

beforeAll(async () => {
  server = await startStoreServer({ dataDir, password: PASSWORD });
  store = open(server.url);
  await store.createDatabase();
});
afterAll(async () => {
  await store?.close();
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

function open(url: string, password = PASSWORD, requestTimeoutMs = 30_000): Store {
  const address = url.replace('http://', `http://default:${encodeURIComponent(password)}@`);
  return new Store({ url: address, database: 'things', requestTimeoutMs });
}

const failureOf = async (call: Promise<unknown>): Promise<StoreError> => {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error as StoreError;
};

describe('inserts', () => {
  beforeAll(async () => {
    await store.command(`CREATE TABLE items (n UInt32, s LowCardinality(String)) ENGINE = MergeTree ORDER BY n
      SETTINGS non_replicated_deduplication_window = 100`);
  });
  beforeEach(() => store.command('TRUNCATE TABLE items'));

  const rows = (from: number, to: number, text: string): Buffer => {
    const writer = new RowBinaryWriter(10_000_000);
    for (let n = from; n < to; n += 1) {
      writer.u32(n);
      writer.string(text);
    }
    return writer.take();
  };

  const ways = [
    { way: 'as the types of the table', structure: undefined },
    { way: 'as types of their own', structure: 'n UInt32, s String' },
  ];
  const kept = () => store.query("SELECT count() AS rows, countIf(s = 'a\\n\\nb\\0') AS left FROM items");

  test.each(ways)('chunks form one insert, and its key makes repeating it harmless: $way', async (given) => {
    const chunks = [rows(0, 500, 'a\n\nb\0'), rows(500, 1000, 'é')];
    const { way, structure } = given;
    await store.insertRowBinary('items', ['n', 's'], chunks, `${way}:1`, structure);
    await store.insertRowBinary('items', ['n', 's'], chunks, `${way}:1`, structure);
    await store.insertRowBinary('items', ['n', 's'], chunks, `${way}:2`, structure);
    expect(await kept()).toEqual([{ rows: 2000, left: 1000 }]);
    for (const other of ways) {
      await store.insertRowBinary('items', ['n', 's'], chunks, `${way}:2`, other.structure);
      expect(await kept()).toEqual([{ rows: 2000, left: 1000 }]);
    }
  });

  test.each(ways)('an insert of many rows is one part: $way', async ({ way, structure }) => {
    await store.command('SYSTEM STOP MERGES items');
    await store.insertRowBinary('items', ['n', 's'], [rows(0, 200_000, way)], `${way}:3`, structure);
    const parts = `SELECT count() AS parts, sum(rows) AS rows FROM system.parts
      WHERE database = currentDatabase() AND table = 'items' AND active`;
    expect(await store.query(parts)).toEqual([{ parts: 1, rows: 200_000 }]);
    await store.command('SYSTEM START MERGES items');
  });

  test.each(ways)(
    'truncated rows are poison, and none of them is stored: $way',
    async ({ way, structure }) => {
      const whole = rows(0, 10, 'text');
      const truncated = [whole.subarray(0, whole.length - 2)];
      const failure = await failureOf(
        store.insertRowBinary('items', ['n', 's'], truncated, `${way}:4`, structure),
      );
      expect(failure.kind).toBe('poison');
      expect(failure.message).not.toContain(dataDir);
      expect(await store.query("SELECT count() AS rows FROM items WHERE s = 'text'")).toEqual([{ rows: 0 }]);
    },
  );

  test('a missing table or column is fatal', async () => {
    expect(await failureOf(store.insertRowBinary('gone', ['n'], [rows(0, 1, '')], undefined))).toMatchObject({
      kind: 'fatal',
      code: 60,
    });
    expect(await failureOf(store.insertRowBinary('items', ['x'], [rows(0, 1, '')], undefined))).toMatchObject(
      {
        kind: 'fatal',
        code: 16,
      },
    );
  });

  test('the engine reads exactly what RowBinaryWriter wrote', async () => {
    await store.command(`CREATE TABLE written (id UInt32, a Int64, b UInt64, c Float64, d Float32, t DateTime64(3, 'UTC'),
      s String, l Array(String), m Map(String, String), f FixedString(4), i Int8) ENGINE = MergeTree ORDER BY id`);
    const text = fc.string({ unit: 'grapheme', maxLength: 80 });
    const samples = fc.sample(
      fc.record({
        a: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        b: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        c: fc.double({ noDefaultInfinity: true, noNaN: true }),
        d: fc.float({ noDefaultInfinity: true, noNaN: true }),
        t: fc.integer({ min: -2_000_000_000_000, max: 4_000_000_000_000 }),
        s: text,
        l: fc.array(text, { maxLength: 4 }),
        m: fc.array(text, { maxLength: 6 }).filter((keys) => keys.length % 2 === 0),
        i: fc.integer({ min: -128, max: 127 }),
      }),
      { numRuns: 300, seed: 7 },
    );
    const writer = new RowBinaryWriter(10_000_000);
    for (const [id, row] of samples.entries()) {
      writer.u32(id);
      writer.i64(row.a);
      writer.u64(row.b);
      writer.f64(row.c);
      writer.f32(row.d);
      writer.dateTime64Ms(row.t);
      writer.string(row.s);
      writer.stringArray(row.l);
      writer.stringMap(row.m);
      writer.hex('000a0d27');
      writer.i8(row.i);
    }
    const columns = ['id', 'a', 'b', 'c', 'd', 't', 's', 'l', 'm', 'f', 'i'];
    await store.insertRowBinary('written', columns, [writer.bytes()], undefined);
    const stored = await store.query<Record<string, unknown>>(
      `SELECT toString(a) AS a, toString(b) AS b, c, d,
        toUnixTimestamp64Milli(t) AS t, s, l, mapKeys(m) AS k, mapValues(m) AS v, hex(f) AS f, i FROM written ORDER BY id`,
    );
    expect(stored.length).toBe(samples.length);
    for (const [id, row] of samples.entries()) {
      expect(stored[id]).toMatchObject({
        a: String(row.a),
        b: String(row.b),
        t: row.t,
        s: row.s,
        l: row.l,
        k: row.m.filter((_, index) => index % 2 === 0),
        v: row.m.filter((_, index) => index % 2 === 1),
        f: '000A0D27',
        i: row.i,
      });
      // JSON does not distinguish 0 and -0.
      expect(Number(stored[id]?.c) + 0).toBe(row.c + 0);
      expect(Math.fround(Number(stored[id]?.d)) + 0).toBe(row.d + 0);
    }
  });
});

describe('queries', () => {
  test('parameters of every kind and length arrive unchanged', async () => {
    const long = "x'\\\n".repeat(5000);
    for (const text of ["it's", '\\', '\\N', 'a\tb\nc\rd', '{x:String}', '\u{1f600}', '', long]) {
      expect(
        await store.query('SELECT {text:String} AS text, {list:Array(String)} AS list', {
          text,
          list: [text],
        }),
      ).toEqual([{ text, list: [text] }]);
    }
  });

  test('a query text may have several megabytes', async () => {
    const digits = 'ab'.repeat(2_500_000);
    expect(await store.query(`SELECT length(unhex('${digits}')) AS bytes`)).toEqual([{ bytes: 2_500_000 }]);
  });

  test('a stream yields every row once, in groups', async () => {
    let rows = 0;
    let sum = 0;
    let groups = 0;
    for await (const group of store.stream<{ n: number }>('SELECT number AS n FROM numbers({rows:UInt32})', {
      rows: 500_000,
    })) {
      groups += 1;
      rows += group.length;
      for (const { n } of group) sum += n;
    }
    expect({ rows, sum }).toEqual({ rows: 500_000, sum: (500_000 * 499_999) / 2 });
    expect(groups).toBeGreaterThan(1);
  });

  test('an error in the middle of a stream fails the stream', async () => {
    const read = async () => {
      let rows = 0;
      for await (const group of store.stream(
        'SELECT number, throwIf(number = 2000000) FROM numbers(5000000)',
      ))
        rows += group.length;
      return rows;
    };
    expect((await failureOf(read())).code).toBe(395);
  });

  test('exceeding the time or memory limit is retryable', async () => {
    const slow = store.query('SELECT count() FROM numbers(1000000000000)', {}, { max_execution_time: 0.2 });
    expect(await failureOf(slow)).toMatchObject({ kind: 'retryable', failure: 'server', code: 159 });
    const big = store.query(
      'SELECT groupArray(number) FROM numbers(100000000)',
      {},
      { max_memory_usage: 10_000_000 },
    );
    expect(await failureOf(big)).toMatchObject({ kind: 'retryable', code: 241, memoryLimit: 'query' });
    expect(await store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('an error for lack of memory says whose limit it was', async () => {
    const big = (settings: StoreSettings) =>
      failureOf(store.query('SELECT groupArray(number) FROM numbers(1000000000)', {}, settings));
    expect((await big({ max_memory_usage_for_user: '10000000' })).memoryLimit).toBe('user');
    // More than the whole server has.
    expect((await big({ max_memory_usage: '0' })).memoryLimit).toBe('total');
    expect(await store.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test.each([
    ['Memory limit (total) exceeded: would use 9 GiB', 'total'],
    ['Memory limit (for query) exceeded: would use 9 GiB', 'query'],
    ['Memory limit (for user) exceeded: would use 9 GiB', 'user'],
    ['a message of another version about the total', undefined],
  ])('an older server says %j', (message, memoryLimit) => {
    const cause = new ClickHouseError({ message, code: '241', type: 'MEMORY_LIMIT_EXCEEDED' });
    expect(storeError(cause)).toMatchObject({ kind: 'retryable', failure: 'server', memoryLimit });
  });
});

describe('tables that travel with a statement', () => {
  const numbers = (count: number): Buffer => {
    const writer = new RowBinaryWriter(10_000_000);
    for (let n = 0; n < count; n += 1) {
      writer.u32(n);
      writer.string(`--text\r\n${n}\0`);
    }
    return writer.take();
  };
  const table = (name: string, count: number) => ({
    name,
    structure: 'n UInt32, s String',
    bytes: numbers(count),
  });

  test('are read as often as it names them, with parameters and 64-bit numbers', async () => {
    const tables = [table('first', 40_000), table('second', 3)];
    const sql = `SELECT count() AS count, sum(n) AS sum, max(s) AS s, {t:Array(String)} AS t FROM first
      WHERE n IN (SELECT n FROM second) OR n IN (SELECT max(n) FROM first) -- the end`;
    const text = 'a\tb\n--x\r\n\u{1f600}\'"\\';
    expect(await store.query(sql, { t: [text] }, {}, undefined, tables)).toEqual([
      { count: 4, sum: 40_002, s: '--text\r\n39999\0', t: [text] },
    ]);
    expect(await store.query('SELECT n FROM second WHERE n > 5', {}, {}, undefined, tables)).toEqual([]);
  });

  test('come with the bytes of a result, and leave no file behind', async () => {
    const pieces: Buffer[] = [];
    for await (const piece of store.bytes('SELECT s FROM first FORMAT TSVRaw', {}, {}, undefined, [
      table('first', 2),
    ]))
      pieces.push(piece);
    expect(Buffer.concat(pieces).toString()).toBe('--text\r\n0\0\n--text\r\n1\0\n');
    const left = () =>
      readdirSync(dataDir, { recursive: true }).filter((name) => /\/in-\d+$/.test(String(name)));
    // They are removed after the answer.
    await expect.poll(left).toEqual([]);
  });

  test('that cannot be read are errors of the statement', async () => {
    const broken = { ...table('first', 2), bytes: Buffer.from([1, 2, 3]) };
    expect((await failureOf(store.query('SELECT n FROM first', {}, {}, undefined, [broken]))).kind).toBe(
      'poison',
    );
    expect(
      (await failureOf(store.query('SELECT x FROM first', {}, {}, undefined, [table('first', 1)]))).failure,
    ).toBe('server');
  });
});

describe('the connection to the store', () => {
  test('a wrong password is fatal, and ping returns false', async () => {
    const withWrongPassword = open(server.url, 'wrong');
    expect(await failureOf(withWrongPassword.query('SELECT 1'))).toMatchObject({ kind: 'fatal', code: 516 });
    expect(await withWrongPassword.ping()).toBe(false);
    expect([await withWrongPassword.responds(), await withWrongPassword.rejectsUs()]).toEqual([true, true]);
    expect([await store.responds(), await store.rejectsUs()]).toEqual([true, false]);
    await withWrongPassword.close();
  });

  test('a statement ends with its signal, and a store that is down neither responds nor rejects', async () => {
    const ended = new AbortController();
    const waiting = failureOf(store.query('SELECT sleepEachRow(1) FROM numbers(3)', {}, {}, ended.signal));
    ended.abort();
    expect(await waiting).toMatchObject({ kind: 'retryable', failure: 'unreachable' });
    const nowhere = open('http://127.0.0.1:1', PASSWORD);
    expect([await nowhere.responds(), await nowhere.rejectsUs()]).toEqual([false, false]);
    await nowhere.close();
  });

  test('a store that is down is retryable, and has the same data after its restart', async () => {
    expect(await store.ping()).toBe(true);
    await store.command('INSERT INTO items SELECT number, toString(number) FROM numbers(2000)');
    await server.kill();
    const failure = await failureOf(store.query('SELECT 1'));
    expect(failure).toMatchObject({ kind: 'retryable', failure: 'unreachable', code: undefined });
    expect(await store.ping()).toBe(false);
    await server.restart();
    expect(await store.query('SELECT count() AS rows FROM items')).toEqual([{ rows: 2000 }]);
  });

  test('a store that does not answer in time has failed by timeout, and is not unreachable', async () => {
    const impatient = open(server.url, PASSWORD, 300);
    const failure = await failureOf(impatient.query('SELECT sleepEachRow(1) FROM numbers(3)'));
    expect(failure).toMatchObject({ kind: 'retryable', failure: 'timeout', code: undefined });
    await impatient.close();
  });

  test('a store that closes the connection is unreachable', async () => {
    const closing = createServer((socket) => socket.once('data', () => socket.destroy()));
    await new Promise<void>((resolve) => closing.listen(0, '127.0.0.1', resolve));
    const { port } = closing.address() as AddressInfo;
    const cut = open(`http://127.0.0.1:${port}`);
    const failure = await failureOf(cut.query('SELECT 1'));
    expect(failure).toMatchObject({ kind: 'retryable', failure: 'unreachable', code: undefined });
    await cut.close();
    closing.close();
  });
});
