import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { LANES_DEFAULT, sessionIdOf } from '../event.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';
import { storedEvents } from '../testing/stored-events.ts';

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Test/1.0';
const REPLAY = { type: 'replay', payload: { chunk_index: 0, payload: '[]' } };
const VIEW = { type: 'track', payload: { name: 'screen_view', properties: { __path: '/a' } } };

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;
let root: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: ['https://www.shop.example/', '*.wild.example'] });
  await createSite(bus, 'foreign', { teamId: 'other' });
  write = await createClient(bus, 'write', 'shop');
  root = await createClient(bus, 'root', null);
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  await bus.close();
  await nats.stop();
});

function post(body: unknown, headers: Record<string, string> = {}, url = collector.url): Promise<Response> {
  return fetch(`${url}/track`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': write.id,
      origin: 'https://shop.example',
      'user-agent': BROWSER,
      ...headers,
    },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

const secretHeaders = () => ({ 'service-client-secret': write.secret, origin: '' });

describe('a recorded event', () => {
  test('is answered with its device and session once it is on the bus, and holds no address', async () => {
    const body = {
      type: 'track',
      payload: {
        name: 'screen_view',
        profileId: 7,
        groups: ['g1'],
        properties: {
          __path: 'https://shop.example/p/1?utm_source=news&utm_medium=mail#top',
          __referrer: 'https://www.search.example/find',
          __title: 'Product',
          __ip: '203.0.113.7',
          plan: { tier: 'pro' },
        },
      },
    };
    const answer = await post(body, { 'service-sdk-name': 'web', 'x-forwarded-for': '203.0.113.9' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('service-version')).toMatch(/^\d/);
    const { deviceId, sessionId } = (await answer.json()) as { deviceId: string; sessionId: string };
    expect(deviceId).toMatch(/^[0-9a-f]{32}$/);
    const stored = (await storedEvents(bus, LANES_DEFAULT)).find(({ row }) => row.title === 'Product');
    expect(stored).toMatchObject({
      sessionId,
      row: {
        projectId: 'shop',
        deviceId,
        profileId: '7',
        name: 'screen_view',
        origin: 'https://shop.example',
        path: '/p/1',
        query: '?utm_source=news&utm_medium=mail',
        hash: '#top',
        referrer: 'https://www.search.example/find',
        referrerName: 'news',
        utmSource: 'news',
        utmMedium: 'mail',
        groups: ['g1'],
        properties: ['plan.tier', 'pro'],
        sdkName: 'web',
      },
    });
    expect(JSON.stringify(stored?.row)).not.toMatch(/203\.0\.113|127\.0\.0\.1/);
  });

  test('keeps its session, and a device named by the caller has its own', async () => {
    const [first, second, named] = await Promise.all([
      post(VIEW).then((answer) => answer.json()),
      post(VIEW).then((answer) => answer.json()),
      post({ type: 'track', payload: { name: 'a', properties: { __deviceId: 'my "device"' } } }).then(
        (answer) => answer.json(),
      ),
    ]);
    expect(second).toEqual(first);
    expect(named).toMatchObject({ deviceId: 'my "device"' });
    const identity = await fetch(`${collector.url}/track/device-id`, {
      headers: { 'service-client-id': write.id, referer: 'https://shop.example/x', 'user-agent': BROWSER },
    });
    expect(await identity.json()).toEqual({ ...(first as object), message: 'current session' });
  });

  test('from a server has a session only with a device id', async () => {
    const server = { ...secretHeaders(), 'user-agent': 'my-backend/1.0' };
    expect(await (await post(VIEW, server)).json()).toEqual({ deviceId: '', sessionId: '' });
    const joined = await post(
      { type: 'track', payload: { name: 'a', properties: { __deviceId: 'd1' } } },
      server,
    );
    expect(await joined.json()).toMatchObject({
      deviceId: 'd1',
      sessionId: expect.stringMatching(/^\w{32}$/),
    });
  });

  test('may come as text, with credentials in the body, and for a root client with its site', async () => {
    const beacon = { ...VIEW, clientId: write.id, clientSecret: write.secret };
    const headers = { 'content-type': 'text/plain;charset=UTF-8', 'service-client-id': '', origin: '' };
    expect((await post(beacon, headers)).status).toBe(200);
    const asRoot = { 'service-client-id': root.id, 'service-client-secret': root.secret };
    expect((await post({ ...VIEW, projectId: 'shop' }, asRoot)).status).toBe(200);
    expect((await post({ ...VIEW, projectId: 'foreign' }, asRoot)).status).toBe(404);
    expect(await (await post(VIEW, asRoot)).json()).toMatchObject({
      message: expect.stringContaining('projectId'),
    });
  });

  test('with an id is published once, however often it is sent, and answered alike', async () => {
    const body = { type: 'track', payload: { name: 'once', eventId: 'e-1' } };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => post(body).then((answer) => answer.json())),
    );
    const later = await post(
      { ...VIEW },
      { 'idempotency-key': 'e-1', 'user-agent': `${BROWSER} Edg/126.0.0.0` },
    );
    for (const answer of [...answers, await later.json()]) expect(answer).toEqual(answers[0]);
    const stored = (await storedEvents(bus, LANES_DEFAULT)).filter(({ row }) => row.eventId === 'e-1');
    expect(stored).toHaveLength(1);
  });

  test('that the owner knows as a repeat is answered and not published', async () => {
    const grant = owner.answer;
    owner.answer = (question) =>
      question.eventId === 'e-2'
        ? { kind: 'repeat', sessionId: 'ab'.repeat(16), firstMs: 0, lastMs: 0 }
        : grant(question);
    const answer = await post({ type: 'track', payload: { name: 'again', eventId: 'e-2' } });
    expect(await answer.json()).toMatchObject({ sessionId: 'ab'.repeat(16) });
    expect((await storedEvents(bus, LANES_DEFAULT)).some(({ row }) => row.eventId === 'e-2')).toBe(false);
  });
});

describe('law 6: bad input', () => {
  const withName = (properties: object) => ({ type: 'track', payload: { name: 'a', properties } });
  test.each<[string, unknown, Record<string, string>, number, string]>([
    ['not JSON', '{"type":', {}, 400, 'body: expected JSON'],
    ['broken UTF-8', new Uint8Array([0x22, 0xc3, 0x28, 0x22]), {}, 400, 'body: expected UTF-8'],
    ['a lone surrogate', withName({ a: '\ud800' }), {}, 400, 'payload.properties.a: '],
    ['a NUL', withName({ a: { b: '\0' } }), {}, 400, 'payload.properties.a.b: '],
    ['a wrong type', { type: 'track', payload: { name: 5 } }, {}, 400, 'payload.name: '],
    ['an unknown type', { type: 'page', payload: {} }, {}, 400, 'type: expected "track"'],
    ['a replay of an unknown client', REPLAY, { 'service-client-id': '' }, 401, 'service-client-id: missing'],
    ['an empty payload', { type: 'alias', payload: {} }, {}, 400, 'payload.profileId: '],
    [
      'a deep body',
      `{"type":"track","payload":{"name":"a","properties":${'{"d":'.repeat(9000)}1${'}'.repeat(9002)}`,
      {},
      400,
      'body: expected at most 32 levels below payload',
    ],
    ['a body too large', withName({ a: 'x'.repeat(70_000) }), {}, 413, 'larger than 65536'],
    [
      'an impossible time',
      withName({ __timestamp: '2024-13-01T00:00:00Z' }),
      {},
      400,
      'payload.properties.__timestamp: ',
    ],
    [
      'a time long ago',
      withName({ __timestamp: '2020-01-01T00:00:00Z' }),
      {},
      400,
      '__timestamp: older than 7 days',
    ],
    ['a long key', VIEW, { 'idempotency-key': 'k'.repeat(65) }, 400, 'idempotency-key: '],
    ['another content type', VIEW, { 'content-type': 'text/html' }, 415, 'content-type: '],
    ['no client', VIEW, { 'service-client-id': '' }, 401, 'service-client-id: missing'],
    ['an unknown client', VIEW, { 'service-client-id': crypto.randomUUID() }, 401, 'there is no such client'],
    [
      'a wrong secret',
      VIEW,
      { 'service-client-secret': `sec_${'0'.repeat(40)}` },
      401,
      'service-client-secret: wrong',
    ],
    ['a foreign origin', VIEW, { origin: 'https://notshop.example' }, 401, 'origin: https://notshop.example'],
    ['neither secret nor origin', VIEW, { origin: '' }, 401, 'service-client-secret: missing'],
  ])('%s is rejected', async (_, body, headers, status, message) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ status, message: expect.stringContaining(message) });
  });

  test('an old time is accepted with a secret, and a future time becomes now', async () => {
    const old = withName({ __timestamp: '2020-01-01T00:00:00Z', mark: 'old' });
    const ahead = withName({ __timestamp: Date.now() + HOUR_MS, mark: 'ahead' });
    expect((await post(old, { ...secretHeaders(), origin: 'null' })).status).toBe(200);
    expect((await post(ahead)).status).toBe(200);
    const events = await storedEvents(bus, LANES_DEFAULT);
    const timeOf = (mark: string) =>
      Number(events.find(({ row }) => (row.properties as string[]).includes(mark))?.row.createdAt);
    expect(timeOf('old')).toBe(Date.UTC(2020, 0, 1));
    expect(Math.abs(timeOf('ahead') - Date.now())).toBeLessThan(60_000);
  });

  test('a sender that stalls or disconnects does not affect other requests', async () => {
    const { port } = new URL(collector.url);
    const sockets = Array.from({ length: 20 }, () => connect(Number(port), '127.0.0.1'));
    const head = `POST /track HTTP/1.1\r\nhost: x\r\nservice-client-id: ${write.id}\r\ncontent-length: 500\r\n\r\n{"type`;
    for (const socket of sockets) socket.write(head);
    expect((await post(VIEW)).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    expect((await post(VIEW)).status).toBe(200);
  });

  test('a million distinct property keys leave the memory as it was', async () => {
    const send = async (round: number) => {
      const pairs = Array.from({ length: 250 }, (_, index) => [`key-${round}-${index}`, index] as const);
      expect((await post(withName(Object.fromEntries(pairs)))).status).toBe(200);
    };
    const rounds = async (from: number, to: number) => {
      for (let round = from; round < to; round += 20)
        await Promise.all(Array.from({ length: 20 }, (_, index) => send(round + index)));
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = await rounds(0, 400);
    const after = await rounds(400, 4_000);
    expect(after - before).toBeLessThan(10e6);
  });
});

test('a replay is answered with why it is not recorded, alone and in a batch, and is counted', async () => {
  const count = async () =>
    Number(/ingest_excluded_total\{reason="replay"\} (\d+)/.exec(collector.metrics.expose())?.[1]);
  const before = await count();
  for (const headers of [{}, secretHeaders()]) {
    const answer = await post(REPLAY, headers);
    expect(answer.status).toBe(202);
    expect(await answer.json()).toEqual({ filtered: true, reason: 'replay: sessions are not recorded' });
  }
  const batch = await fetch(`${collector.url}/track/batch`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': write.id,
      'service-client-secret': write.secret,
    },
    body: JSON.stringify([VIEW, REPLAY]),
  });
  expect(await batch.json()).toEqual({
    accepted: 1,
    rejected: [{ index: 1, status: 202, message: 'replay: sessions are not recorded' }],
  });
  expect(await count()).toBe(before + 3);
});

test('the tracking settings of a site are public', async () => {
  const ask = (clientId: string) => fetch(`${collector.url}/config/tracking?clientId=${clientId}`);
  const known = await ask(write.id);
  expect(known.status).toBe(200);
  expect(known.headers.get('cache-control')).toBe('max-age=60');
  expect(await known.json()).toMatchObject({ screenViews: true, replaySampleRate: 1, paymentProviders: [] });
  expect((await ask('00000000-0000-0000-0000-000000000000')).status).toBe(404);
  expect(await (await ask('nonsense')).json()).toEqual({ error: 'clientId: expected a UUID' });
});

test.each(['/track/device-id?projectId=', '/config/tracking?clientId='])(
  'the query string of %s is short, which is checked before it is read',
  async (path) => {
    const message = 'query: expected at most 4096 characters';
    for (const query of ['a'.repeat(60_000), '&a='.repeat(20_000), '%5B'.repeat(20_000)]) {
      const answer = await fetch(`${collector.url}${path}${query}`, {
        headers: { 'service-client-id': write.id, 'service-client-secret': write.secret },
      });
      expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining(message)]);
    }
  },
);

test('headers that are too long are 400 before the body and the client are looked at', async () => {
  const ask = (headers: Record<string, string>) =>
    fetch(`${collector.url}/track`, { method: 'POST', body: '{}', headers });
  for (const name of ['origin', 'service-client-id', 'service-client-secret', 'forwarded']) {
    const answer = await ask({ [name]: '/'.repeat(60_000) });
    expect([answer.status, await answer.text()]).toEqual([
      400,
      expect.stringMatching(`${name}: expected at most`),
    ]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  }
});

test('the page that a long referer names still counts', async () => {
  const answer = await fetch(`${collector.url}/track/device-id`, {
    headers: {
      'service-client-id': write.id,
      referer: `https://shop.example/${'a'.repeat(50_000)}`,
      'user-agent': BROWSER,
    },
  });
  expect(answer.status).toBe(200);
});

test('a preflight allows the client headers of both families for a day', async () => {
  const answer = await fetch(`${collector.url}/track`, { method: 'OPTIONS' });
  expect(answer.status).toBe(204);
  expect(answer.headers.get('access-control-max-age')).toBe('86400');
  expect(answer.headers.get('access-control-allow-headers')).toContain('openpanel-client-secret');
  expect((await fetch(`${collector.url}/track`)).status).toBe(405);
});

test('under load one message carries many events, numbered without gaps', async () => {
  await Promise.all(
    Array.from({ length: 400 }, (_, index) =>
      post({ type: 'track', payload: { name: 'load', properties: { __deviceId: `load-${index % 40}` } } }),
    ),
  );
  const events = await storedEvents(bus, LANES_DEFAULT);
  expect(events.filter(({ row }) => row.name === 'load')).toHaveLength(400);
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1) {
    const numbers = events
      .filter((event) => event.lane === lane)
      .map(({ message }) => message.publisherSequence);
    const distinct = [...new Set(numbers)];
    expect(distinct).toEqual(Array.from({ length: distinct.length }, (_, index) => index + 1));
  }
  expect(Math.max(...events.map(({ message }) => message.count))).toBeGreaterThan(4);
});

test('an address over its limit gets 429 with the headers that say so', async () => {
  // All requests fall into one window.
  const clock = new ManualClock(Date.now());
  const limited = await startCollector(nats.url, { env: { TRACK_LIMIT_PER_10_S: '2' }, clock });
  const answers = [
    await post(VIEW, {}, limited.url),
    await post(VIEW, {}, limited.url),
    await post(VIEW, {}, limited.url),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(answers[0]?.headers.get('ratelimit-remaining')).toBe('1');
  expect(answers[2]?.headers.get('x-ratelimit-limit')).toBe('2');
  expect(Number(answers[2]?.headers.get('retry-after'))).toBeGreaterThan(0);
  await limited.stop();
});

test('collectors count an address together, and exchange no address', async () => {
  const clock = new ManualClock(Date.now());
  const env = { TRACK_LIMIT_PER_10_S: '3' };
  const [one, other] = await Promise.all([1, 2].map(() => startCollector(nats.url, { env, clock })));
  if (one === undefined || other === undefined) throw new Error('both have started');
  let exchanged = '';
  const stop = bus.listen('limits.addresses', (bytes) => {
    exchanged += Buffer.from(bytes).toString();
  });
  const statuses = [];
  for (let turn = 0; turn < 3; turn += 1) statuses.push((await post(VIEW, {}, one.url)).status);
  expect(statuses).toEqual([200, 200, 200]);
  await expect.poll(() => exchanged).toMatch(/"counts":\[\["[0-9a-f]{32}",\d\]/);
  expect(exchanged).not.toContain('127.0.0.1');
  // The other one has taken no request of this address, or few before it heard.
  await expect.poll(async () => (await post(VIEW, {}, other.url)).status).toBe(429);
  expect((await post(VIEW, {}, one.url)).status).toBe(429);
  stop();
  for (const { stop: end } of [one, other]) await end();
});

test('without owners three nodes name the same session', async () => {
  owner.stop();
  const nowMs = Date.now();
  const clock = new ManualClock(nowMs);
  const nodes = await Promise.all([1, 2, 3].map(() => startCollector(nats.url, { clock })));
  const body = { type: 'track', payload: { name: 'a', properties: { __deviceId: 'alone' } } };
  const answers = await Promise.all(nodes.map(async ({ url }) => (await post(body, {}, url)).json()));
  for (const answer of answers)
    expect(answer).toEqual({
      deviceId: 'alone',
      sessionId: sessionIdOf(storedId('shop'), 'alone', nowMs, nowMs),
    });
  for (const node of nodes) await node.stop();
});

test('while the bus is away requests get 503, and are accepted again when it is back', async () => {
  const patient = await startCollector(nats.url, { env: { PUBLISH_TIMEOUT_MS: '700' } });
  await nats.kill();
  const rejected = await post(VIEW, {}, patient.url);
  expect(rejected.status).toBe(503);
  expect(rejected.headers.get('retry-after')).toBe('1');
  await nats.restart();
  await expect.poll(async () => (await post(VIEW, {}, patient.url)).status).toBe(200);
  // The test's own connection may not be back yet.
  const isMade = () =>
    createSite(bus, 'later', { cors: ['*'] }).then(
      () => true,
      () => false,
    );
  await expect.poll(isMade).toBe(true);
  const client = await createClient(bus, 'write', 'later');
  const headers = { 'service-client-id': client.id };
  await expect.poll(async () => (await post(VIEW, headers, patient.url)).status).toBe(200);
  await patient.stop();
});
