import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { release } from '../root.ts';
import { rawExchange } from '../testing/raw-exchange.ts';
import { HEAD_MAX_BYTES } from './head-limits.ts';
import { HttpServer } from './http.ts';

// Requests that no HTTP library sends, byte for byte: our answers, and the answers that the library gives before us (README.md).

let server: HttpServer;
let port: number;

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  });
  const answer = { bodyMaxBytes: 100, cors: undefined, readHead: () => undefined };
  server.route({
    ...answer,
    method: 'get',
    pattern: '/thing',
    bodyMaxBytes: 0,
    answer: (_head, _body, reply) => reply.json(200, '{"here":true}'),
  });
  server.route({
    ...answer,
    method: 'post',
    pattern: '/taken',
    answer: (_head, body, reply) => reply.json(200, JSON.stringify({ bytes: body.length })),
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close());

const hasBody = (text: string) => /\r\n\r\n\{.*\}$/s.test(text);

function jsonIn(text: string): unknown {
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4));
}

function inPackets(text: string): string[] {
  return Array.from({ length: 8 }, (_, index) =>
    text.slice((index * text.length) / 8, ((index + 1) * text.length) / 8),
  );
}

const head = (bytes: number) => `GET /thing HTTP/1.1\r\nHost: x\r\nCookie: ${'c'.repeat(bytes)}\r\n\r\n`;

describe('path, query and headers', () => {
  test.each([1_000, 20_000, 60_000])('of %i bytes are read, in one packet or in many', async (bytes) => {
    for (const packets of [[head(bytes)], inPackets(head(bytes))]) {
      const text = await rawExchange(port, packets, hasBody);
      expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(jsonIn(text)).toEqual({ here: true });
    }
  });

  test.each([HEAD_MAX_BYTES, 100_000])(
    'of more than %i bytes are too many, in one packet or in many',
    async (bytes) => {
      for (const packets of [[head(bytes)], inPackets(head(bytes))]) {
        const text = await rawExchange(port, packets, hasBody);
        expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/);
        expect(text).toContain(`service-version: ${release()}\r\n`);
        expect(jsonIn(text)).toEqual({
          status: 431,
          error: 'Request Header Fields Too Large',
          message: 'path, query and headers are longer than 65536 bytes',
        });
      }
    },
  );
});

test.each([5, 10, 17])(
  'a request line of which %i bytes come first gets 505 from the library',
  async (bytes) => {
    const request = 'GET /thing HTTP/1.1\r\nHost: x\r\n\r\n';
    const text = await rawExchange(port, [request.slice(0, bytes), request.slice(bytes)]);
    expect(text).toMatch(/^HTTP\/1\.1 505 HTTP Version Not Supported\r\n/);
  },
);

const HOST = 'Host: x\r\n';
const body = (headers: string, text: string) => `POST /taken HTTP/1.1\r\n${HOST}${headers}\r\n\r\n${text}`;

// The same table as in README.md. Strike a failing row from both: the library has become better.
test.each([
  ['HTTP/1.0', `GET /thing HTTP/1.0\r\n${HOST}\r\n`, 505],
  ['HTTP/2 without TLS', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 505],
  ['no request line', 'hello\r\n\r\n', 505],
  ['a target that is no path', `GET http://x/thing HTTP/1.1\r\n${HOST}\r\n`, 505],
  ['a space in the target', `GET /a b HTTP/1.1\r\n${HOST}\r\n`, 505],
  ['a length that is no number', body('Content-Length: x', 'abc'), 400],
  ['a length and chunks', body('Content-Length: 3\r\nTransfer-Encoding: chunked', '0\r\n\r\n'), 400],
  ['several lengths in one line', body('Content-Length: 3, 5', 'abcde'), 400],
  ['a length with a sign', body('Content-Length: +3', 'abc'), 400],
  ['a length of more than 64 bits', body('Content-Length: 18446744073709551619', 'abc'), 400],
  ['a chunk without a size', body('Transfer-Encoding: chunked', 'zz\r\n'), 400],
  ['a chunk size with a sign', body('Transfer-Encoding: chunked', '-1\r\nabc\r\n0\r\n\r\n'), 400],
  ['a chunk size of more than 64 bits', body('Transfer-Encoding: chunked', `${'F'.repeat(18)}\r\nabc`), 400],
  ['a request without a host', 'GET /thing HTTP/1.1\r\nAccept: */*\r\n\r\n', 400],
  ['a body behind a head without a host', 'POST /taken HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc', 400],
])('the library itself answers %s with %s', async (_what, bytes, status) => {
  const text = await rawExchange(port, [bytes]);
  expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [\\w ]+\\r\\nConnection: close\\r\\n\\r\\n<h1>`));
});
