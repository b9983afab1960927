import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HttpServer } from './http.ts';

let server: HttpServer;
let port: number;
/** One connection, so that anything sent after an answer would be read as the next answer. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  });
  server.route({
    method: 'get',
    pattern: '/thing',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: () => undefined,
    answer: (_head, _body, reply) => reply.json(200, '{"here":true}'),
  });
  port = await server.listen('127.0.0.1', 0);
});

afterAll(() => {
  agent.destroy();
  server.close();
});

function ask(method: string, path: string): Promise<{ status: number; text: string; reused: boolean }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path, agent }, (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        text += chunk;
      });
      incoming.once('end', () =>
        resolve({ status: incoming.statusCode ?? 0, text, reused: outgoing.reusedSocket }),
      );
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

test.each([
  ['/thing', 200],
  ['/nothing', 404],
])('HEAD %s is answered %i without a body, and the connection goes on', async (path, status) => {
  expect(await ask('GET', '/thing')).toMatchObject({ status: 200 });
  expect(await ask('HEAD', path)).toEqual({ status, text: '', reused: true });
  expect(await ask('GET', '/thing')).toEqual({ status: 200, text: '{"here":true}', reused: true });
});

test.each([
  ['/thing', 405],
  ['/nothing', 404],
])('POST %s is answered %i with a body that says why', async (path, status) => {
  const answer = await ask('POST', path);
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text)).toMatchObject({ status });
});
