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
import { startOwner, type TestOwner } from '../testing/owner.ts';
import { storedEvents } from '../testing/stored-events.ts';

// The stored part of a referrer, texts that are none, and spam.

const SPAM = 'https://www.semalt.com/crawler.php?u=shop.example';

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let collector: TestCollector;
let strict: Awaited<ReturnType<typeof createClient>>;
let lenient: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'strict', { cors: ['https://shop.example', 'https://semalt.com'] });
  await createSite(bus, 'lenient', { filterReferrerSpam: false });
  strict = await createClient(bus, 'write', 'strict');
  lenient = await createClient(bus, 'write', 'lenient');
  owner = startOwner(bus, LANES_DEFAULT);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector.stop();
  owner.stop();
  await bus.close();
  await nats.stop();
});

const view = (name: string, __referrer: string, __path = 'https://shop.example/a') => ({
  type: 'track',
  payload: { name, properties: { __path, __referrer } },
});

function send(
  body: unknown,
  client: { readonly id: string; readonly secret: string } = strict,
  headers: Record<string, string> = { 'service-client-secret': client.secret },
): Promise<Response> {
  return fetch(`${collector.url}/track${Array.isArray(body) ? '/batch' : ''}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': client.id,
      'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
      ...headers,
    },
    body: JSON.stringify(body),
  });
}

async function rowOf(name: string) {
  return (await storedEvents(bus, LANES_DEFAULT)).find(({ row }) => row.name === name)?.row;
}

test("a referrer is stored with origin and path: a visitor's search words are not", async () => {
  expect((await send(view('search', 'https://www.google.com/search?q=my+secret#top'))).status).toBe(200);
  const row = await rowOf('search');
  expect(row).toMatchObject({ referrer: 'https://www.google.com/search', referrerName: 'Google' });
  expect(JSON.stringify(row)).not.toContain('secret');
});

test('text that is no URL is rejected, and names its field', async () => {
  const answer = await send(view('odd', 'google'));
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    message: expect.stringContaining('payload.properties.__referrer: expected a URL'),
  });
});

test("an app's install referrer, as the published package for apps sends it, is its campaign", async () => {
  expect((await send(view('install', 'utm_source=google-play&utm_medium=organic', 'home'))).status).toBe(200);
  expect(await rowOf('install')).toMatchObject({
    referrer: '',
    utmSource: 'google-play',
    utmMedium: 'organic',
  });
});

describe('referrer spam', () => {
  const count = () =>
    Number(/ingest_excluded_total\{reason="spam"\} (\d+)/.exec(collector.metrics.expose())?.[1]);

  test('is not recorded, and answered with what it was, from any sender', async () => {
    const before = count();
    for (const headers of [{ 'service-client-secret': strict.secret }, { origin: 'https://shop.example' }]) {
      const answer = await send(view('spam', SPAM), strict, headers);
      expect(answer.status).toBe(202);
      expect(await answer.json()).toEqual({ filtered: true, reason: 'referrer spam: semalt.com' });
    }
    const batch = await send([view('spam-batch', SPAM), view('ham-batch', 'https://t.co/a')]);
    expect(await batch.json()).toEqual({
      accepted: 1,
      rejected: [{ index: 0, status: 202, message: 'referrer spam: semalt.com' }],
    });
    expect(count()).toBe(before + 3);
    expect(await rowOf('spam')).toBeUndefined();
    expect(await rowOf('spam-batch')).toBeUndefined();
    expect(await rowOf('ham-batch')).toBeDefined();
  });

  test('is recorded on a site that says so', async () => {
    expect((await send(view('spam-allowed', SPAM), lenient)).status).toBe(200);
    expect(await rowOf('spam-allowed')).toMatchObject({ referrer: 'https://www.semalt.com/crawler.php' });
  });

  test('is none on a page of the same host', async () => {
    const own = view('own', 'https://semalt.com/a', 'https://www.semalt.com/b');
    expect((await send(own)).status).toBe(200);
    const bare = view('own-path', 'https://semalt.com/a', '/b');
    expect((await send(bare, strict, { origin: 'https://semalt.com' })).status).toBe(200);
  });
});
