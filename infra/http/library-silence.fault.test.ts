import { afterAll, beforeAll, expect, test } from 'vitest';
import { rawExchange } from '../testing/raw-exchange.ts';
import { HttpServer } from './http.ts';

// Requests that the library never takes for complete: no route sees them, and the connection ends without an answer
// (README.md). That takes the library's own twelve seconds, so all of them wait together.

const HEAD = 'GET /thing HTTP/1.1\r\n';
const HOST = 'Host: x\r\n';

const UNANSWERED: Readonly<Record<string, string>> = {
  'no header at all': `${HEAD}\r\n`,
  'a folded header': `${HEAD}${HOST}A: b\r\n c\r\n\r\n`,
  'a header folded by a tab': `${HEAD}${HOST}A: b\r\n\tContent-Length: 3\r\n\r\nabc`,
  'a space before the colon': `${HEAD}${HOST}Content-Length : 3\r\n\r\nabc`,
  'a header without a colon': `${HEAD}${HOST}abc\r\n\r\n`,
  'a control character in a name': `${HEAD}${HOST}A\x00: b\r\n\r\n`,
  'a control character in a value': `${HEAD}${HOST}A: \x0bb\r\n\r\n`,
  'more than 98 headers': `${HEAD}${HOST}${'A: b\r\n'.repeat(98)}\r\n`,
  'an extension of a chunk': `POST /thing HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n`,
};

let server: HttpServer;
let port: number;
let answered = 0;

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  });
  for (const method of ['get', 'post'] as const)
    server.route({
      method,
      pattern: '/thing',
      bodyMaxBytes: 100,
      cors: undefined,
      readHead: () => undefined,
      answer: (_head, _body, reply) => {
        answered += 1;
        reply.json(200, '{}');
      },
    });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => server.close());

test('a request that the library cannot complete reaches no route and is closed', async () => {
  const answers = await Promise.all(
    Object.entries(UNANSWERED).map(async ([what, bytes]) => [what, await rawExchange(port, [bytes])]),
  );
  expect(answers).toEqual(Object.keys(UNANSWERED).map((what) => [what, '']));
  expect(answered).toBe(0);
});
