import { afterAll, beforeAll, expect, test } from 'vitest';
import { AllowedOrigins } from '../network/allowed-origins.ts';
import { projectRoot } from '../root.ts';
import { rawExchange } from '../testing/raw-exchange.ts';
import { isTest, isTesting, readTree } from '../testing/source-tree.ts';
import { ALWAYS_FITS, HEADER_LIMITS, longQuery, PATH_MAX_CHARACTERS } from './head-limits.ts';
import { HttpServer } from './http.ts';

let server: HttpServer;
let port: number;

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  });
  server.route({
    method: 'get',
    pattern: '/read/:name',
    bodyMaxBytes: 0,
    cors: [['access-control-allow-origin', '*']],
    readHead: (head) => head.header(head.parameter(0)).length,
    answer: (length, _body, reply) => reply.json(200, JSON.stringify({ length })),
  });
  server.socket({
    pattern: '/socket',
    readHead: () => undefined,
    admit: () => ({}),
    opened: () => {},
    skipped: () => {},
    caughtUp: () => {},
    closed: () => {},
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close());

interface HeadAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

async function ask(path: string, lines: readonly string[]): Promise<HeadAnswer> {
  const host = lines.some((line) => line.startsWith('host:')) ? [] : ['host: x'];
  const request = `GET ${path} HTTP/1.1\r\n${[...host, ...lines].join('\r\n')}\r\n\r\n`;
  const text = await rawExchange(port, [request], (answer) => /\r\n\r\n\{.*\}$/s.test(answer));
  const json = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
  return { status: Number(text.split(' ')[1]), text, json };
}

/** Headers about the end of a body are answered by the library or as ambiguous; other tests cover them. */
const BODY_ENDS = ['content-length', 'transfer-encoding'];
const limits = Object.entries(HEADER_LIMITS).filter(([name]) => !BODY_ENDS.includes(name));

test.each(limits)(
  '%s is read up to its limit, and beyond it does what the table says',
  async (name, limit) => {
    const { charactersMax, beyond } = limit;
    const longest = await ask(`/read/${name}`, [`${name}: ${'a'.repeat(charactersMax)}`]);
    expect(longest.json).toEqual({ length: charactersMax });
    const longer = await ask(`/read/${name}`, [`${name}: ${'a'.repeat(charactersMax + 1)}`]);
    if (beyond === 'reject') {
      expect(longer.json).toEqual({
        status: 400,
        error: 'Bad Request',
        message: `${name}: expected at most ${charactersMax} characters`,
      });
      expect(longer.text).toContain('access-control-allow-origin: *');
    } else expect(longer.json).toEqual({ length: beyond === 'cut' ? charactersMax : 0 });
  },
);

test('values that need no look at the table are shorter than every limit', () => {
  const lowest = Math.min(...Object.values(HEADER_LIMITS).map(({ charactersMax }) => charactersMax));
  expect(lowest).toBeGreaterThanOrEqual(ALWAYS_FITS);
});

test('a header that the service does not read may be longer', async () => {
  expect(await ask('/read/x-of-a-proxy', [`x-of-a-proxy: ${'a'.repeat(60_000)}`])).toMatchObject({
    status: 200,
  });
});

test('every header that the code reads by name is in the table', () => {
  const read = [...readTree(projectRoot)]
    .filter(([path]) => /^(?:infra|ingest|query)\/.*\.ts$/.test(path) && !isTest(path) && !isTesting(path))
    .flatMap(([, source]) => [...source.matchAll(/\b(?:head|read)\.header(?:Lines)?\('([^']+)'\)/g)])
    .map(([, name = '']) => name);
  expect(read.length).toBeGreaterThan(20);
  expect(read.filter((name) => !Object.hasOwn(HEADER_LIMITS, name))).toEqual([]);
});

test('a path that is too long is 400', async () => {
  const path = (characters: number) => `/read/${'a'.repeat(characters - '/read/'.length)}`;
  expect(await ask(path(PATH_MAX_CHARACTERS), [])).toMatchObject({ status: 200 });
  expect(await ask(path(PATH_MAX_CHARACTERS + 1), [])).toMatchObject({
    json: { status: 400, message: 'path: expected at most 8192 characters' },
  });
});

test('a WebSocket has the same limits before its route reads anything', async () => {
  const upgrade = ['upgrade: websocket', 'connection: upgrade', 'sec-websocket-version: 13'];
  const key = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==';
  const long = await ask('/socket', [...upgrade, key, `origin: ${'/'.repeat(60_000)}`]);
  expect(long.json).toMatchObject({ status: 400, message: 'origin: expected at most 2048 characters' });
  const longer = await ask('/socket', [
    ...upgrade,
    key,
    `x: ${'a'.repeat(40_000)}`,
    `y: ${'a'.repeat(40_000)}`,
  ]);
  expect(longer.json).toMatchObject({ status: 431 });
});

test('an origin full of slashes takes time by its length', () => {
  const startedAt = process.cpuUsage();
  const origins = new AllowedOrigins();
  for (const text of ['/'.repeat(60_000), `a${'/'.repeat(60_000)}b`])
    for (let round = 0; round < 10; round += 1) expect(origins.allows(['shop.example'], text)).toBe(false);
  // By the square of the length it would be half a minute.
  expect(process.cpuUsage(startedAt).user / 1_000).toBeLessThan(3_000);
});

test('a query string of a route with a few parameters is short', () => {
  expect(longQuery('a'.repeat(4_096))).toBeUndefined();
  expect(longQuery('a'.repeat(4_097))).toBe('query: expected at most 4096 characters');
});
