import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';

type Key = Awaited<ReturnType<typeof createClient>>;

let nats: NatsServer;
let bus: Bus;
let collector: TestCollector;
let heavy: Key;
let light: Key;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await createSite(bus, 'shop');
  await createSite(bus, 'blog');
  heavy = await createClient(bus, 'write', 'shop');
  light = await createClient(bus, 'write', 'blog');
  // Only the work of senders decides here, and no random share of all requests.
  collector = await startCollector(nats.url, { env: { REQUEST_WAIT_MAX_MS: '60000' } });
});

afterAll(async () => {
  await collector?.stop();
  await bus?.close();
  await nats?.stop();
});

const event = { type: 'track', payload: { name: 'a' } };

function post(path: string, { id, secret }: Key, body: unknown): Promise<Response> {
  return fetch(collector.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'service-client-id': id, 'service-client-secret': secret },
    body: JSON.stringify(body),
  });
}

function figure(series: string): number {
  const line = collector.metrics
    .expose()
    .split('\n')
    .find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length));
}

/** Makes each round of the event loop so slow that requests wait, until the returned function is called. */
function keepBusy(): () => void {
  let immediate: NodeJS.Immediate;
  const spin = () => {
    const endMs = performance.now() + 280;
    while (performance.now() < endMs);
    immediate = setImmediate(spin);
  };
  immediate = setImmediate(spin);
  return () => clearImmediate(immediate);
}

test('a heavy client is refused while the process is busy, a light one is served, and alone both are', {
  timeout: 60_000,
}, async () => {
  // Without a name none is stored: the stream of a test is small.
  const batch = Array.from({ length: 2_000 }, (_, index) => ({
    type: 'track',
    payload: { properties: { index } },
  }));
  expect((await post('/track', light, event)).status).toBe(200);
  while (figure('cpu_counted_seconds_total{service="ingest"}') < 2.5)
    await post('/track/batch', heavy, batch);
  // Nothing waits, so nothing is refused.
  expect((await post('/track', heavy, event)).status).toBe(200);
  const statuses = new Set<number>();
  let refused: Response | undefined;
  const sendHeavy = async () => {
    while (refused === undefined) {
      const answer = await post('/track', heavy, event);
      if (answer.status !== 200) refused = answer;
    }
  };
  const sendLight = async () => {
    while (refused === undefined) statuses.add((await post('/track', light, event)).status);
  };
  const rest = keepBusy();
  try {
    await Promise.all([sendHeavy(), sendHeavy(), sendHeavy(), sendHeavy(), sendLight()]);
    statuses.add((await post('/track', light, event)).status);
  } finally {
    rest();
  }
  expect(refused?.status).toBe(429);
  expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect([...statuses]).toEqual([200]);
  expect(figure('cpu_refusals_total{service="ingest",reason="share"}')).toBeGreaterThan(0);
  expect(figure('ingest_rejects_total{reason="cpu"}')).toBeGreaterThan(0);
});

test('the work on a rejected batch of a stranger counts, all of its turns, until the head of the next one is refused', {
  timeout: 60_000,
}, async () => {
  // Its end is missing, which is seen last.
  const body = `[${Array(1_999)
    .fill(`{"a":[${'0,'.repeat(1_000)}0]}`)
    .join(',')}`;
  const send = () =>
    fetch(`${collector.url}/track/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
  const statuses: number[] = [];
  // A network may cost a second in ten with requests that are rejected; the first turns of a batch are most of its work.
  const sendUntilRefused = async () => {
    while (statuses.length < 100 && !statuses.includes(429)) statuses.push((await send()).status);
  };
  await Promise.all([sendUntilRefused(), sendUntilRefused(), sendUntilRefused()]);
  expect(statuses.at(0)).toBe(400);
  expect(statuses).toContain(429);
  expect(figure('cpu_refusals_total{service="ingest",reason="rejected"}')).toBeGreaterThan(0);
});
