import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { decodeEntityUpdates, entityStreamOf, type TallyUpdate } from '../entity-update.ts';
import { decodeMessageHead, LANES_DEFAULT } from '../event.ts';
import {
  connectBus,
  createClient,
  createSite,
  startCollector,
  type TestCollector,
} from '../testing/collector.ts';
import { storedEvents } from '../testing/stored-events.ts';

const RATE = 2;
/** Events are counted over ten seconds. */
const WINDOW_MS = 10_000;
const ALLOWED = 10 * RATE;
const ORIGIN = 'https://shop.example';
const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0';
const BOT = 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)';

type Key = Awaited<ReturnType<typeof createClient>>;

const env = { SESSION_LOOKUP_TIMEOUT_MS: '50' };
const clock = new ManualClock(Date.UTC(2024, 4, 10, 12));
let nats: NatsServer;
let bus: Bus;
let collector: TestCollector;
let site: string;
let key: Key;
let sites = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  collector = await startCollector(nats.url, { env, clock });
});

afterAll(async () => {
  await collector.stop();
  await bus.close();
  await nats.stop();
});

beforeEach(async () => {
  sites += 1;
  site = `shop-${sites}`;
  key = await makeSite(site, RATE);
});

/** A site and a client that the collector knows. */
async function makeSite(id: string, eventsPerSecondMax: number | null): Promise<Key> {
  const filters = { addresses: [], profileIds: [], names: ['internal'], paths: [] };
  await createSite(bus, id, { cors: [ORIGIN], filters, eventsPerSecondMax });
  const made = await createClient(bus, 'write', id);
  const isKnown = async () => {
    const config = await fetch(`${collector.url}/config/tracking?clientId=${made.id}`);
    expect(config.status).toBe(200);
  };
  await expect
    .poll(() =>
      isKnown().then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
  return made;
}

interface PostOptions {
  readonly from?: Key;
  readonly headers?: Readonly<Record<string, string>>;
  readonly url?: string;
}

function post(path: string, body: unknown, { from = key, headers, url = collector.url }: PostOptions = {}) {
  return fetch(url + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'service-client-id': from.id,
      'user-agent': BROWSER,
      ...(headers ?? { 'service-client-secret': from.secret }),
    },
    body: JSON.stringify(body),
  });
}

const event = (name = 'view', properties: object = {}) => ({ type: 'track', payload: { name, properties } });

/** Sends as many events as the site may in one window. */
async function useUp(): Promise<void> {
  const answer = await post('/track/batch', Array(ALLOWED).fill(event()));
  expect(await answer.json()).toEqual({ accepted: ALLOWED, rejected: [] });
}

/** The number of bodies of this site that were excluded for this reason, as published. */
async function tallied(reason: string): Promise<number> {
  let count = 0;
  for (let lane = 0; lane < LANES_DEFAULT; lane += 1)
    for await (const { bytes } of bus.messages(entityStreamOf(lane)))
      for (const update of decodeEntityUpdates(bytes, decodeMessageHead(Buffer.from(bytes)).count))
        if (isTally(update) && update.projectId === site && update.reason === reason) count += update.count;
  return count;
}

function isTally(update: { readonly kind: string }): update is TallyUpdate {
  return update.kind === 'tally';
}

test('beyond its rate, events of a site get 429 with the headers that say so', async () => {
  const first = await post('/track', event());
  expect([
    first.status,
    first.headers.get('ratelimit-limit'),
    first.headers.get('ratelimit-remaining'),
  ]).toEqual([200, String(ALLOWED), String(ALLOWED - 1)]);
  for (let sent = 1; sent < ALLOWED; sent += 1) expect((await post('/track', event())).status).toBe(200);
  const rejected = await post('/track', event());
  expect(rejected.status).toBe(429);
  expect(await rejected.json()).toMatchObject({
    status: 429,
    message: expect.stringMatching(/2 events a second/),
  });
  expect(rejected.headers.get('ratelimit-remaining')).toBe('0');
  expect(rejected.headers.get('x-ratelimit-limit')).toBe(String(ALLOWED));
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
  const stored = (await storedEvents(bus, LANES_DEFAULT)).filter(({ row }) => row.projectId === site);
  expect(stored).toHaveLength(ALLOWED);
  clock.advance(2 * WINDOW_MS);
  expect((await post('/track', event())).status).toBe(200);
});

test('a site without a rate is not limited and its answers say nothing of a limit', async () => {
  const free = await makeSite(`${site}-free`, null);
  await useUp();
  const answers = await Promise.all(
    Array.from({ length: 3 * ALLOWED }, () => post('/track', event(), { from: free })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers.map(({ headers }) => headers.get('ratelimit-limit'))).toEqual(answers.map(() => null));
});

test('of a batch, each body beyond the rate is listed with 429', async () => {
  const answer = await post('/track/batch', Array(ALLOWED + 5).fill(event()));
  const { accepted, rejected } = (await answer.json()) as {
    accepted: number;
    rejected: { index: number; status: number }[];
  };
  expect([answer.status, accepted]).toEqual([200, ALLOWED]);
  expect(rejected.map(({ index, status }) => [index, status])).toEqual(
    Array.from({ length: 5 }, (_, index) => [ALLOWED + index, 429]),
  );
  expect(answer.headers.get('ratelimit-remaining')).toBe('0');
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('it limits senders with a secret, imports of old events, and updates of profiles alike', async () => {
  await useUp();
  const old = event('view', { __timestamp: '2020-01-01T00:00:00Z' });
  const update = { type: 'identify', payload: { profileId: 'p', firstName: 'Ada' } };
  for (const body of [event(), old, update]) expect((await post('/track', body)).status).toBe(429);
  expect((await post('/track', event(), { headers: { origin: ORIGIN } })).status).toBe(429);
});

test('a body that is not recorded anyway takes nothing of the rate', async () => {
  const bots = Array.from({ length: ALLOWED }, () =>
    post('/track', event(), { headers: { origin: ORIGIN, 'user-agent': BOT } }),
  );
  for (const answer of await Promise.all(bots)) expect(answer.status).toBe(202);
  for (const answer of await Promise.all(
    Array.from({ length: ALLOWED }, () => post('/track', event('internal'))),
  ))
    expect(answer.status).toBe(202);
  const replay = { type: 'replay', payload: {} };
  expect((await post('/track', replay)).status).toBe(202);
  await useUp();
});

test('what is beyond the rate is counted as excluded, and in the metrics', async () => {
  const rejects = () =>
    Number(/ingest_rejects_total\{reason="site-rate"\} (\d+)/.exec(collector.metrics.expose())?.[1]);
  const before = rejects();
  await post('/track/batch', Array(ALLOWED + 7).fill(event()));
  expect(rejects() - before).toBe(7);
  await expect.poll(() => tallied('rate:eventsPerSecondMax')).toBe(7);
});

test('the rate is that of the service: another collector knows what this one took', async () => {
  const other = await startCollector(nats.url, { env, clock });
  await useUp();
  let accepted = 0;
  // The clock is frozen, so only the other's counts can end this before the whole rate is used again.
  while (accepted < ALLOWED) {
    const { status } = await post('/track', event(), { url: other.url });
    if (status === 429) break;
    expect(status).toBe(200);
    accepted += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(accepted).toBeLessThan(ALLOWED);
  await other.stop();
});
