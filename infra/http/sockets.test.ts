import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { TestSocket } from '../testing/test-socket.ts';
import { HttpServer } from './http.ts';
import { MESSAGE_MAX_BYTES, type Socket } from './sockets.ts';

/** So large that a few of them fill the buffers between a server and a peer that does not read. */
const LARGE = 'x'.repeat(1_048_576);
const PATIENCE = { timeout: 60_000 };

interface HeldPeer {
  readonly name: string;
  socket?: Socket;
  skips: number;
  closes: number;
}

let server: HttpServer;
let url = '';
const failures: unknown[] = [];
const held = new Map<string, HeldPeer>();
const heldAs = (name: string): HeldPeer => must(held.get(name), `no peer ${name}`);
let release: () => void = () => {};
/** The newest text for peers that have caught up. */
let newest = '';

beforeAll(async () => {
  server = new HttpServer((error) => failures.push(error));
  server.socket<string, HeldPeer>({
    pattern: '/peers/:name',
    readHead: (head) => head.parameter(0),
    admit: async (name, reply) => {
      if (name === 'refused') {
        reply.json(401, '{"status":401}', [['retry-after', '7']]);
        return undefined;
      }
      if (name === 'failing') throw new Error('on purpose');
      const made: HeldPeer = { name, skips: 0, closes: 0 };
      held.set(name, made);
      if (name.startsWith('waiting'))
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      return made;
    },
    opened: (socket, one) => {
      one.socket = socket;
      socket.subscribe('news');
      socket.send(`hello ${one.name}`);
    },
    skipped: (one) => {
      one.skips += 1;
    },
    caughtUp: (socket) => socket.send(newest),
    closed: (one) => {
      one.closes += 1;
    },
  });
  for (const [pattern, said] of [
    ['/peers/:name', 'plain'],
    ['/peers/:name.json', 'json'],
    ['/peers/:name.svg', 'svg'],
  ] as const)
    server.route({
      method: 'get',
      pattern,
      bodyMaxBytes: 0,
      cors: undefined,
      readHead: (head) => head.parameter(0),
      answer: (name, _body, reply) => reply.json(200, JSON.stringify({ said, name })),
    });
  server.route({
    method: 'get',
    pattern: '/feed/:name',
    bodyMaxBytes: 0,
    cors: undefined,
    readHead: (head) => head.parameter(0),
    answer: (name, _body, reply) => {
      const feed = reply.feed([['content-type', 'text/event-stream']], 'first ', () => {
        rooms += 1;
        feed?.send('newest');
      });
      feeds.set(name, feed);
    },
  });
  url = `http://127.0.0.1:${await server.listen('127.0.0.1', 0)}`;
});

afterAll(() => server.close());

const feeds = new Map<string, ReturnType<import('./open-reply.ts').Reply['feed']>>();
let rooms = 0;

test('what is published reaches the subscribers, and says how many there are', async () => {
  const one = await TestSocket.open(`${url}/peers/one`);
  const two = await TestSocket.open(`${url}/peers/two`);
  await expect.poll(() => [one.texts, two.texts]).toEqual([['hello one'], ['hello two']]);
  expect(server.publish('news', 'a')).toBe(2);
  expect(server.publish('other', 'b')).toBe(0);
  await expect.poll(() => [one.last, two.last]).toEqual(['a', 'a']);
  one.destroy();
  await expect.poll(() => heldAs('one').closes).toBe(1);
  expect(server.publish('news', 'c')).toBe(1);
  heldAs('two').socket?.end(4001, 'over');
  await expect.poll(() => [two.closeCode, heldAs('two').closes]).toEqual([4001, 1]);
  expect(server.inFlight).toBe(0);
});

test('a peer that is not admitted gets the answer of the route, and 500 where the route fails', async () => {
  const refused = await TestSocket.connect(`${url}/peers/refused`);
  expect(refused).toMatchObject({ status: 401, text: '{"status":401}', headers: { 'retry-after': '7' } });
  expect(await TestSocket.connect(`${url}/peers/failing`)).toMatchObject({ status: 500 });
  expect(failures.splice(0)).toEqual([new Error('on purpose')]);
  expect(await TestSocket.connect(`${url}/nowhere`)).toMatchObject({ status: 404 });
  expect(server.inFlight).toBe(0);
});

test('an ambiguous upgrade is rejected', async () => {
  expect(await TestSocket.connect(`${url}/peers/x`, { 'content-length': '' })).toMatchObject({ status: 400 });
});

test('a peer that leaves while it is admitted is closed, and never opened', async () => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(
    'GET /peers/waiting HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n',
  );
  await expect.poll(() => held.has('waiting')).toBe(true);
  socket.destroy();
  await expect.poll(() => server.inFlight).toBe(0);
  release();
  await expect.poll(() => heldAs('waiting').closes).toBe(1);
  expect(heldAs('waiting').socket).toBeUndefined();
});

test('a peer that is admitted after a wait is opened', async () => {
  const opening = TestSocket.open(`${url}/peers/waiting-too`);
  await expect.poll(() => held.has('waiting-too')).toBe(true);
  release();
  const socket = await opening;
  await expect.poll(() => socket.texts).toEqual(['hello waiting-too']);
  socket.destroy();
});

test('a peer that is slow skips what it cannot take, and gets what is newest afterwards', async () => {
  const slow = await TestSocket.open(`${url}/peers/slow`);
  const quick = await TestSocket.open(`${url}/peers/quick`);
  await expect.poll(() => slow.texts.length).toBe(1);
  slow.pause();
  let published = 0;
  await expect
    .poll(() => {
      newest = `${published} ${LARGE}`;
      server.publish('news', newest);
      published += 1;
      return heldAs('slow').skips;
    }, PATIENCE)
    .toBeGreaterThan(3);
  newest = 'the newest';
  server.publish('news', newest);
  await expect.poll(() => quick.last, PATIENCE).toBe('the newest');
  slow.resume();
  await expect.poll(() => slow.last, PATIENCE).toBe('the newest');
  expect(slow.texts.length).toBeLessThan(quick.texts.length);
  slow.destroy();
  quick.destroy();
});

test('a peer may speak shortly, and is disconnected when it speaks at length', async () => {
  const talker = await TestSocket.open(`${url}/peers/talker`);
  talker.send('x'.repeat(MESSAGE_MAX_BYTES));
  server.publish('news', 'still here');
  await expect.poll(() => talker.last).toBe('still here');
  talker.send('x'.repeat(MESSAGE_MAX_BYTES + 1));
  await expect.poll(() => talker.closeCode).toBe(1006);
});

test('requests go to the route whose ending their path has, and the parameter is without it', async () => {
  const said = async (path: string) => (await fetch(url + path)).json();
  expect(await said('/peers/a')).toEqual({ said: 'plain', name: 'a' });
  expect(await said('/peers/a.json')).toEqual({ said: 'json', name: 'a' });
  expect(await said('/peers/a.b.svg')).toEqual({ said: 'svg', name: 'a.b' });
  expect(await said('/peers/a.png')).toEqual({ said: 'plain', name: 'a.png' });
  expect((await fetch(`${url}/peers/a.json`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${url}/peers/a.json`, { method: 'HEAD' })).status).toBe(200);
  expect(await TestSocket.connect(`${url}/peers/a.json`)).toMatchObject({ status: 200 });
});

test('a feed is sent piece by piece, until either side ends it', async () => {
  const response = await fetch(`${url}/feed/a`);
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  const reader = must(response.body, 'a body').getReader();
  const read = async () => Buffer.from((await reader.read()).value ?? []).toString('utf8');
  expect(await read()).toBe('first ');
  expect(feeds.get('a')?.send('second')).toBe(true);
  expect(await read()).toBe('second');
  feeds.get('a')?.end();
  expect((await reader.read()).done).toBe(true);
  expect(feeds.get('a')?.send('late')).toBe(false);
  expect((await fetch(`${url}/feed/head`, { method: 'HEAD' })).headers.get('content-type')).toBe(
    'text/event-stream',
  );
  const leaving = new AbortController();
  await fetch(`${url}/feed/b`, { signal: leaving.signal });
  leaving.abort();
  await expect.poll(() => server.inFlight).toBe(0);
});

test('a reader of a feed that is slow is reported when it takes more', async () => {
  const port = Number(new URL(url).port);
  const socket = connect(port, '127.0.0.1', () => socket.write('GET /feed/slow HTTP/1.1\r\nHost: x\r\n\r\n'));
  let tail = '';
  socket.on('data', (part) => {
    tail = (tail + part.toString('latin1')).slice(-100);
  });
  await expect.poll(() => tail).toContain('first ');
  socket.pause();
  await expect.poll(() => feeds.get('slow')?.send(LARGE), PATIENCE).toBe(false);
  const before = rooms;
  socket.resume();
  await expect.poll(() => rooms, PATIENCE).toBeGreaterThan(before);
  await expect.poll(() => tail, PATIENCE).toContain('newest');
  socket.destroy();
});
