import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';

// A request's head is checked before its body is read: most of these bodies never come.

let nats: NatsServer;
let bus: Bus;
let collector: TestCollector;
let write: Awaited<ReturnType<typeof createClient>>;
let root: Awaited<ReturnType<typeof createClient>>;
let read: Awaited<ReturnType<typeof createClient>>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop', { cors: ['https://shop.example'] });
  write = await createClient(bus, 'write', 'shop');
  read = await createClient(bus, 'read', 'gone');
  root = await createClient(bus, 'root', null);
  collector = await startCollector(nats.url);
});

afterAll(async () => {
  await collector?.stop();
  await bus?.close();
  await nats?.stop();
});

const EVENT = JSON.stringify({ type: 'track', payload: { name: 'a' } });

interface BegunRequest {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Announced, whatever is sent. */
  readonly bytes?: number;
}

function openRequest({ path = '/track', headers = {}, bytes = 60_000 }: BegunRequest): Socket {
  const { hostname, port } = new URL(collector.url);
  const socket = connect(Number(port), hostname);
  const lines = Object.entries({ host: hostname, 'content-length': String(bytes), ...headers });
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.map((line) => line.join(': ')).join('\r\n')}\r\n\r\n`);
  return socket;
}

/** The status of the next answer. */
function statusOf(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    socket.once('data', (part) => resolve(Number(part.toString('latin1').split(' ')[1])));
    socket.once('close', () => reject(new Error('closed without an answer')));
  });
}

function openBytes(sender: 'proven' | 'stranger'): number {
  const line = new RegExp(`^http_open_body_bytes{sender="${sender}"} (\\d+)$`, 'm').exec(
    collector.metrics.expose(),
  );
  return Number(line?.[1]);
}

const wrong = () => ({ 'service-client-id': write.id, 'service-client-secret': createSecret() });

test.each<[string, string, () => Readonly<Record<string, string>>, number]>([
  ['a wrong secret', '/track', wrong, 401],
  ['a wrong secret', '/track/batch', wrong, 401],
  ['an unknown client', '/track', () => ({ 'service-client-id': crypto.randomUUID() }), 401],
  ['an unknown client', '/track/batch', () => ({ 'service-client-id': crypto.randomUUID() }), 401],
  [
    'a foreign origin',
    '/track/batch',
    () => ({ 'service-client-id': write.id, origin: 'https://foreign.example' }),
    401,
  ],
  [
    'a site that no longer exists',
    '/track',
    () => ({ 'service-client-id': read.id, 'service-client-secret': read.secret }),
    403,
  ],
  ['another content type', '/track', () => ({ 'content-type': 'text/html' }), 415],
  ['a long idempotency key', '/track/batch', () => ({ 'idempotency-key': 'k'.repeat(65) }), 400],
])('%s at %s is answered while the body is still to come', async (_what, path, headers, status) => {
  const socket = openRequest({ path, headers: headers() });
  socket.write('[');
  expect(await statusOf(socket)).toBe(status);
  // Bytes behind the answer are dropped, and none of them was ever kept.
  socket.write('x'.repeat(59_999));
  expect([openBytes('stranger'), openBytes('proven')]).toEqual([0, 0]);
  socket.destroy();
});

test.each<[string, () => Readonly<Record<string, string>>, 'proven' | 'stranger']>([
  [
    'of a client with its secret',
    () => ({ 'service-client-id': write.id, 'service-client-secret': write.secret }),
    'proven',
  ],
  [
    'of a client of many sites',
    () => ({ 'service-client-id': root.id, 'service-client-secret': root.secret }),
    'proven',
  ],
  ['of a page', () => ({ 'service-client-id': write.id, origin: 'https://shop.example' }), 'stranger'],
  ['that names its client itself', () => ({}), 'stranger'],
])(
  'a body %s takes memory of its kind as it arrives, and none when it is gone',
  async (_what, headers, sender) => {
    const other = sender === 'proven' ? 'stranger' : 'proven';
    const socket = openRequest({ path: '/track/batch', headers: headers(), bytes: 4_000_000 });
    socket.write(`[${' '.repeat(100_000)}`);
    await expect.poll(() => openBytes(sender)).toBeGreaterThan(100_000);
    // By the bytes that have arrived, not by the announced length.
    expect(openBytes(sender)).toBeLessThan(400_000);
    expect(openBytes(other)).toBe(0);
    socket.destroy();
    await expect.poll(() => openBytes(sender)).toBe(0);
  },
);

test('a secret in the body proves a client that the head names', async () => {
  const body = JSON.stringify({ ...JSON.parse(EVENT), clientSecret: write.secret });
  const answer = await fetch(`${collector.url}/track`, {
    method: 'POST',
    headers: { 'service-client-id': write.id },
    body,
  });
  expect(answer.status).toBe(200);
});

test('a body that comes in pieces, and one that follows on the same connection, are both recorded', async () => {
  const headers = { 'service-client-id': write.id, 'service-client-secret': write.secret };
  const socket = openRequest({ headers, bytes: EVENT.length });
  socket.write(EVENT.slice(0, 10));
  await expect.poll(() => openBytes('proven')).toBeGreaterThan(0);
  socket.write(EVENT.slice(10));
  expect(await statusOf(socket)).toBe(200);
  expect(openBytes('proven')).toBe(0);
  socket.write(
    `POST /track HTTP/1.1\r\nhost: x\r\ncontent-length: ${EVENT.length}\r\nservice-client-id: ${write.id}\r\nservice-client-secret: ${write.secret}\r\n\r\n${EVENT}`,
  );
  expect(await statusOf(socket)).toBe(200);
  socket.destroy();
});
