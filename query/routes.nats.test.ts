import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type Client,
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  siteKeyOf,
  siteSchema,
} from '../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../infra/accounts/client-auth.ts';
import { Bus } from '../infra/bus/bus.ts';
import { readConfig } from '../infra/config.ts';
import { HttpServer } from '../infra/http/http.ts';
import { createLogger } from '../infra/log.ts';
import { Metrics } from '../infra/metrics.ts';
import type { Mounted } from '../infra/process/host.ts';
import { ServiceLanes } from '../infra/process/service-lanes.ts';
import { type NatsServer, startNatsServer } from '../infra/testing/nats-server.ts';
import { LANES_DEFAULT } from '../ingest/event.ts';
import { SeededRandom } from '../ingest/testing/random.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../processor/hot.ts';
import { liveAnswer, metricsAnswer } from './api.ts';
import { mount } from './main.ts';
import { addTraffic } from './testing/model-traffic.ts';
import { OwnedLanes } from './testing/owned-lanes.ts';

const AT = '2026-01-01T00:00:00.000Z';
const log = createLogger('test', 'silent');

let nats: NatsServer;
let bus: Bus;
let owning: Bus;
let http: HttpServer;
let mounted: Mounted;
let baseUrl = '';
const metrics = new Metrics();
const lanes = new OwnedLanes(LANES_DEFAULT);
let stopOwning: (() => void)[] = [];
let requests = 0;
/** The fixed time of the service's clock; undefined while it runs. */
let frozenAtMs: number | undefined;
const clock = { nowMs: () => frozenAtMs ?? Date.now() };

interface ClientKey {
  readonly id: string;
  readonly secret: string;
}

/** A new client, valid once the mirror has its record. Each test has its own client, and so its own limit. */
async function makeClient(type: Client['type'], projectId: string | null): Promise<ClientKey> {
  const id = randomUUID();
  const secret = createSecret();
  const record = clientSchema.parse({
    id,
    name: type,
    type,
    projectId,
    teamId: 'team',
    createdAt: AT,
    updatedAt: AT,
    secretHash: hashSecret(secret),
  });
  const bucket = await bus.keyed(CONTROL_BUCKET);
  await bucket.put(clientKeyOf(id), encodeRecord(record), 0);
  return { id, secret };
}

async function makeSite(id: string, teamId: string): Promise<void> {
  const record = siteSchema.parse({ id, teamId, name: id, createdAt: AT, updatedAt: AT });
  await (await bus.keyed(CONTROL_BUCKET)).put(siteKeyOf(id), encodeRecord(record), 0);
}

function own(lane: number): () => void {
  return owning.answer(hotSubjectOf(lane), {
    reply: (bytes) => {
      requests += 1;
      return lanes.owners[lane]?.answer(decodeHotQuestion(bytes));
    },
    unavailable: () => encodeHotAnswer({ kind: 'unavailable', reason: 'failed' }),
  });
}

function get(path: string, key?: ClientKey, family = 'service'): Promise<Response> {
  const headers: Record<string, string> = {};
  if (key !== undefined) {
    headers[`${family}-client-id`] = key.id;
    headers[`${family}-client-secret`] = key.secret;
  }
  return fetch(baseUrl + path, { headers });
}

let root: ClientKey;
let read: ClientKey;
let write: ClientKey;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'query' }, log);
  owning = await Bus.connect({ url: nats.url, name: 'owner' }, log);
  await makeSite('site', 'team');
  await makeSite('sister', 'team');
  await makeSite('foreign', 'others');
  root = await makeClient('root', null);
  read = await makeClient('read', 'site');
  write = await makeClient('write', 'site');
  stopOwning = lanes.owners.map(({ lane }) => own(lane));
  const now = Date.now();
  addTraffic(lanes, new SeededRandom(1), { events: 200, fromMs: now - 3_000_000, toMs: now });
  http = new HttpServer((error) => {
    throw error;
  });
  const config = readConfig({
    NATS_URL: nats.url,
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
  });
  mounted = await mount({
    config,
    log,
    metrics,
    bus,
    http,
    clock,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
  });
  baseUrl = `http://127.0.0.1:${await http.listen('127.0.0.1', 0)}`;
});
afterEach(() => {
  frozenAtMs = undefined;
});
afterAll(async () => {
  await mounted.stop();
  http.close();
  await bus.close();
  await owning.close();
  await nats.stop();
});

test.each([
  ['no client', undefined, 401],
  ['an unknown client', { id: randomUUID(), secret: createSecret() }, 401],
  ['an id that is none', { id: 'x', secret: 'y' }, 401],
])('%s gets %s', async (_name, key, status) => {
  const response = await get('/insights/site/live', key);
  expect(response.status).toBe(status);
  expect(await response.json()).toMatchObject({ status, error: 'Unauthorized' });
  expect(response.headers.get('access-control-allow-origin')).toBeNull();
});

test.each([
  ['brackets', `filters${'[]'.repeat(25_000)}=x`, '/insights/site/metrics'],
  ['escaped brackets', `filters${'%5B%5D'.repeat(10_000)}=x`, '/insights/site/metrics'],
  ['lists', `filters=${'['.repeat(30_000)}${']'.repeat(30_000)}`, '/insights/site/metrics'],
  ['objects', `steps=[${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}]`, '/insights/site/funnel'],
  ['parentheses', `series=[{"name":"a"}]&formula=${'('.repeat(5_000)}`, '/export/charts'],
  ['spaces', `series=[{"name":"a"}]&formula=${'+'.repeat(60_000)}`, '/export/charts'],
  ['parameters', '&a'.repeat(30_000), '/insights/site/metrics'],
])('a question with too many %s is 400, and the service answers the next one', async (_what, query, path) => {
  expect((await get(`${path}?${query}`, read)).status).toBe(400);
  expect((await get('/insights/site/live', read)).status).toBe(200);
});

test('a known client with a wrong secret gets 401', async () => {
  expect((await get('/insights/site/live', { ...read, secret: createSecret() })).status).toBe(401);
});

test('a root client may query its team, a read client its site, a write client nothing', async () => {
  const paths = [
    '/insights/site/live',
    '/insights/sister/live',
    '/insights/foreign/live',
    '/insights/none/live',
  ];
  const statuses = async (key: ClientKey) =>
    Promise.all(paths.map(async (path) => (await get(path, key)).status));
  expect(await statuses(root)).toEqual([200, 200, 404, 404]);
  expect(await statuses(read)).toEqual([200, 403, 403, 403]);
  expect(await statuses(write)).toEqual([403, 403, 403, 403]);
});

test('the types of groups are no group, and journeys are below profiles and sessions', async () => {
  const paths = [
    'groups/types',
    'groups/acme',
    'profiles',
    'profiles/p/metrics',
    'profiles/p/journey',
    'sessions/s/journey',
  ];
  const messages = await Promise.all(
    paths.map(async (path) => {
      const { message } = (await (await get(`/insights/site/${path}?wrong=1`, read)).json()) as {
        message: string;
      };
      return message.replace('wrong: no such parameter; expected ', '');
    }),
  );
  expect(messages).toEqual([
    'partial',
    'limit, cursor',
    'search, property, value, filters, sort, limit, cursor, partial',
    'partial',
    'order, limit, cursor, synthetic, partial',
    'order, limit, cursor, synthetic, partial',
  ]);
});

const CHART = 'series=[{"name":"*"}]';
test.each(['/export/events?', '/export/events.ndjson?', `/export/charts?${CHART}&`])(
  '%s is open to a root client for its team and to a read client for its site',
  async (path) => {
    // An authorized client gets 503, because the store is unavailable.
    const statuses = async (key: ClientKey) =>
      Promise.all(
        [
          '',
          'projectId=site',
          'project_id=site',
          'projectId=sister',
          'projectId=foreign',
          'projectId=none',
        ].map(async (site) => (await get(path + site, key)).status),
      );
    expect(await statuses(root)).toEqual([400, 503, 503, 503, 404, 404]);
    expect(await statuses(read)).toEqual([503, 503, 503, 403, 403, 403]);
    expect(await statuses(write)).toEqual([403, 403, 403, 403, 403, 403]);
    expect((await get(`${path}projectId=site`)).status).toBe(401);
  },
);

test('both families of credential headers are accepted', async () => {
  expect((await get('/insights/site/live', read, 'openpanel')).status).toBe(200);
});

test('live counts the devices of the last five minutes, with and without details', async () => {
  const nowMs = Date.now();
  const recent = lanes.events('site').filter(({ atMs }) => atMs > nowMs - 300_000);
  const devices = new Set(recent.map(({ deviceId }) => deviceId)).size;
  const { visitors } = liveAnswer.parse(await (await get('/insights/site/live', root)).json());
  expect(visitors).toBeGreaterThan(0);
  expect(visitors).toBe(devices);
  const details = liveAnswer.parse(await (await get('/insights/site/live?details=true', root)).json());
  expect(details.pages).toEqual([
    { path: '/', visitors: 3 },
    { path: '/0', visitors: 2 },
  ]);
  expect(details.countries).toEqual([{ country: 'DE', visitors: 1 }]);
  expect(details.minutes?.length).toBe(30);
  const views = lanes.events('site').filter(({ name }) => name === 'screen_view').length;
  const shown = details.minutes?.reduce((sum, minute) => sum + minute.screen_views, 0) ?? 0;
  expect(shown).toBeGreaterThan(0);
  expect(shown).toBeLessThan(views);
});

test('concurrent questions for live share one fetch from the owners', async () => {
  const key = await makeClient('root', null);
  await expect.poll(async () => (await get('/insights/site/live', key)).status).toBe(200);
  const before = requests;
  const fetchedBefore = fetches();
  await Promise.all(Array.from({ length: 50 }, () => get('/insights/site/live', key)));
  // Each fetch asks every owner once, and questions within a tenth of a second share a fetch.
  expect(requests - before).toBe((fetches() - fetchedBefore) * LANES_DEFAULT);
  expect(fetches() - fetchedBefore).toBeLessThan(10);
});

function hotFetchRetries(): number {
  return Number(/query_hot_fetch_retries_total (\d+)/.exec(metrics.expose())?.[1]);
}

function fetches(): number {
  return Number(/query_hot_fetch_seconds_count\{kind="live"\} (\d+)/.exec(metrics.expose())?.[1]);
}

test('without the store, the last half hour is answered from memory and other ranges are rejected', async () => {
  const response = await get('/insights/site/metrics?range=30min', root);
  expect(response.status).toBe(200);
  const answer = metricsAnswer.parse(await response.json());
  expect(answer.series.length).toBe(30);
  expect(answer.metrics.total_screen_views).toBeGreaterThan(0);
  for (const path of ['/insights/site/metrics', '/export/events?projectId=site']) {
    const rejected = await get(path, root);
    expect(rejected.status).toBe(503);
    expect(rejected.headers.get('retry-after')).toBe('1');
  }
  const part = await get('/insights/site/metrics?partial=true', root);
  expect(await part.json()).toMatchObject({ partial: true, interval: 'day' });
  expect(mounted.dependencies()).toMatchObject([{ name: 'store', up: false }]);
});

test.each([
  ['/insights/site/metrics?range=8d', 'range'],
  ['/insights/site/metrics?range=7d&startDate=2026-01-01', 'range'],
  ['/insights/site/metrics?filters=[{}]', 'filters.0.name'],
  ['/insights/site/live?details=maybe', 'details'],
  ['/export/events', 'projectId'],
  ['/export/events?projectId=site&project_id=sister', 'project_id'],
  ['/export/events?projectId=site&page=0', 'page'],
  ['/export/events?projectId=site&start=2026-13-01', 'start'],
  [`/export/charts?${CHART}`, 'projectId'],
  [`/export/charts?${CHART}&projectId=site&project_id=sister`, 'project_id'],
  ['/export/charts?projectId=site', 'series'],
  ['/export/charts?projectId=site&series=[{}]', 'series.0.name'],
  [`/export/charts?projectId=site&${CHART}&formula=B`, 'formula'],
  [`/export/charts?projectId=site&${CHART}&breakdowns=[{"name":"profile.email"}]`, 'breakdowns.0.name'],
])('%s is 400 and names %s', async (path, name) => {
  const response = await get(path, root);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ status: 400, message: expect.stringMatching(`^${name}:`) });
});

test('a client gets exactly a hundred answers in one window, and every answer shows what is left', async () => {
  // All requests fall into one window.
  frozenAtMs = Date.now();
  const key = await makeClient('root', null);
  await expect.poll(async () => (await get('/insights/site/live', key)).status).toBe(200);
  const responses = await Promise.all(Array.from({ length: 120 }, () => get('/insights/site/live', key)));
  const limited = responses.filter(({ status }) => status === 429);
  expect(limited.length).toBe(21);
  expect(limited[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(await limited[0]?.json()).toMatchObject({ status: 429, error: 'Too Many Requests' });
  const allowed = responses.filter(({ status }) => status === 200);
  for (const family of ['ratelimit', 'x-ratelimit']) {
    const left = allowed.map(({ headers }) => Number(headers.get(`${family}-remaining`)));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 99 }, (_, index) => index));
    expect(allowed[0]?.headers.get(`${family}-limit`)).toBe('100');
    expect(allowed[0]?.headers.get(`${family}-reset`)).toMatch(/^([1-9]|10)$/);
  }
  // Insights and exports share a limit; `/manage` has its own.
  expect((await get('/export/events?projectId=site', key)).status).toBe(429);
  const managed = await get('/manage/projects', key);
  expect(managed.status).toBe(200);
  expect(managed.headers.get('ratelimit-limit')).toBe('20');
});

test('a question waits for a lane whose owner returns in time, and names one that stays away', async () => {
  stopOwning[0]?.();
  const waiting = get('/insights/sister/live', root);
  stopOwning[0] = own(0);
  expect((await waiting).status).toBe(200);
  stopOwning[0]();
  // This answer comes over the owner's connection, so the bus knows by now that the lane has no owner.
  await owning.hasStream('none');
  const rejected = await get('/insights/sister/metrics?range=30min', root);
  expect(rejected.status).toBe(503);
  expect(await rejected.json()).toMatchObject({
    message: expect.stringContaining('the newest events cannot be reached'),
  });
  expect(hotFetchRetries()).toBeGreaterThan(0);
  const part = await get('/insights/sister/metrics?range=30min&partial=true', root);
  expect(await part.json()).toMatchObject({ partial: true });
  stopOwning[0] = own(0);
});

test('an address that sends too many unknown clients or wrong secrets gets 429', async () => {
  frozenAtMs = Date.now();
  const key = { id: randomUUID(), secret: createSecret() };
  const responses = await Promise.all(Array.from({ length: 120 }, () => get('/insights/site/live', key)));
  const statuses = responses.map(({ status }) => status);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(100);
  expect(responses[0]?.headers.get('ratelimit-limit')).toBe('100');
});
