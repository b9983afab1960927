import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HttpServer } from './http.ts';
import { OpenBodies } from './open-bodies.ts';

let server: HttpServer;
let port: number;
const bodies = new OpenBodies();
/** One connection, so that anything sent after an answer would be read as the next answer. */
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  server = new HttpServer((error) => {
    throw error;
  }, bodies);
  for (const [pattern, status, text] of [
    ['/thing', 200, '{"here":true}'],
    ['/limited', 429, '{"limited":true}'],
  ] as const)
    server.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: () => undefined,
      answer: (_head, _body, reply) => reply.json(status, text),
    });
  server.route({
    method: 'post',
    pattern: '/limited',
    bodyMaxBytes: 100_000,
    cors: undefined,
    readHead: () => undefined,
    admit: (_head, reply) => {
      reply.json(429, '{"limited":true}');
      return 'answered';
    },
    answer: () => {
      throw new Error('its head was answered');
    },
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

test('rejections of many connections are sent one after the other, and other answers come between them', async () => {
  const url = `http://127.0.0.1:${port}`;
  const ended: number[] = [];
  const get = async (path: string) => {
    const answer = await fetch(`${url}${path}`);
    const { status } = answer;
    expect(await answer.json()).toEqual(status === 429 ? { limited: true } : { here: true });
    ended.push(status);
  };
  const rejected = Array.from({ length: 300 }, () => get('/limited'));
  await expect.poll(() => server.inFlight, { interval: 1 }).toBeGreaterThan(50);
  await get('/thing');
  expect(server.inFlight).toBeGreaterThan(0);
  await Promise.all(rejected);
  expect(ended.filter((status) => status === 429)).toHaveLength(300);
  expect(server.inFlight).toBe(0);
});

test('a rejection that answers HEAD waits for its turn as well, and has no body', async () => {
  const url = `http://127.0.0.1:${port}/limited`;
  const asked = Array.from({ length: 300 }, () => fetch(url, { method: 'HEAD' }));
  await expect.poll(() => server.inFlight, { interval: 1 }).toBeGreaterThan(1);
  const answers = await Promise.all(asked);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([429]));
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual(answers.map(() => ''));
});

test('nothing of a body is kept while its rejection waits', async () => {
  const url = `http://127.0.0.1:${port}/limited`;
  const body = 'x'.repeat(90_000);
  const asked = Array.from({ length: 300 }, () => fetch(url, { method: 'POST', body }));
  const held: number[] = [];
  await expect.poll(() => server.inFlight, { interval: 1 }).toBeGreaterThan(1);
  while (server.inFlight > 0) {
    held.push(bodies.bytesOf('stranger'));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(new Set(held)).toEqual(new Set([0]));
  for (const answer of await Promise.all(asked)) expect(answer.status).toBe(429);
});

test('a peer that leaves while its rejection waits is forgotten', async () => {
  const leave = new AbortController();
  const url = `http://127.0.0.1:${port}/limited`;
  const asked = Array.from({ length: 300 }, () =>
    fetch(url, { signal: leave.signal }).then(
      () => 'answered',
      () => 'left',
    ),
  );
  await expect.poll(() => server.inFlight, { interval: 1 }).toBeGreaterThan(1);
  leave.abort();
  expect(await Promise.all(asked)).toContain('left');
  await expect.poll(() => server.inFlight).toBe(0);
  expect((await ask('GET', '/thing')).status).toBe(200);
});
