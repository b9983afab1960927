import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { LANES_DEFAULT } from '../event.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { storedEvents } from '../testing/stored-events.ts';

/** Maximum number of events of one batch that wait for the bus. */
const IN_FLIGHT_MAX = 250;
let nats: NatsServer;
let bus: Bus;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;
let root: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: ['https://shop.example'] });
  await createSite(bus, 'blog');
  write = await createClient(bus, 'write', 'shop');
  root = await createClient(bus, 'root', null);
  collector = await startCollector(nats.url, {
    env: { COLLECT_PREFIXES: '/js/app,/x', SESSION_LOOKUP_TIMEOUT_MS: '50' },
  });
});

afterAll(async () => {
  await collector.stop();
  await bus.close();
  await nats.stop();
});

function post(body: string, headers: Record<string, string> = {}, path = '/track/batch'): Promise<Response> {
  return fetch(collector.url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': write.id,
      'service-client-secret': write.secret,
      ...headers,
    },
    body,
  });
}

const event = (name: string, fields: object = {}) => ({ type: 'track', payload: { name }, ...fields });

describe('a batch', () => {
  test.each<[string, string, Record<string, string>, number, string]>([
    ['that is no JSON', '[', {}, 400, 'body: expected JSON'],
    ['that is no array', JSON.stringify(event('a')), {}, 400, 'body: expected an array of 1 to 2000'],
    ['of nothing', '[]', {}, 400, 'body: expected an array of 1 to 2000'],
    [
      'of too many',
      JSON.stringify(Array(2001).fill(event('a'))),
      {},
      400,
      'body: expected an array of 1 to 2000',
    ],
    ['that is too large', `["${'x'.repeat(4_194_304)}"]`, {}, 413, 'larger than 4194304'],
    ['of another content', '[]', { 'content-type': 'text/html' }, 415, 'content-type'],
    ['of an unknown client', '[1]', { 'service-client-id': crypto.randomUUID() }, 401, 'service-client-id'],
    [
      'with a wrong secret',
      '[1]',
      { 'service-client-secret': `sec_${'0'.repeat(40)}` },
      401,
      'service-client-secret',
    ],
  ])('%s is rejected as a whole', async (_what, body, headers, status, message) => {
    const answer = await post(body, headers);
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ status, message: expect.stringContaining(message) });
  });

  test('with one body that is too large records the others', async () => {
    const bodies = [event('small-1'), event('large', { note: 'x'.repeat(70_000) }), event('small-2')];
    const answer = await post(JSON.stringify(bodies));
    expect(await answer.json()).toEqual({
      accepted: 2,
      rejected: [{ index: 1, status: 413, message: 'body: expected at most 65536 bytes' }],
    });
    const names = (await storedEvents(bus, LANES_DEFAULT)).map(({ row }) => row.name);
    expect(names.filter((name) => /^(small|large)/.test(String(name))).sort()).toEqual([
      'small-1',
      'small-2',
    ]);
  });

  test('is taken in short turns, and each is counted', async () => {
    const counted = () =>
      /^cpu_counted_seconds_total{service="ingest"} (.*)$/m.exec(collector.metrics.expose())?.[1];
    const turns = new Set<string | undefined>();
    const watch = () => {
      turns.add(counted());
      immediate = setImmediate(watch);
    };
    let immediate = setImmediate(watch);
    const properties = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`key ${index}`, 'value']),
    );
    const bodies = Array.from({ length: 1_000 }, (_, index) => ({
      type: 'track',
      payload: { name: `turn-${index}`, properties },
    }));
    const answer = await post(JSON.stringify(bodies));
    clearImmediate(immediate);
    expect(await answer.json()).toEqual({ accepted: 1_000, rejected: [] });
    // The event loop ran between any two of them.
    expect(turns.size).toBeGreaterThan(5);
    const names = (await storedEvents(bus, LANES_DEFAULT)).map(({ row }) => String(row.name));
    const recorded = names.filter((name) => name.startsWith('turn-'));
    expect(recorded).toEqual(bodies.map(({ payload }) => payload.name));
  });

  test('goes to the bus in small messages, so that other events come between them', async () => {
    const bodies = Array.from({ length: 1_500 }, (_, index) =>
      event('in-pieces', { eventId: `piece-${index}` }),
    );
    const answer = await post(JSON.stringify(bodies));
    expect(await answer.json()).toEqual({ accepted: 1_500, rejected: [] });
    const events = (await storedEvents(bus, LANES_DEFAULT)).filter(({ row }) => row.name === 'in-pieces');
    expect(events).toHaveLength(1_500);
    expect(Math.max(...events.map(({ message }) => message.count))).toBeLessThanOrEqual(IN_FLIGHT_MAX);
  });

  test('of large events adds no more while 64 KB wait for the bus', async () => {
    const note = 'x'.repeat(3_000);
    const bodies = Array.from({ length: 300 }, (_, index) => ({
      type: 'track',
      payload: { name: 'large-piece', properties: { note, index } },
    }));
    const answer = await post(JSON.stringify(bodies));
    expect(await answer.json()).toEqual({ accepted: 300, rejected: [] });
    const events = (await storedEvents(bus, LANES_DEFAULT)).filter(({ row }) => row.name === 'large-piece');
    expect(events).toHaveLength(300);
    expect(Math.max(...events.map(({ message }) => message.count))).toBeLessThanOrEqual(65_536 / 3_000 + 1);
  });

  test('rests while single events come, and only then', async () => {
    const rests = () => Number(/^ingest_rests_total (.*)$/m.exec(collector.metrics.expose())?.[1]);
    const note = 'x'.repeat(3_000);
    const bodies = Array.from({ length: 100 }, () =>
      event('resting', { payload: { name: 'resting', properties: { note } } }),
    );
    const batch = async () =>
      expect(await (await post(JSON.stringify(bodies))).json()).toMatchObject({ accepted: 100 });
    await batch();
    expect(rests()).toBe(0);
    const beside = async () => {
      expect((await post(JSON.stringify(event('single')), {}, '/track')).status).toBe(200);
      await batch();
      return rests();
    };
    await expect.poll(beside).toBeGreaterThan(0);
  });

  test('of a root client goes to the sites that its bodies name', async () => {
    const bodies = [
      event('to-shop', { projectId: 'shop' }),
      event('to-blog', { projectId: 'blog' }),
      event('to-nowhere'),
      event('to-stranger', { projectId: 'stranger' }),
    ];
    const answer = await post(JSON.stringify(bodies), {
      'service-client-id': root.id,
      'service-client-secret': root.secret,
    });
    expect(await answer.json()).toEqual({
      accepted: 2,
      rejected: [
        { index: 2, status: 400, message: expect.stringContaining('projectId') },
        { index: 3, status: 404, message: expect.stringContaining('projectId') },
      ],
    });
  });

  test('whose bodies name their client themselves needs no headers', async () => {
    const own = { clientId: write.id, clientSecret: write.secret };
    const answer = await fetch(`${collector.url}/track/batch`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify([event('own', own), event('none')]),
    });
    expect(await answer.json()).toEqual({
      accepted: 1,
      rejected: [{ index: 1, status: 401, message: expect.stringContaining('service-client-id') }],
    });
  });

  test('with an idempotency key of its own still holds different events', async () => {
    const answer = await post(JSON.stringify([event('k-1'), event('k-2')]), { 'idempotency-key': 'k' });
    expect(await answer.json()).toEqual({ accepted: 2, rejected: [] });
    const names = (await storedEvents(bus, LANES_DEFAULT)).map(({ row }) => row.name);
    expect(names.filter((name) => String(name).startsWith('k-'))).toHaveLength(2);
  });
});

test.each(['/js/app', '/x'])('the collection endpoints also answer below %s', async (prefix) => {
  const sent = await post(JSON.stringify(event('below')), {}, `${prefix}/track`);
  expect(sent.status).toBe(200);
  const batch = await post(JSON.stringify([event('below')]), {}, `${prefix}/track/batch`);
  expect(await batch.json()).toEqual({ accepted: 1, rejected: [] });
  const settings = await fetch(`${collector.url}${prefix}/config/tracking?clientId=${write.id}`);
  expect(await settings.json()).toMatchObject({ screenViews: true });
  const identity = await fetch(`${collector.url}${prefix}/track/device-id`, {
    headers: {
      'service-client-id': write.id,
      origin: 'https://shop.example',
      'user-agent': 'Mozilla/5.0 (X11)',
    },
  });
  expect(await identity.json()).toMatchObject({ message: 'new session' });
});
