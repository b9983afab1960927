import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binaryRow, ConformanceTarget, errorOf, pieces } from '../testing/store-conformance.ts';

const target = new ConformanceTarget();
const { ask, rowsOf, freshTable } = target;
beforeAll(() => target.start());
afterAll(() => target.stop());

describe('inserts', () => {
  const values = [
    { n: 1, s: "it's\n\n\\ \0 \t é" },
    { n: 2, s: '' },
  ];

  test('objects and streams, in the formats of the client', async () => {
    for (const format of ['JSONEachRow', 'JSONCompactEachRow', 'CSV', 'TabSeparated'] as const) {
      const table = await freshTable();
      if (format === 'JSONEachRow' || format === 'JSONCompactEachRow') {
        const rows: object[] = format === 'JSONEachRow' ? values : values.map(({ n, s }) => [n, s]);
        await target.client.insert({ table, values: rows, format });
        await target.client.insert({ table, values: Readable.from(rows), format });
      } else {
        const text = format === 'CSV' ? '1,"a\n\n""b"""\n2,c\n' : '1\ta\\n\\nb\n2\tc\n';
        await target.client.insert({ table, values: Readable.from([text], { objectMode: false }), format });
      }
      const stored = await rowsOf<{ n: number; s: string }>(`SELECT n, s FROM ${table} ORDER BY n`);
      if (format === 'CSV')
        expect(stored).toEqual([
          { n: 1, s: 'a\n\n"b"' },
          { n: 2, s: 'c' },
        ]);
      else if (format === 'TabSeparated')
        expect(stored).toEqual([
          { n: 1, s: 'a\n\nb' },
          { n: 2, s: 'c' },
        ]);
      else expect(stored).toEqual([values[0], values[0], values[1], values[1]]);
    }
  });

  test('RowBinary with every byte value at its start and end, with the statement in the URL or in the body', async () => {
    const table = await freshTable();
    const sql = `INSERT INTO ${table} (n, s) FORMAT RowBinary`;
    const sent: string[] = [];
    for (let byte = 0; byte < 256; byte += 1) {
      const n = byte * 0x01010101;
      const body = Buffer.concat([binaryRow(n, 'a\n\n'), binaryRow(n, Buffer.from([10, 10, byte]))]);
      const answer =
        byte % 2 === 0
          ? await ask({ url: { query: sql }, body })
          : await ask({ body: Buffer.concat([Buffer.from(`${sql}\n`), body]), pieceBytes: 7 });
      expect([byte, answer.status, answer.text]).toEqual([byte, 200, '']);
      sent.push(`${n}:610A0A`, `${n}:0A0A${byte.toString(16).padStart(2, '0').toUpperCase()}`);
    }
    const stored = await rowsOf<{ row: string }>(
      `SELECT concat(toString(n), ':', hex(s)) AS row FROM ${table}`,
    );
    expect(stored.map(({ row }) => row).sort()).toEqual(sent.sort());
  });

  test('a body of many megabytes in small pieces, plain and gzipped', async () => {
    const table = await freshTable();
    const rows = Array.from({ length: 20_000 }, (_, n) => binaryRow(n, `${n}`.padEnd(500, '\n')));
    const body = Buffer.concat(rows);
    const plain = await target.client.exec({
      query: `INSERT INTO ${table} (n, s) FORMAT RowBinary`,
      values: Readable.from(pieces(body, 10_000), { objectMode: false }),
    });
    plain.stream.resume();
    const gzipped = await ask({
      headers: { 'content-encoding': 'gzip' },
      body: gzipSync(Buffer.concat([Buffer.from(`INSERT INTO ${table} FORMAT RowBinary\n`), body])),
      pieceBytes: 30_000,
    });
    expect(gzipped.status).toBe(200);
    const summary = JSON.parse(String(gzipped.headers['x-clickhouse-summary'])) as Record<string, string>;
    expect(summary.written_rows).toBe('20000');
    expect(Number(summary.written_bytes)).toBeGreaterThan(10_000_000);
    expect(
      await rowsOf(`SELECT count() AS c, uniqExact(n) AS u, sum(length(s)) AS l FROM ${table}`).then((all) =>
        all.map((row) => Object.values(row as object).map(Number)),
      ),
    ).toEqual([[40_000, 20_000, 20_000_000]]);
  });

  test('values in the statement, a SELECT, no rows at all', async () => {
    const table = await freshTable();
    await target.client.command({
      query: `INSERT INTO ${table} VALUES (1, 'a;\n\nb'), (1 + 1, concat('c', 'd'));`,
    });
    await target.client.command({
      query: `INSERT INTO ${table} (s, n) SELECT 'x', number FROM numbers(10, 3)`,
    });
    expect((await ask({ url: { query: `INSERT INTO ${table} FORMAT RowBinary` } })).status).toBe(200);
    expect(await rowsOf(`SELECT n, s FROM ${table} ORDER BY n`)).toEqual([
      { n: 1, s: 'a;\n\nb' },
      { n: 2, s: 'cd' },
      { n: 10, s: 'x' },
      { n: 11, s: 'x' },
      { n: 12, s: 'x' },
    ]);
  });

  test('rows that a SELECT reads and changes', async () => {
    const table = await freshTable();
    const sql = `INSERT INTO ${table} (n, s) SELECT a + 1, concat(b, '\\'') FROM input('a UInt32, b String') FORMAT RowBinary`;
    const body = Buffer.concat([binaryRow(1, 'a\n\n'), binaryRow(2, '')]);
    const inUrl = await ask({ url: { query: sql }, body });
    const inBody = await ask({ body: Buffer.concat([Buffer.from(`${sql}\n`), body]), pieceBytes: 7 });
    for (const { status, text, headers } of [inUrl, inBody]) {
      expect([status, text]).toEqual([200, '']);
      expect(JSON.parse(String(headers['x-clickhouse-summary']))).toMatchObject({ written_rows: '2' });
    }
    expect(await rowsOf(`SELECT n, s FROM ${table} ORDER BY n`)).toEqual([
      { n: 2, s: "a\n\n'" },
      { n: 2, s: "a\n\n'" },
      { n: 3, s: "'" },
      { n: 3, s: "'" },
    ]);
    const wrong = await ask({ url: { query: sql }, body: body.subarray(0, 6) });
    expect(wrong.headers['x-clickhouse-exception-code']).toBe('33');
  });

  test('a deduplication token makes repeating an insert harmless, in dependent views too', async () => {
    const table = await freshTable('n UInt32, s String', 100);
    const sums = await freshTable('c UInt64', 100);
    await target.client.command({
      query: `CREATE MATERIALIZED VIEW ${table}_v TO ${sums} AS SELECT count() AS c FROM ${table}`,
    });
    const body = Buffer.concat(Array.from({ length: 100 }, (_, n) => binaryRow(n, 'x')));
    for (const token of ['1:1', '1:1', '1:2', '1:1']) {
      const url = {
        query: `INSERT INTO ${table} FORMAT RowBinary`,
        insert_deduplication_token: token,
        deduplicate_blocks_in_dependent_materialized_views: '1',
      };
      expect((await ask({ url, body })).status).toBe(200);
    }
    expect(
      (await ask({ body: `SELECT (SELECT count() FROM ${table}), (SELECT sum(c) FROM ${sums})` })).text,
    ).toBe('200\t200\n');
  });

  test('unreadable rows are rejected with their code, and none of them is stored', async () => {
    const table = await freshTable();
    const good = binaryRow(1, 'good');
    const cut = await ask({
      url: { query: `INSERT INTO ${table} FORMAT RowBinary` },
      body: Buffer.concat([good, good.subarray(0, 6)]),
    });
    expect(cut.status).toBeGreaterThanOrEqual(400);
    expect(['32', '33']).toContain(cut.headers['x-clickhouse-exception-code']);
    const wrong = await errorOf(
      target.client.insert({ table, values: [{ n: 'abc', s: '' }], format: 'JSONEachRow' }),
    );
    expect(wrong.code).toBe('27');
    expect((await ask({ body: `SELECT count() FROM ${table}` })).text).toBe('0\n');
  });

  test('a client that disconnects in the middle of its rows stores none of them', async () => {
    const table = await freshTable();
    const url = new URL(target.address);
    url.searchParams.set('query', `INSERT INTO ${target.database}.${table} FORMAT RowBinary`);
    await new Promise<void>((resolve) => {
      const { authorization } = target;
      const request = httpRequest(url, { method: 'POST', headers: { authorization } });
      request.on('error', () => {}).on('close', () => resolve());
      request.write(binaryRow(1, 'x'.repeat(100_000)), () => request.destroy());
    });
    await target.client.insert({ table, values: [{ n: 5, s: 'whole' }], format: 'JSONEachRow' });
    expect(await rowsOf(`SELECT n FROM ${table}`)).toEqual([{ n: 5 }]);
  });
});
