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
  clock = new ManualClock(Date.now());
  collector = await startCollector(nats.url, { env: { TRUSTED_PROXIES: '127.0.0.1' }, clock });
});

beforeEach(() => clock.advance(WINDOW_MS));

afterAll(async () => {
  owner?.stop();
  await collector?.stop();
  await bus?.close();
  await nats?.stop();
});

interface Sender {
  readonly id: string;
  readonly secret: string;
  readonly address: string;
}

function headersOf({ id, secret, address }: Sender): Record<string, string> {
  return {
    'content-type': 'application/json',
    'service-client-id': id,
    'service-client-secret': secret,
    'x-forwarded-for': address,
  };
}

function track(sender: Sender, headers: Record<string, string> = {}): Promise<Response> {
  const init = { method: 'POST', headers: { ...headersOf(sender), ...headers } };
  return fetch(`${collector.url}/track`, { ...init, body: JSON.stringify(VIEW) });
}

/** Sends so many secrets that are wrong; gives how often each status came. */
async function guess(times: number, address = GUESSER): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let count = 0; count < times; count += 1) {
    const { status } = await track({ id: write.id, secret: createSecret(), address });
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A client of the same site whose secret nobody has sent. */
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

test('after 100 wrong secrets in a window none is looked at any more, not even the right one, until it ends', async () => {
  const before = { wrong: rejects('wrong-secret'), guessing: rejects('guessing') };
  expect(await guess(FAILURES_MAX + 20)).toEqual({ 401: FAILURES_MAX, 429: 20 });
  expect(rejects('wrong-secret') - before.wrong).toBe(FAILURES_MAX);
  expect(rejects('guessing') - before.guessing).toBe(20);
  const refused = await track({ id: write.id, secret: write.secret, address: GUESSER });
  expect(refused.status).toBe(429);
  expect(await refused.json()).toEqual({
    status: 429,
    error: 'Too Many Requests',
    message: expect.stringContaining('service-client-secret'),
  });
  expect(refused.headers.get('retry-after')).toBe('10');
  expect(refused.headers.get('ratelimit-limit')).toBe(String(FAILURES_MAX));
  expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
  expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  clock.advance(WINDOW_MS);
  expect((await track({ id: write.id, secret: write.secret, address: GUESSER })).status).toBe(200);
  expect(await guess(FAILURES_MAX + 1)).toEqual({ 401: FAILURES_MAX, 429: 1 });
});

test('while somebody guesses, the known secret, other clients elsewhere and pages go on', async () => {
  expect((await track({ id: write.id, secret: write.secret, address: OWNER })).status).toBe(200);
  expect(await guess(FAILURES_MAX + 1)).toEqual({ 401: FAILURES_MAX, 429: 1 });
  // The guesser's address does not matter to a secret that is known.
  for (const address of [OWNER, GUESSER])
    expect((await track({ id: write.id, secret: write.secret, address })).status).toBe(200);
  const { id, secret } = other;
  expect((await track({ id, secret, address: GUESSER })).status).toBe(429);
  expect((await track({ id, secret, address: OWNER })).status).toBe(200);
  const page = { origin: PAGE, 'user-agent': BROWSER };
  expect((await track({ id: write.id, secret: '', address: GUESSER }, page)).status).toBe(200);
});

test('every endpoint that collects refuses an address that guesses', async () => {
  const { id, secret } = await freshClient();
  await guess(FAILURES_MAX);
  const headers = headersOf({ id, secret, address: GUESSER });
  const batch = await fetch(`${collector.url}/track/batch`, { method: 'POST', headers, body: '[{}]' });
  expect(batch.status).toBe(429);
  expect(batch.headers.get('retry-after')).toBe('10');
  const device = await fetch(`${collector.url}/track/device-id`, { headers });
  expect(device.status).toBe(429);
  // The body is judged first, as ever.
  const broken = await fetch(`${collector.url}/track`, { method: 'POST', headers, body: '{' });
  expect(broken.status).toBe(400);
});

test('guesses within one batch count one by one', async () => {
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
