import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { release } from '../root.ts';
import { rawExchange } from '../testing/raw-exchange.ts';
import { HttpServer } from './http.ts';

// Requests with an end or a host that two readers may see differently, byte for byte. If a request behind one of them
// is answered, a stranger has put it into the connection of a proxy.

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const METHODS = ['get', 'post'] as const;

let server: HttpServer;
let port: number;
let answered: string[] = [];

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  });
  for (const isHot of [true, false])
    for (const method of METHODS)
      server.route({
        method,
        pattern: isHot ? '/hot' : '/thing',
        bodyMaxBytes: method === 'get' ? 0 : 100,
        cors: undefined,
        isHot,
        readHead: ({ path }) => path,
        answer: (path, body, reply) => {
          answered.push(`${path} ${body.length}`);
          reply.json(200, '{}');
        },
      });
  server.route({
    method: 'get',
    pattern: '/smuggled',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: () => undefined,
    answer: (_head, _body, reply) => {
      answered.push('/smuggled');
      reply.json(200, '{}');
    },
  });
  port = await server.listen('127.0.0.1', 0);
});

beforeEach(() => {
  answered = [];
});

afterAll(() => server.close());

const exchange = (bytes: string) => rawExchange(port, [bytes]);

/** Status lines in a text; two mean two answers. */
const statusLines = (text: string) => text.match(/HTTP\/1\.1 \d{3} [\w ]+/g);

const CHUNKED = '3\r\nabc\r\n0\r\n\r\n';
const AMBIGUOUS: readonly (readonly [what: string, headers: string, body: string, named: string])[] = [
  ['two different lengths', 'Content-Length: 3\r\nContent-Length: 5', 'abcde', 'content-length'],
  ['the longer length first', 'Content-Length: 5\r\nContent-Length: 3', 'abcde', 'content-length'],
  ['the same length twice', 'Content-Length: 3\r\nContent-Length: 3', 'abc', 'content-length'],
  ['an empty length and a length', 'Content-Length: \r\nContent-Length: 3', 'abc', 'content-length'],
  ['an empty length', 'Content-Length: ', '', 'content-length'],
  ['chunks in another coding', 'Transfer-Encoding: chunked, gzip', CHUNKED, 'transfer-encoding'],
  ['another coding in chunks', 'Transfer-Encoding: gzip, chunked', CHUNKED, 'transfer-encoding'],
  ['chunks twice', 'Transfer-Encoding: chunked, chunked', CHUNKED, 'transfer-encoding'],
  [
    'two lines of codings',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip',
    CHUNKED,
    'transfer-encoding',
  ],
  ['the coding identity', 'Transfer-Encoding: identity', CHUNKED, 'transfer-encoding'],
  ['an unknown coding', 'Transfer-Encoding: xchunked', CHUNKED, 'transfer-encoding'],
  ['no coding and a length', 'Transfer-Encoding: \r\nContent-Length: 3', 'abc', 'transfer-encoding'],
  ['two hosts', 'Host: y\r\nContent-Length: 3', 'abc', 'host'],
];

const TARGETS = [
  ['a route', 'POST', '/thing'],
  ['a hot route', 'POST', '/hot'],
  ['a path that does not exist', 'POST', '/nothing'],
  ['another method of a path', 'DELETE', '/thing'],
  ['a preflight', 'OPTIONS', '/thing'],
] as const;

test.each(AMBIGUOUS)('a request with %s is 400, and the connection ends', async (...row) => {
  const [, headers, body, named] = row;
  for (const [where, method, path] of TARGETS) {
    const text = await exchange(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}`);
    expect([where, statusLines(text)]).toEqual([where, ['HTTP/1.1 400 Bad Request']]);
    expect(text).toMatch(/^connection: close\r$/im);
    expect(text).toContain(`service-version: ${release()}\r\n`);
    expect(text).toContain('x-content-type-options: nosniff\r\n');
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toEqual({
      status: 400,
      error: 'Bad Request',
      message: expect.stringMatching(new RegExp(`^${named}: `)),
    });
  }
  expect(answered).toEqual([]);
});

test.each(AMBIGUOUS)('what stands behind a request with %s is not read', async (...row) => {
  const [, headers, body] = row;
  for (const [where, method, path] of TARGETS) {
    const text = await exchange(
      `${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}${SMUGGLED}${SMUGGLED}`,
    );
    // The library closes the connection when a request comes before the answer to the one in front of it.
    expect([where, text]).toEqual([where, '']);
  }
  expect(answered).toEqual([]);
});

test('HEAD of an ambiguous request is 400 without a body', async () => {
  const text = await exchange(
    'HEAD /thing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 0\r\n\r\nabc',
  );
  expect(statusLines(text)).toEqual(['HTTP/1.1 400 Bad Request']);
  expect(text.endsWith('\r\n\r\n')).toBe(true);
  expect(answered).toEqual([]);
});

test.each([
  ['a length', 'Content-Length: 3', 'abc'],
  ['a length among spaces', 'content-length:   3  ', 'abc'],
  ['chunks', 'Transfer-Encoding: chunked', CHUNKED],
  ['chunks in capitals', 'TRANSFER-ENCODING: Chunked', CHUNKED],
])('a request with %s is read, and so is the one behind it', async (_what, headers, body) => {
  for (const path of ['/thing', '/hot']) {
    answered = [];
    const text = await exchange(`POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body}${SMUGGLED}`);
    expect(statusLines(text)).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
    expect(answered).toEqual([`${path} 3`, '/smuggled']);
  }
});
