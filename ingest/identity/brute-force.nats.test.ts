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

/** Sends this many wrong secrets; returns the number of answers by status. */
async function guess(times: number, address = GUESSER): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let count = 0; count < times; count += 1) {
    const { status } = await track({ id: write.id, secret: createSecret(), address });
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A client of the same site, which the collector knows and whose secret it has not seen. */
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

test('a right secret is accepted from the address that guesses, for the client that is guessed at', async () => {
  const before = { wrong: rejects('wrong-secret'), guessing: rejects('guessing') };
  const fresh = await freshClient();
  expect(await guess(FAILURES_MAX + 20)).toEqual({ 401: FAILURES_MAX, 429: 20 });
  expect(rejects('wrong-secret') - before.wrong).toBe(FAILURES_MAX);
  expect(rejects('guessing') - before.guessing).toBe(20);
  // Neither secret was used before in this process.
  for (const { id, secret } of [write, other, fresh])
    for (const address of [GUESSER, OWNER]) expect((await track({ id, secret, address })).status).toBe(200);
  const page = { origin: PAGE, 'user-agent': BROWSER };
  expect((await track({ id: write.id, secret: '', address: GUESSER }, page)).status).toBe(200);
});

test('guesses from many addresses leave every other address its own failures', async () => {
  for (let index = 0; index < 2 * FAILURES_MAX; index += 1)
    expect(await guess(1, `198.51.100.${index}`)).toEqual({ 401: 1 });
  expect((await track({ id: write.id, secret: write.secret, address: OWNER })).status).toBe(200);
  expect(await guess(1, OWNER)).toEqual({ 401: 1 });
});

test('a wrong secret beyond the limit gets 429 with the headers that say so, until its window is over', async () => {
  expect(await guess(FAILURES_MAX)).toEqual({ 401: FAILURES_MAX });
  const limited = await track({ id: write.id, secret: createSecret(), address: GUESSER });
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
  // After the time in `Retry-After`, all tries are back.
  clock.advance(WINDOW_MS);
  expect(await guess(FAILURES_MAX + 1)).toEqual({ 401: FAILURES_MAX, 429: 1 });
});

test('the addresses of one IPv6 network are one, behind a proxy', async () => {
  for (let index = 0; index < FAILURES_MAX; index += 1)
    expect(await guess(1, `2001:db8:0:1::${index.toString(16)}`)).toEqual({ 401: 1 });
  expect(await guess(1, '2001:db8:0:1:ffff::1')).toEqual({ 429: 1 });
  expect(await guess(1, '2001:db8:0:2::1')).toEqual({ 401: 1 });
});

test('the addresses of failures leave memory when their window is over', async () => {
  for (let index = 0; index < 20; index += 1) await guess(1, `198.51.100.${index}`);
  const remembered = () =>
    Number(/^failed_login_addresses{service="ingest"} (\d+)$/m.exec(collector.metrics.expose())?.[1]);
  expect(remembered()).toBe(20);
  clock.advance(WINDOW_MS);
  // No further request comes.
  await expect.poll(remembered).toBe(0);
});

test('every collection endpoint limits wrong secrets, and no right one', async () => {
  await guess(FAILURES_MAX);
  const sent = headersOf({ id: write.id, secret: createSecret(), address: GUESSER });
  const right = headersOf({ id: write.id, secret: write.secret, address: GUESSER });
  for (const [headers, batchStatus, deviceStatus] of [
    [sent, 429, 429],
    [right, 200, 200],
  ] as const) {
    const body = JSON.stringify([VIEW]);
    const batch = await fetch(`${collector.url}/track/batch`, { method: 'POST', headers, body });
    const device = await fetch(`${collector.url}/track/device-id`, { headers });
    expect([batch.status, device.status]).toEqual([batchStatus, deviceStatus]);
  }
  // The head is checked before the body.
  const broken = await fetch(`${collector.url}/track`, { method: 'POST', headers: sent, body: '{' });
  expect(broken.status).toBe(429);
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
