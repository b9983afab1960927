import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConformanceTarget, errorOf } from '../testing/store-conformance.ts';

// Requirements of footfall on a store, tested with the official client and with plain HTTP. The three files `store-conformance*` run
// against the embedded store, or against any server:
// CLICKHOUSE_URL=http://user:password@host:8123 npx vitest run --project clickhouse store-conformance
const target = new ConformanceTarget();
const { ask, rowsOf } = target;
beforeAll(() => target.start());
afterAll(() => target.stop());

describe('health', () => {
  test('ping, by path and by query', async () => {
    expect((await target.client.ping()).success).toBe(true);
    expect((await target.client.ping({ select: true })).success).toBe(true);
    for (const path of ['/ping', '/', '/replicas_status']) {
      const answer = await ask({ method: 'GET', path, isAnonymous: true });
      expect([path, answer.status, answer.text]).toEqual([path, 200, 'Ok.\n']);
    }
    expect((await ask({ method: 'GET', path: '/nowhere' })).status).toBe(404);
  });
});

describe('results', () => {
  test('every format is one document over many blocks', async () => {
    const json = (await (
      await target.client.query({ query: 'SELECT number AS n FROM numbers(200000)', format: 'JSON' })
    ).json()) as { rows: number; data: { n: string | number }[] };
    expect(json.rows).toBe(200_000);
    expect(Number(json.data[199_999]?.n)).toBe(199_999);
    const csv = await ask({ body: 'SELECT number AS n FROM numbers(200000) FORMAT CSVWithNames' });
    expect(csv.text.split('\n').length).toBe(200_002);
    expect(csv.text.startsWith('"n"\n0\n1\n')).toBe(true);
    expect(csv.text.indexOf('"n"', 1)).toBe(-1);
    const binary = await ask({ body: 'SELECT number::UInt32 FROM numbers(200000) FORMAT RowBinary' });
    expect(binary.body.length).toBe(800_000);
    for (let n = 0; n < 200_000; n += 9973) expect(binary.body.readUInt32LE(n * 4)).toBe(n);
    const parquet = await ask({ body: 'SELECT number FROM numbers(200000) FORMAT Parquet' });
    expect(parquet.body.subarray(0, 4).toString() + parquet.body.subarray(-4).toString()).toBe('PAR1PAR1');
  });

  test('the format comes from the statement, the URL or a header, in this order', async () => {
    const formats = async (url: Record<string, string>, headers: Record<string, string>, sql: string) => {
      const answer = await ask({ url, headers, body: sql });
      return [answer.headers['x-clickhouse-format'], answer.text];
    };
    expect(await formats({}, {}, 'SELECT 1, 2')).toEqual(['TabSeparated', '1\t2\n']);
    expect(await formats({}, { 'x-clickhouse-format': 'CSV' }, 'SELECT 1, 2')).toEqual(['CSV', '1,2\n']);
    expect(await formats({ default_format: 'JSONCompactEachRow' }, {}, 'SELECT 1, 2')).toEqual([
      'JSONCompactEachRow',
      '[1, 2]\n',
    ]);
    expect(await formats({ default_format: 'CSV' }, {}, 'SELECT 1, 2 FORMAT TSV -- the end\n;')).toEqual([
      'TSV',
      '1\t2\n',
    ]);
    expect(await formats({}, {}, 'SELECT 1, 2 FORMAT CSV SETTINGS max_threads = 1')).toEqual([
      'CSV',
      '1,2\n',
    ]);
  });

  test('names that look like clauses are not clauses', async () => {
    const sql =
      "SELECT format, 'INTO OUTFILE; FORMAT X' AS `into`, /* ; FORMAT Y */ $a$it's;$a$ FROM (SELECT 1 AS format)";
    expect((await ask({ body: sql })).text).toBe("1\tINTO OUTFILE; FORMAT X\tit\\'s;\n");
  });

  test.each([
    'SHOW DATABASES',
    'DESCRIBE TABLE system.one',
    'EXISTS system.one',
    'EXPLAIN SELECT 1',
    'WITH 1 AS x SELECT x',
    '(SELECT 1) UNION ALL (SELECT 1)',
    'SELECT 1 WHERE 0',
  ])('%s', async (sql) => {
    const answer = await ask({ body: sql, url: { default_format: 'JSON' } });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toHaveProperty('data');
  });

  test('a long stream arrives complete', async () => {
    const result = await target.client.query({
      query: 'SELECT number AS n FROM numbers(1000000)',
      format: 'JSONEachRow',
    });
    let rows = 0;
    let sum = 0;
    for await (const group of result.stream<{ n: number }>()) {
      rows += group.length;
      for (const row of group) sum += Number(row.json<{ n: number }>().n);
    }
    expect([rows, sum]).toEqual([1_000_000, 499_999_500_000]);
  });

  test('an answer with wait_end_of_query is the same answer', async () => {
    const answer = await ask({ body: 'SELECT number FROM numbers(300000)', url: { wait_end_of_query: '1' } });
    expect(answer.text.split('\n').length).toBe(300_001);
  });

  test('gzip needs both the header and the setting', async () => {
    const body = "SELECT repeat('x', 100000)";
    const headers = { 'accept-encoding': 'gzip' };
    expect((await ask({ body, headers })).headers['content-encoding']).toBeUndefined();
    const answer = await ask({ body, headers, url: { enable_http_compression: '1' } });
    expect(answer.headers['content-encoding']).toBe('gzip');
    expect(answer.body.length).toBeLessThan(5000);
    expect(gunzipSync(answer.body).toString()).toBe(`${'x'.repeat(100_000)}\n`);
  });
});

describe('tables of a form', () => {
  const form = (parts: readonly string[]) => {
    const lines = parts.map((part) => `--edge\r\nContent-Disposition: form-data; ${part}\r\n`);
    return {
      headers: { 'content-type': 'multipart/form-data; boundary=edge' },
      body: `${lines.join('')}--edge--\r\n`,
    };
  };
  const rows = 'name="pairs"; filename="pairs"\r\n\r\n1\ta\n2\tb\r\n3\n';

  test('are read by their statement, as often as it names them', async () => {
    const url = {
      query: 'SELECT count(), (SELECT max(n) FROM pairs) FROM pairs WHERE s != {not:String}',
      pairs_structure: 'n UInt32, s String',
    };
    const answer = await ask({
      url,
      ...form(['name="param_not"\r\n\r\nb', 'name="pairs"; filename="pairs"\r\n\r\n1\ta\n2\tb\n']),
    });
    expect([answer.status, answer.text]).toEqual([200, '1\t2\n']);
  });

  test('end with their request', async () => {
    const url = { query: 'SELECT count() FROM pairs', pairs_structure: 'n UInt32' };
    expect((await ask({ url, ...form(['name="pairs"; filename="pairs"\r\n\r\n1\n2\n']) })).text).toBe('2\n');
    expect(
      (await ask({ url: { query: 'SELECT count() FROM pairs' } })).headers['x-clickhouse-exception-code'],
    ).toBe('60');
  });

  test('need columns, and rows of these columns', async () => {
    expect((await ask({ url: { query: 'SELECT count() FROM pairs' }, ...form([rows]) })).status).not.toBe(
      200,
    );
    const url = { query: 'SELECT count() FROM pairs', pairs_structure: 'n UInt32' };
    expect((await ask({ url, ...form([rows]) })).headers['x-clickhouse-exception-code']).toBe('27');
  });
});

describe('parameters', () => {
  const nasty = [
    "it's",
    '\\',
    '\\N',
    '\\\\n',
    'a\tb\nc\rd\0e',
    '{n:String}',
    "'; SELECT 2; --",
    '\u{1f600}é',
    '',
  ];

  test('texts arrive unchanged, alone and within arrays and maps', async () => {
    for (const text of nasty) {
      const [row] = await rowsOf<Record<string, unknown>>(
        'SELECT {t:String} AS t, {l:Array(String)} AS l, {m:Map(String, String)} AS m',
        { t: text, l: [text, text], m: { [text]: text } },
      );
      expect(row).toEqual({ t: text, l: [text, text], m: { [text]: text } });
    }
  });

  test('other types, and null', async () => {
    const [row] = await rowsOf<Record<string, unknown>>(
      `SELECT {u:UInt64} = 18446744073709551615 AS u, {f:Float64} AS f, {b:Bool} AS b, {d:DateTime64(3, 'UTC')} AS d,
        {z:Nullable(String)} AS z, {e:Array(UInt32)} AS e, {k:Identifier} AS k FROM (SELECT 5 AS five)`,
      {
        u: 18446744073709551615n,
        f: -1.5,
        b: true,
        d: new Date(1_700_000_000_123),
        z: null,
        e: [],
        k: 'five',
      },
    );
    expect(row).toEqual({ u: 1, f: -1.5, b: true, d: '2023-11-14 22:13:20.123', z: null, e: [], k: 5 });
  });

  test('long ones are sent as a form', async () => {
    const long = nasty.join('|').repeat(3000);
    const result = await target.client.query({
      query: 'SELECT {t:String} AS t',
      query_params: { t: long },
      use_multipart_params: true,
      format: 'JSONEachRow',
    });
    expect(await result.json()).toEqual([{ t: long }]);
  });

  test('a missing one is an error, even if another request has just set it', async () => {
    await rowsOf('SELECT {x:UInt32}', { x: 1 });
    expect((await errorOf(rowsOf('SELECT {x:UInt32}'))).code).toBe('456');
    expect((await errorOf(rowsOf('SELECT {x:UInt32}', { x: 'abc' }))).code).not.toBe('');
  });

  test('those of concurrent requests are never mixed up', async () => {
    const slow = target.client.query({
      query: 'SELECT {x:UInt32} AS x, sum(sleepEachRow(0.25)) FROM numbers(8) SETTINGS max_block_size = 1',
      query_params: { x: 4_000_000 },
      format: 'JSONEachRow',
    });
    const ends: string[] = [];
    const slowEnd = slow
      .then((result) => result.json<{ x: number }>())
      .then((rows) => ends.push(`slow ${rows[0]?.x}`));
    const lanes = Array.from({ length: 6 }, async (_, lane) => {
      for (let step = 0; step < 40; step += 1) {
        const x = lane * 1000 + step;
        const sql = 'SELECT {x:UInt32} AS x, {s:String} AS s, getSetting({name:String}) AS threads';
        const result = await target.client.query({
          query: sql,
          query_params: { x, s: `'${x}\\`, name: 'max_threads' },
          clickhouse_settings: { max_threads: 1 + (x % 3) },
          format: 'JSONEachRow',
        });
        expect(await result.json()).toEqual([{ x, s: `'${x}\\`, threads: 1 + (x % 3) }]);
      }
      ends.push('lane');
    });
    await Promise.all([...lanes, slowEnd]);
    expect(ends.filter((end) => end === 'slow 4000000').length).toBe(1);
    expect(ends.filter((end) => end === 'lane').length).toBe(6);
  });
});
