import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConformanceTarget, errorOf } from '../testing/store-conformance.ts';

const target = new ConformanceTarget();
const { ask, rowsOf, freshTable, connect } = target;
beforeAll(() => target.start());
afterAll(() => target.stop());

describe('settings and names', () => {
  test('a setting applies to its request only', async () => {
    const sql = "SELECT getSetting('max_threads'), getSetting('max_block_size')";
    const before = (await ask({ body: sql })).text;
    expect((await ask({ body: sql, url: { max_threads: '7', max_block_size: '1234' } })).text).toBe(
      '7\t1234\n',
    );
    expect((await ask({ body: sql })).text).toBe(before);
  });

  test('an unknown setting or database has its own error', async () => {
    const setting = await ask({ body: 'SELECT 1', url: { no_such_setting: '1' } });
    expect([setting.status, setting.headers['x-clickhouse-exception-code']]).toEqual([404, '115']);
    expect(setting.text).toMatch(/^Code: 115\. DB::Exception: .*\(UNKNOWN_SETTING\)/);
    const database = await ask({ body: 'SELECT 1', url: { database: 'no_such' } });
    expect([database.status, database.headers['x-clickhouse-exception-code']]).toEqual([404, '81']);
  });

  test('the database comes from the URL or a header', async () => {
    const sql = 'SELECT currentDatabase()';
    expect((await ask({ body: sql })).text).toBe(`${target.database}\n`);
    expect((await ask({ body: sql, url: { database: 'system' } })).text).toBe('system\n');
    expect((await ask({ body: sql, headers: { 'x-clickhouse-database': 'system' } })).text).toBe('system\n');
  });

  test('a text over the size limit is rejected, unless the limit is raised', async () => {
    const body = `SELECT length('${'x'.repeat(6_000_000)}')`;
    const rejected = await ask({ body });
    expect([rejected.status, rejected.headers['x-clickhouse-exception-code']]).toEqual([400, '62']);
    expect((await ask({ body, url: { max_query_size: '67108864' } })).text).toBe('6000000\n');
  });

  test('the query id is echoed or generated, and cannot run twice at the same time', async () => {
    expect(
      (await ask({ body: 'SELECT 1', url: { query_id: 'mine' } })).headers['x-clickhouse-query-id'],
    ).toBe('mine');
    expect((await ask({ body: 'SELECT 1' })).headers['x-clickhouse-query-id']).toMatch(/^[0-9a-f-]{36}$/);
    const twice = await Promise.all(
      [1, 2].map(() => ask({ body: 'SELECT sleep(1)', url: { query_id: 'twice' } })),
    );
    expect(twice.map(({ headers }) => headers['x-clickhouse-exception-code']).sort()).toEqual([
      '216',
      undefined,
    ]);
  });

  test('the headers of an answer', async () => {
    const { headers } = await ask({ body: 'SELECT number FROM numbers(5)' });
    expect(headers['x-clickhouse-server-display-name']).toBeTruthy();
    expect(headers['x-clickhouse-timezone']).toBeTruthy();
    const summary = JSON.parse(String(headers['x-clickhouse-summary'])) as Record<string, string>;
    expect(summary).toMatchObject({ read_rows: '5', written_rows: '0', result_rows: '5' });
    expect(Number(summary.elapsed_ns)).toBeGreaterThan(0);
    expect(Object.values(summary).every((value) => typeof value === 'string')).toBe(true);
  });
});

describe('errors', () => {
  test.each([
    ['SELECT * FROM no_such_table', 404, 60, 'UNKNOWN_TABLE'],
    ['SELECT no_such_column FROM system.one', 404, 47, 'UNKNOWN_IDENTIFIER'],
    ['SELECT no_such_function()', 404, 46, 'UNKNOWN_FUNCTION'],
    ['SELEC 1', 400, 62, 'SYNTAX_ERROR'],
    ['SELECT 1; SELECT 2', 400, 62, 'SYNTAX_ERROR'],
    ["SELECT toUInt8('x')", 400, 6, 'CANNOT_PARSE_TEXT'],
    ['SELECT 1 FORMAT NoSuchFormat', 404, 73, 'UNKNOWN_FORMAT'],
  ])('%s', async (body, status, code, name) => {
    const answer = await ask({ body });
    expect([answer.status, answer.headers['x-clickhouse-exception-code']]).toEqual([status, String(code)]);
    expect(answer.text.startsWith(`Code: ${code}. DB::Exception: `)).toBe(true);
    expect(answer.text).toContain(`(${name})`);
    expect(answer.text.indexOf(`Code: ${code}.`, 1)).toBe(-1);
    const seen = await errorOf(target.client.command({ query: body }));
    expect(seen.code).toBe(String(code));
  });

  test('one in the middle of an answer breaks it, with the error at its end', async () => {
    for (const compression of [false, true]) {
      const other = connect({ compression: { response: compression } });
      const result = await other.query({
        query: 'SELECT number, throwIf(number = 3000000) FROM numbers(9000000)',
        format: 'JSONEachRow',
      });
      const read = async () => {
        for await (const rows of result.stream()) expect(rows.length).toBeGreaterThan(0);
      };
      expect((await errorOf(read())).code).toBe('395');
      await other.close();
    }
    const raw = await ask({ body: 'SELECT number, throwIf(number = 3000000) FROM numbers(9000000)' });
    expect(raw.status).toBe(200);
    expect(raw.isWhole).toBe(false);
    const tag = String(raw.headers['x-clickhouse-exception-tag']);
    expect(raw.text.slice(-40 - tag.length)).toContain(`${tag}\r\n__exception__\r\n`);
  });

  test('GET reads and changes nothing', async () => {
    const table = await freshTable();
    const get = (query: string) => ask({ method: 'GET', url: { query } });
    expect((await get('SELECT 1 SETTINGS max_threads = 1')).text).toBe('1\n');
    for (const sql of [
      `INSERT INTO ${table} VALUES (1, '')`,
      `INSERT INTO ${table} SELECT 1, ''`,
      `DROP TABLE ${table}`,
    ]) {
      const answer = await get(sql);
      expect([sql, answer.headers['x-clickhouse-exception-code']]).toEqual([sql, '164']);
    }
    expect((await ask({ body: `SELECT count() FROM ${table}` })).text).toBe('0\n');
  });

  test('time and memory limits stop a query, and the store goes on', async () => {
    const time = await ask({
      body: 'SELECT count() FROM numbers(1000000000000)',
      url: { max_execution_time: '0.3' },
    });
    expect([time.status, time.headers['x-clickhouse-exception-code']]).toEqual([408, '159']);
    const memory = await ask({
      body: 'SELECT groupArray(number) FROM numbers(100000000)',
      url: { max_memory_usage: '20000000' },
    });
    expect(memory.headers['x-clickhouse-exception-code']).toBe('241');
    expect((await ask({ body: 'SELECT 1' })).text).toBe('1\n');
  });

  test('the three ways to authenticate, with right and wrong credentials', async () => {
    const { user, password } = target;
    const sql = 'SELECT currentUser()';
    const by = async (url: Record<string, string>, headers: Record<string, string>) => {
      const answer = await ask({ isAnonymous: true, body: sql, url, headers });
      return [
        answer.status,
        answer.status === 200 ? answer.text : answer.headers['x-clickhouse-exception-code'],
      ];
    };
    const basic = (secret: string) => `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
    const right = [200, `${user}\n`];
    expect(await by({ user, password }, {})).toEqual(right);
    expect(await by({}, { 'x-clickhouse-user': user, 'x-clickhouse-key': password })).toEqual(right);
    expect(await by({}, { authorization: basic(password) })).toEqual(right);
    const wrong = [403, '516'];
    expect(await by({ user, password: 'wrong' }, {})).toEqual(wrong);
    expect(await by({}, { 'x-clickhouse-user': user, 'x-clickhouse-key': 'wrong' })).toEqual(wrong);
    expect(await by({}, { authorization: basic('wrong') })).toEqual(wrong);
    expect(await by({ user: 'unknown', password }, {})).toEqual(wrong);
  });
});

describe.skipIf(target.isOutside)('the embedded store', () => {
  const metric = async (name: string): Promise<number> => {
    const { text } = await ask({ method: 'GET', path: '/metrics', isAnonymous: true });
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const until = async (condition: () => Promise<boolean>): Promise<void> => {
    while (!(await condition())) await new Promise((resolve) => setImmediate(resolve));
  };

  test('a query ends when its client disconnects', async () => {
    const url = new URL(target.address);
    const { authorization } = target;
    for (const query of [
      'SELECT number FROM numbers(1000000000000)',
      'SELECT count() FROM numbers(1000000000000)',
    ]) {
      url.searchParams.set('query', query);
      const request = httpRequest(url, { headers: { authorization } });
      request.on('error', () => {}).end();
      await until(async () => (await metric('store_queries_in_flight')) === 1);
      request.destroy();
      await until(async () => (await metric('store_queries_in_flight')) === 0);
    }
  });

  test('while slow queries use all permits, inserts run, further queries wait, and more are rejected', async () => {
    const table = await freshTable();
    const gone = new AbortController();
    const slow = Array.from({ length: 8 }, () =>
      target.client
        .query({
          query: 'SELECT count() FROM numbers(1000000000000) SETTINGS max_threads = 1',
          abort_signal: gone.signal,
        })
        .catch(() => 'aborted'),
    );
    await until(async () => (await metric('store_queries_in_flight')) === 8);
    await target.client.insert({ table, values: [{ n: 1, s: '' }], format: 'JSONEachRow' });
    const many = connect({ max_open_connections: 300 });
    const waiting = Array.from({ length: 128 }, () =>
      many.query({ query: 'SELECT 1', format: 'CSV' }).then((r) => r.text()),
    );
    await until(async () => (await metric('store_queries_waiting')) === 128);
    const rejected = await ask({ body: 'SELECT 1' });
    expect([rejected.status, rejected.headers['x-clickhouse-exception-code']]).toEqual([500, '202']);
    gone.abort();
    await Promise.all(slow);
    expect(new Set(await Promise.all(waiting)).size).toBe(1);
    await many.close();
    expect(
      await rowsOf(`SELECT count() AS c FROM ${table}`).then((rows) => Number((rows[0] as { c: unknown }).c)),
    ).toBe(1);
  });

  test('memory stays constant while a long answer waits for its reader', async () => {
    const before = await metric('store_resident_bytes');
    const unread = await target.client.query({
      query: 'SELECT number FROM numbers(20000000)',
      format: 'RowBinary' as 'CSV',
    });
    let bytes = 0;
    let most = 0;
    let chunks = 0;
    const { stream } = await target.client.exec({
      query: 'SELECT number FROM numbers(40000000) FORMAT RowBinary',
    });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      chunks += 1;
      if (chunks % 500 === 0) most = Math.max(most, await metric('store_resident_bytes'));
    }
    unread.close();
    expect(bytes).toBe(320_000_000);
    expect(most - before).toBeLessThan(200_000_000);
  });

  test('unsupported features are rejected', async () => {
    expect(
      (await ask({ body: 'SELECT 1', url: { session_id: 'x' } })).headers['x-clickhouse-exception-code'],
    ).toBe('48');
    expect(
      (await ask({ body: "SELECT 1 INTO OUTFILE '/tmp/x'" })).headers['x-clickhouse-exception-code'],
    ).toBe('358');
  });
});
