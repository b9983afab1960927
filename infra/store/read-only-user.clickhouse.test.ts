import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type StoreServer, startStoreServer } from '../testing/store-server.ts';
import { Store } from './store.ts';
import { StoreError } from './store-error.ts';

// The user with which questions are asked of the embedded store, against the real engine.

const MARK = 'a-secret-of-this-machine';
const READ_ONLY = 164;
const ACCESS_DENIED = 497;
const OUTFILE_NOT_ALLOWED = 358;

let folder = '';
let server: StoreServer;
let writer: Store;
let reader: Store;
let strangers: Server;
/** Requests that the store sent to an address of a statement. */
let visits = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-reader-'));
  writeFileSync(join(folder, 'secret.txt'), MARK);
  server = await startStoreServer({ dataDir: join(folder, 'data'), password: 'all', queryPassword: 'some' });
  writer = open('default:all');
  reader = open('query:some', true);
  await writer.createDatabase();
  await writer.command('CREATE TABLE items (id UInt32) ENGINE = MergeTree ORDER BY id');
  await writer.command('INSERT INTO items SELECT number FROM numbers(10)');
  strangers = createServer((_request, response) => {
    visits += 1;
    response.end(`${MARK}\n`);
  });
  await new Promise<void>((resolve) => {
    strangers.listen(0, '127.0.0.1', resolve);
  });
});
afterAll(async () => {
  strangers?.close();
  await writer?.close();
  await reader?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function open(login: string, isReadonly = false): Store {
  const url = server.url.replace('http://', `http://${login}@`);
  return new Store({ url, database: 'shop', requestTimeoutMs: 30_000, isReadonly });
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    (answer) => JSON.stringify(answer),
    (error: unknown) => (error instanceof StoreError ? error.code : error),
  );
}

test('reads its tables, with the limits that it sets', async () => {
  expect(await reader.query('SELECT count() AS items FROM items')).toEqual([{ items: 10 }]);
  const limited = reader.query('SELECT count() FROM numbers(1e12)', {}, { max_execution_time: 0.1 });
  expect(await codeOf(limited)).toBe(159);
  expect([await reader.responds(), await reader.rejectsUs(), await reader.ping()]).toEqual([
    true,
    false,
    true,
  ]);
});

test('reads tables that travel with a statement, and no files by them', async () => {
  const ask = (structure: string, sql = 'SELECT count() AS count FROM hot, items') =>
    reader.query(sql, {}, {}, undefined, [{ name: 'hot', structure, bytes: Buffer.from([1, 2]) }]);
  expect(await ask('a UInt8')).toEqual([{ count: 20 }]);
  const secret = join(folder, 'secret.txt');
  expect(await codeOf(ask(`a UInt8 DEFAULT length(file('${secret}'))`))).toBe(ACCESS_DENIED);
  expect(await codeOf(ask('a UInt8', 'INSERT INTO items SELECT a FROM hot'))).toBe(ACCESS_DENIED);
});

test.each([
  'INSERT INTO items VALUES (11)',
  'INSERT INTO items SELECT 11',
  'ALTER TABLE items DELETE WHERE 1',
  'TRUNCATE TABLE items',
  'DROP TABLE items',
  'DROP DATABASE shop',
  'CREATE TABLE copies ENGINE = Memory AS SELECT 1',
  'CREATE TEMPORARY TABLE copies (id UInt8)',
  'SYSTEM STOP MERGES',
  'KILL QUERY WHERE 1',
  'OPTIMIZE TABLE items FINAL',
  "INSERT INTO FUNCTION file('$FOLDER/written.txt', 'LineAsString', 'line String') SELECT 'x'",
  "SELECT 1 INTO OUTFILE '$FOLDER/written.txt'",
  "SELECT * FROM file('$FOLDER/secret.txt', 'LineAsString')",
  "SELECT file('$FOLDER/secret.txt')",
  'SELECT * FROM default."$FOLDER/secret.txt"',
  "SELECT * FROM url('$ADDRESS', 'LineAsString')",
  "SELECT * FROM s3('$ADDRESS/bucket/key', 'LineAsString')",
  "SELECT * FROM remote('127.0.0.1', 'system', 'one')",
  'SELECT * FROM system.tables',
  'SELECT 1 SETTINGS readonly = 0',
  'SELECT 1 SETTINGS allow_introspection_functions = 1',
])('cannot run %s', async (template) => {
  const address = `http://127.0.0.1:${(strangers.address() as AddressInfo).port}/`;
  const sql = template.replaceAll('$FOLDER', folder).replaceAll('$ADDRESS', address);
  const rejects = [READ_ONLY, ACCESS_DENIED, OUTFILE_NOT_ALLOWED];
  expect(rejects).toContain(await codeOf(reader.query(sql)));
  expect(rejects).toContain(await codeOf(reader.command(sql)));
  await expect(bytesOf(reader.bytes(sql))).rejects.toMatchObject({ failure: 'server' });
  expect(existsSync(join(folder, 'written.txt'))).toBe(false);
  expect(visits).toBe(0);
  expect(await writer.query('SELECT count() AS items FROM items')).toEqual([{ items: 10 }]);
});

test('cannot insert rows, nor choose another database or setting', async () => {
  const rows = Buffer.from([11, 0, 0, 0]);
  expect(await codeOf(reader.insertRowBinary('items', ['id'], [rows], undefined))).toBe(READ_ONLY);
  const elsewhere = new Store({
    url: server.url.replace('http://', 'http://query:some@'),
    database: 'system',
    requestTimeoutMs: 30_000,
  });
  expect(await codeOf(elsewhere.query('SELECT name FROM tables'))).toBe(ACCESS_DENIED);
  await elsewhere.close();
  for (const name of ['readonly', 'allow_ddl']) {
    const settings = { [name]: '0' };
    const changing = reader.query('INSERT INTO items VALUES (11)', {}, settings);
    expect([READ_ONLY, ACCESS_DENIED]).toContain(await codeOf(changing));
  }
  expect(await writer.query('SELECT count() AS items FROM items')).toEqual([{ items: 10 }]);
});

test('has its own password, and does not exist without one', async () => {
  for (const login of ['query:all', 'query', 'default:some']) {
    const wrong = open(login);
    expect([login, await wrong.rejectsUs()]).toEqual([login, true]);
    await wrong.close();
  }
});

test('without that user, a read-only store rejects writes by a setting', async () => {
  const questions = open('default:all', true);
  expect(await questions.query('SELECT count() AS items FROM items')).toEqual([{ items: 10 }]);
  for (const sql of ['INSERT INTO items SELECT 11', 'DROP TABLE items', 'SELECT 1 SETTINGS readonly = 0'])
    expect([sql, await codeOf(questions.query(sql))]).toEqual([sql, READ_ONLY]);
  await questions.close();
});

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all);
}
