import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';

const FAILURES_MAX = 100;
const WINDOW_MS = 10_000;
const GUESSER = '203.0.113.1';
const OWNER = '203.0.113.2';
const PAGE = 'https://shop.example';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64) Test/1.0';
const VIEW = { type: 'track', payload: { name: 'a', properties: { __deviceId: 'device' } } };

let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let clock: ManualClock;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;
let other: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: [PAGE] });
  await createSite(bus, 'blog');
  write = await createClient(bus, 'write', 'shop');
  other = await createClient(bus, 'write', 'blog');
  owner = startOwner(bus, 4);
  // The beginning of a window.
  clock = new ManualClock(Math.ceil(Date.now() / WINDOW_MS) * WINDOW_MS);
  collector = await startCollector(nats.url, { env: { TRUSTED_PROXIES: '127.0.0.1' }, clock });
});

// Failures weigh nothing two windows later.
beforeEach(() => clock.advance(2 * WINDOW_MS));

afterAll(async () => {
  owner?.stop();
  await collector?.stop();
  await bus?.close();
  await nats?.stop();
});

interface TrackSender {
  readonly id: string;
  readonly secret: string;
  readonly address: string;
}

function headersOf({ id, secret, address }: TrackSender): Record<string, string> {
  return {
    'content-type': 'application/json',
    'service-client-id': id,
    'service-client-secret': secret,
    'x-forwarded-for': address,
  };
}

function track(sender: TrackSender, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { ...headersOf(sender), ...headers } };
  return fetch(`${collector.url}/track`, { ...init, body: JSON.stringify(VIEW) });
}

/** Sends this many wrong secrets; returns how often each status came. */
async function guess(times: number, address = GUESSER): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let count = 0; count < times; count += 1) {
    const { status } = await track({ id: write.id, secret: createSecret(), address });
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A client of the same site whose secret is new to the collector. */
async function freshClient() {
  const fresh = await createClient(bus, 'write', 'shop');
  const settings = () => fetch(`${collector.url}/config/tracking?clientId=${fresh.id}`);
  await expect.poll(async () => (await settings()).status).toBe(200);
  return fresh;
}

function rejects(reason: string): number {
  const line = new RegExp(`^ingest_rejects_total{reason="${reason}"} (\\d+)$`, 'm').exec(
    collector.metrics.expose(),
  );
  return Number(line?.[1]);
}

test('after 100 wrong secrets in a window, no new secret is verified until the failures lose weight', async () => {
  const before = { wrong: rejects('wrong-secret'), guessing: rejects('guessing') };
  expect(await guess(FAILURES_MAX + 20)).toEqual({ 401: FAILURES_MAX, 429: 20 });
  expect(rejects('wrong-secret') - before.wrong).toBe(FAILURES_MAX);
  expect(rejects('guessing') - before.guessing).toBe(20);
  const limited = await track({ id: write.id, secret: write.secret, address: GUESSER });
  expect(limited.status).toBe(429);
  expect(await limited.json()).toEqual({
    status: 429,
    error: 'Too Many Requests',
    message: expect.stringContaining('service-client-secret'),
  });
  expect(limited.headers.get('retry-after')).toBe('10');
  expect(limited.headers.get('ratelimit-limit')).toBe(String(FAILURES_MAX));
  expect(limited.headers.get('x-ratelimit-remaining')).toBe('0');
  expect(limited.headers.get('access-control-allow-origin')).toBe('*');
  // When `Retry-After` says so, one try is allowed again.
  clock.advance(WINDOW_MS);
  expect((await track({ id: write.id, secret: write.secret, address: GUESSER })).status).toBe(200);
  expect(await guess(2)).toEqual({ 401: 1, 429: 1 });
  clock.advance(2 * WINDOW_MS);
  expect(await guess(FAILURES_MAX + 1)).toEqual({ 401: FAILURES_MAX, 429: 1 });
});

test('guesses do not affect a known secret, other clients elsewhere, or pages', async () => {
  expect((await track({ id: write.id, secret: write.secret, address: OWNER })).status).toBe(200);
  expect(await guess(FAILURES_MAX + 1)).toEqual({ 401: FAILURES_MAX, 429: 1 });
  // A known secret is accepted even from the address of the guesses.
  for (const address of [OWNER, GUESSER])
    expect((await track({ id: write.id, secret: write.secret, address })).status).toBe(200);
  const { id, secret } = other;
  expect((await track({ id, secret, address: GUESSER })).status).toBe(429);
  expect((await track({ id, secret, address: OWNER })).status).toBe(200);
  const page = { origin: PAGE, 'user-agent': BROWSER };
  expect((await track({ id: write.id, secret: '', address: GUESSER }, page)).status).toBe(200);
});

test('every collection endpoint limits an address that guesses', async () => {
  const { id, secret } = await freshClient();
  await guess(FAILURES_MAX);
  const headers = headersOf({ id, secret, address: GUESSER });
  const batch = await fetch(`${collector.url}/track/batch`, { method: 'POST', headers, body: '[{}]' });
  expect(batch.status).toBe(429);
  expect(batch.headers.get('retry-after')).toBe('10');
  const device = await fetch(`${collector.url}/track/device-id`, { headers });
  expect(device.status).toBe(429);
  // The body is checked first.
  const broken = await fetch(`${collector.url}/track`, { method: 'POST', headers, body: '{' });
  expect(broken.status).toBe(400);
});

test('each guess in a batch counts', async () => {
  const sent = { 'content-type': 'application/json', 'x-forwarded-for': GUESSER };
  const bodies = Array.from({ length: FAILURES_MAX + 50 }, () => ({
    ...VIEW,
    clientId: write.id,
    clientSecret: createSecret(),
  }));
  const init = { method: 'POST', headers: sent, body: JSON.stringify(bodies) };
  const answer = await fetch(`${collector.url}/track/batch`, init);
  expect(answer.status).toBe(200);
  const { accepted, rejected } = (await answer.json()) as {
    accepted: number;
    rejected: readonly { status: number }[];
  };
  expect(accepted).toBe(0);
  expect(rejected.filter(({ status }) => status === 401)).toHaveLength(FAILURES_MAX);
  expect(rejected.filter(({ status }) => status === 429)).toHaveLength(50);
});
