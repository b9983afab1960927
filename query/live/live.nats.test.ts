import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  type Client,
  CONTROL_BUCKET,
  clientKeyOf,
  clientSchema,
  encodeRecord,
  type Site,
  siteKeyOf,
  siteSchema,
} from '../../infra/accounts/accounts.ts';
import { createSecret, hashSecret } from '../../infra/accounts/client-auth.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { HttpServer } from '../../infra/http/http.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { Mounted } from '../../infra/process/host.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { TestSocket } from '../../infra/testing/test-socket.ts';
import { decodeHotQuestion, encodeHotAnswer, hotSubjectOf } from '../../processor/hot.ts';
import {
  decodeLiveWatch,
  encodeLiveNumbers,
  encodeLiveUnavailable,
  LIVE_EVERY_MS,
  type LiveNumber,
  liveNumbersSubjectOf,
  liveWatchSubjectOf,
} from '../../processor/live-numbers.ts';
import { mount } from '../main.ts';
import { liveNumberAnswer } from './live-api.ts';
import { STRANGER_LIMIT } from './live-door.ts';
import { SENT_EVERY_MS } from './live-hub.ts';

// Connections of a real server, over a real bus, to an owner that the test plays.

const AT = '2026-01-01T00:00:00.000Z';
const PATIENCE = { interval: 10 };
const ADDRESS_MAX = 4;
const log = createLogger('test', 'silent');
const metrics = new Metrics();

let nats: NatsServer;
let bus: Bus;
let owning: Bus;
let http: HttpServer;
let mounted: Mounted;
let url = '';

/** The owner of the only lane: its numbers, whether it broadcasts or only answers, and the number of requests. */
const owner = {
  numbers: new Map<string, number>(),
  mode: 'tells' as 'tells' | 'answers' | 'away',
  asked: 0,
  watched: [] as string[],
  number: 0,
  told: new Map<string, number>(),
};

function tell(): void {
  if (owner.mode !== 'tells') return;
  const sites = [...owner.numbers].filter(([site, number]) => owner.told.get(site) !== number);
  owner.number += 1;
  owner.told = new Map(owner.numbers);
  owning.broadcast(
    liveNumbersSubjectOf(0),
    encodeLiveNumbers({
      incarnation: 1,
      number: owner.number,
      sites: sites.map(([site, number]) => [storedId(site), number, []]),
      untold: [],
    }),
  );
}

async function makeSite(id: string, fields: Partial<Site> = {}): Promise<void> {
  const record = siteSchema.parse({ id, teamId: 'team', name: id, createdAt: AT, updatedAt: AT });
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const stored = await bucket.get(siteKeyOf(id));
  await bucket.put(
    siteKeyOf(id),
    encodeRecord({ ...record, publicWidget: true, cors: ['*'], ...fields }),
    stored?.revision ?? 0,
  );
}

async function makeClient(projectId: string): Promise<{ record: Client; headers: Record<string, string> }> {
  const secret = createSecret();
  const times = { createdAt: AT, updatedAt: AT };
  const own = { id: randomUUID(), name: 'r', type: 'read', projectId, teamId: 'team' };
  const record = clientSchema.parse({ ...own, ...times, secretHash: hashSecret(secret) });
  await (await bus.keyed(CONTROL_BUCKET)).put(clientKeyOf(record.id), encodeRecord(record), 0);
  const headers = { 'service-client-id': record.id, 'service-client-secret': secret };
  await expect
    .poll(async () => (await fetch(`${url}/live/${projectId}.json`, { headers })).status)
    .not.toBe(401);
  return { record, headers };
}

let ticking: NodeJS.Timeout;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'query' }, log);
  owning = await Bus.connect({ url: nats.url, name: 'owner' }, log);
  owning.answer(liveWatchSubjectOf(0), {
    reply: (bytes) => {
      const site = decodeLiveWatch(bytes);
      owner.watched.push(site);
      if (owner.mode !== 'tells') return encodeLiveUnavailable();
      const number = owner.told.get(site) ?? owner.numbers.get(site) ?? 0;
      owner.told.set(site, number);
      const sites: [LiveNumber] = [[site, number, []]];
      return encodeLiveNumbers({ incarnation: 1, number: owner.number, sites, untold: [] });
    },
    unavailable: () => encodeLiveUnavailable(),
  });
  owning.answer(hotSubjectOf(0), {
    reply: (bytes) => {
      const question = decodeHotQuestion(bytes);
      if (owner.mode === 'away') return encodeHotAnswer({ kind: 'unavailable', reason: 'not-held' });
      if (question.kind === 'minutes') return encodeHotAnswer({ kind: 'minutes', partition: 0, minutes: [] });
      const visitors = owner.numbers.get(question.projectId) ?? 0;
      if (question.kind === 'live-details')
        return encodeHotAnswer({
          kind: 'live-details',
          visitors,
          profiles: [],
          pages: [['/a', 2, []]],
          countries: [['DE', 2, []]],
          referrers: [['Google', 2, []]],
        });
      owner.asked += 1;
      return encodeHotAnswer({ kind: 'live', visitors, profiles: [] });
    },
    unavailable: () => encodeHotAnswer({ kind: 'unavailable', reason: 'failed' }),
  });
  for (const id of ['shop', 'blog', 'news', 'wiki', 'docs', 'full', 'rate', 'away', 'cafe'])
    await makeSite(id);
  http = new HttpServer((error) => {
    throw error;
  });
  const config = readConfig({
    NATS_URL: nats.url,
    CLICKHOUSE_URL: 'http://127.0.0.1:1',
    SECRETS_KEY: '3'.repeat(64),
    TRUSTED_PROXIES: 'any',
    LIVE_CONNECTIONS_PER_ADDRESS_MAX: String(ADDRESS_MAX),
  });
  mounted = await mount({
    config,
    log,
    metrics,
    bus,
    http,
    clock: systemClock,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
  });
  url = `http://127.0.0.1:${await http.listen('127.0.0.1', 0)}`;
  ticking = setInterval(tell, LIVE_EVERY_MS);
});

afterAll(async () => {
  clearInterval(ticking);
  await mounted.stop();
  http.close();
  await bus.close();
  await owning.close();
  await nats.stop();
});

beforeEach(() => {
  owner.mode = 'tells';
});

let addresses = 0;
/** The headers of a viewer with its own address. */
function someone(): Record<string, string> {
  addresses += 1;
  return { 'x-forwarded-for': `2001:db8:0:${addresses.toString(16)}::1` };
}

function metric(line: string): number {
  return Number(new RegExp(`^${line.replace(/[{}"]/g, '\\$&')} (\\d+)$`, 'm').exec(metrics.expose())?.[1]);
}

/** An event stream's text so far; ended by the function. */
async function events(
  path: string,
): Promise<{ text: () => string; isOver: () => boolean; close: () => void }> {
  const abort = new AbortController();
  const response = await fetch(url + path, { headers: someone(), signal: abort.signal });
  expect(response.status).toBe(200);
  let text = '';
  let isOver = false;
  const reading = async () => {
    for await (const chunk of must(response.body, 'a body')) text += Buffer.from(chunk).toString('utf8');
  };
  void reading().then(
    () => {
      isOver = true;
    },
    () => {
      isOver = true;
    },
  );
  return { text: () => text, isOver: () => isOver, close: () => abort.abort() };
}

test('one watch of a site serves all who view it, and each change is one message to each', async () => {
  owner.numbers.set('shop', 3);
  const viewers = await Promise.all(
    Array.from({ length: 12 }, () => TestSocket.open(`${url}/live/visitors/shop`, someone())),
  );
  await expect.poll(() => viewers.map(({ last }) => last), PATIENCE).toEqual(viewers.map(() => '3'));
  const [asked, watched, sent] = [owner.asked, owner.watched.length, metric('live_messages_total')];
  owner.numbers.set('shop', 4);
  await expect.poll(() => viewers.map(({ texts }) => texts), PATIENCE).toEqual(viewers.map(() => ['3', '4']));
  expect(metric('live_messages_total')).toBe(sent + 12);
  expect(owner.asked).toBe(asked);
  // On a slow machine, the watch may have been renewed just now.
  expect(owner.watched.length).toBeLessThanOrEqual(watched + 1);
  expect(metric('live_connections{kind="websocket"}')).toBe(12);
  expect(metric('live_sites')).toBe(1);
  for (const viewer of viewers) viewer.destroy();
  await expect.poll(() => metric('live_connections{kind="websocket"}')).toBe(0);
  expect(metric('live_sites')).toBe(0);
});

test('a number that changes all the time is sent four times a second, the newest each time', async () => {
  owner.numbers.set('blog', 0);
  const viewer = await TestSocket.open(`${url}/live/blog`, someone());
  const stream = await events('/live/blog/events');
  await expect.poll(() => viewer.messages.length).toBe(1);
  const changing = setInterval(() => owner.numbers.set('blog', (owner.numbers.get('blog') ?? 0) + 1), 20);
  await expect.poll(() => viewer.messages.length, PATIENCE).toBeGreaterThan(7);
  clearInterval(changing);
  const final = owner.numbers.get('blog');
  const numbers = () => viewer.texts.map((text) => liveNumberAnswer.parse(JSON.parse(text)).visitors);
  await expect.poll(() => numbers().at(-1), PATIENCE).toBe(final);
  const gapsMs = viewer.messages
    .slice(2)
    .map(({ atMs }, index) => atMs - (viewer.messages[index + 1]?.atMs ?? 0));
  // Client and server have different clocks: two messages may be read closer together than they were sent.
  const averageMs = gapsMs.reduce((sum, gap) => sum + gap, 0) / gapsMs.length;
  expect(averageMs).toBeGreaterThan(SENT_EVERY_MS * 0.9);
  expect(numbers()).toEqual([...numbers()].sort((a, b) => a - b));
  await expect
    .poll(() => [...stream.text().matchAll(/"visitors":(\d+)/g)].map(([, n]) => Number(n)))
    .toEqual(numbers());
  viewer.destroy();
  stream.close();
});

test('a site that the owners do not tell of is asked for, four times a second at most', async () => {
  owner.mode = 'answers';
  owner.numbers.set('news', 5);
  const viewers = await Promise.all(
    Array.from({ length: 5 }, () => TestSocket.open(`${url}/live/visitors/news`, someone())),
  );
  await expect.poll(() => viewers.map(({ last }) => last), PATIENCE).toEqual(viewers.map(() => '5'));
  // The sites of earlier tests are asked for until they have gone.
  await expect.poll(() => metric('live_sites'), PATIENCE).toBe(1);
  const [asked, startedAtMs] = [owner.asked, Date.now()];
  owner.numbers.set('news', 6);
  await expect.poll(() => viewers.map(({ last }) => last), PATIENCE).toEqual(viewers.map(() => '6'));
  await expect.poll(() => owner.asked, PATIENCE).toBeGreaterThan(asked + 5);
  expect(owner.asked - asked).toBeLessThanOrEqual(Math.ceil((Date.now() - startedAtMs) / SENT_EVERY_MS) + 1);
  for (const viewer of viewers) viewer.destroy();
});

test('while the owner is away nothing is sent, and a newcomer gets no number until one is known', async () => {
  owner.numbers.set('away', 9);
  const before = await TestSocket.open(`${url}/live/visitors/away`, someone());
  await expect.poll(() => before.last, PATIENCE).toBe('9');
  owner.mode = 'away';
  await expect
    .poll(async () => (await fetch(`${url}/live/away.json`, { headers: someone() })).status, PATIENCE)
    .toBe(503);
  // Longer than a number counts as fresh.
  const awaySinceMs = Date.now();
  await expect.poll(() => Date.now() - awaySinceMs, PATIENCE).toBeGreaterThan(2_100);
  const late = await TestSocket.open(`${url}/live/visitors/away`, someone());
  const stream = await events('/live/away/events');
  const badge = await fetch(`${url}/live/away.svg`, { headers: someone() });
  expect([badge.status, badge.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(await badge.text()).toContain('>–</text>');
  expect([before.texts, late.texts, stream.text()]).toEqual([['9'], [], 'retry: 3000\n\n']);
  owner.mode = 'tells';
  owner.told.clear();
  owner.numbers.set('away', 10);
  await expect.poll(() => [before.texts, late.texts], PATIENCE).toEqual([['9', '10'], ['10']]);
  await expect.poll(() => stream.text(), PATIENCE).toContain('"visitors":10');
  before.destroy();
  late.destroy();
  stream.close();
});

test('an address, an IPv6 network as one, has so many connections, and the answer to one more says when to retry', async () => {
  const network = (end: number) => ({ 'x-forwarded-for': `2001:db8:ffff:1::${end}` });
  const open = await Promise.all(
    Array.from({ length: ADDRESS_MAX - 1 }, (_, index) =>
      TestSocket.open(`${url}/live/full`, network(index + 1)),
    ),
  );
  const abort = new AbortController();
  const stream = await fetch(`${url}/live/full/events`, { headers: network(90), signal: abort.signal });
  expect(stream.status).toBe(200);
  expect(await TestSocket.connect(`${url}/live/full`, network(99))).toMatchObject({
    status: 429,
    headers: { 'retry-after': '30', 'ratelimit-remaining': '0', 'access-control-allow-origin': '*' },
  });
  expect(metric('live_rejects_total{reason="address"}')).toBe(1);
  (await TestSocket.open(`${url}/live/full`, someone())).destroy();
  abort.abort();
  await expect.poll(() => metric('live_connections{kind="events"}')).toBe(0);
  open.push(await TestSocket.open(`${url}/live/full`, network(98)));
  for (const one of open) one.destroy();
});

test('requests of strangers are limited by address', async () => {
  const { requestsMax, windowMs } = STRANGER_LIMIT;
  let got: Response[] = [];
  // A window that ended meanwhile allowed some more: then again, from another address.
  for (let endMs = 0; Date.now() >= endMs; ) {
    endMs = Math.ceil(Date.now() / windowMs) * windowMs;
    const headers = someone();
    for (got = []; got.length <= requestsMax; ) got.push(await fetch(`${url}/live/rate.json`, { headers }));
  }
  expect(got.map(({ status }) => status)).toEqual([...Array(requestsMax).fill(200), 429]);
  expect(Number(got.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('a connection ends when its client gets another secret, and so does one by a token of that client', async () => {
  await makeSite('wiki', { publicWidget: false });
  const { record, headers } = await makeClient('wiki');
  const made = await (await fetch(`${url}/insights/wiki/live/token`, { headers })).json();
  const query = `?token=${encodeURIComponent(String((made as { token: string }).token))}`;
  const byClient = await TestSocket.open(`${url}/live/wiki`, { ...headers, ...someone() });
  const byToken = await TestSocket.open(`${url}/live/wiki${query}`, someone());
  await expect.poll(() => [byClient.messages.length, byToken.messages.length], PATIENCE).toEqual([1, 1]);
  expect(await TestSocket.connect(`${url}/live/shop${query}`, someone())).toMatchObject({ status: 401 });
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const stored = await bucket.get(clientKeyOf(record.id));
  const rotated = { ...record, secretHash: hashSecret(createSecret()) };
  const rotatedAtMs = Date.now();
  await bucket.put(clientKeyOf(record.id), encodeRecord(rotated), stored?.revision ?? 0);
  await expect.poll(() => [byClient.closeCode, byToken.closeCode], PATIENCE).toEqual([4403, 4403]);
  expect(Date.now() - rotatedAtMs).toBeLessThan(2_000);
  expect(await TestSocket.connect(`${url}/live/wiki${query}`, someone())).toMatchObject({ status: 401 });
});

test('a connection ends when its site is deleted', async () => {
  const viewer = await TestSocket.open(`${url}/live/docs`, someone());
  const stream = await events('/live/docs/events');
  const times = { requestedAt: AT, purgeAt: AT, startedAt: null, finishedAt: null };
  await makeSite('docs', { deletion: { status: 'waiting', ...times, step: '', rowsRemoved: {} } });
  await expect.poll(() => [viewer.closeCode, stream.isOver()], PATIENCE).toEqual([4403, true]);
  expect((await fetch(`${url}/live/docs.json`, { headers: someone() })).status).toBe(401);
});

const HIDDEN = ' .json .json?token=x .svg .svg?color=plaid /events /embed /embed?token=x visitors';

test('a stranger cannot tell a site that is not public from one that does not exist', async () => {
  await makeSite('hidden', { publicWidget: false });
  const answersOf = async (id: string) => {
    const answers: unknown[] = [];
    for (const ending of HIDDEN.split(' ')) {
      const path = ending === 'visitors' ? `/live/visitors/${id}` : `/live/${id}${ending}`;
      const answer = await fetch(url + path, { headers: someone() });
      answers.push([ending, answer.status, await answer.text(), Object.fromEntries(answer.headers)]);
    }
    for (const path of [`/live/${id}`, `/live/${id}?token=x`, `/live/visitors/${id}`])
      answers.push(await TestSocket.connect(url + path, someone()));
    // Answers of another second have another date.
    const seen = JSON.stringify(answers, (name, value) => (name === 'date' ? ':date' : value));
    return JSON.parse(seen.replaceAll(id, ':id'));
  };
  const hidden = await answersOf('hidden');
  expect(await answersOf('nowhere')).toEqual(hidden);
  for (const [, status] of hidden.slice(0, 4)) expect(status).toBe(401);
});

test('details are pages and minutes, never countries and referrers', async () => {
  owner.numbers.set('cafe', 2);
  const plain = await (await fetch(`${url}/live/cafe.json`, { headers: someone() })).json();
  expect(Object.keys(plain as object)).toEqual(['visitors', 'at']);
  const response = await fetch(`${url}/live/cafe.json?details=true`, { headers: someone() });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  const details = await response.json();
  expect(Object.keys(details as object).sort()).toEqual(['at', 'minutes', 'pages', 'visitors']);
  expect(liveNumberAnswer.parse(details).pages).toEqual([{ path: '/a', visitors: 2 }]);
  expect(liveNumberAnswer.parse(details).minutes).toHaveLength(30);
});

test('referrers and today are for clients, and for tokens that were made for them', async () => {
  const { headers } = await makeClient('cafe');
  const ask = async (path: string, sent: Record<string, string> = {}) => {
    const response = await fetch(url + path, { headers: { ...someone(), ...sent } });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const tokenFor = async (query: string) =>
    String((await ask(`/insights/cafe/live/token${query}`, headers)).body.token);
  const [plain, whole] = [await tokenFor(''), await tokenFor('?wall=true')];
  const referrers = [{ referrer: 'Google', visitors: 2 }];
  const asked = '/live/cafe.json?details=true';
  expect((await ask(asked, headers)).body).toMatchObject({ referrers });
  expect((await ask(`${asked}&token=${whole}`)).body).toMatchObject({ referrers });
  expect((await ask(`${asked}&token=${plain}`)).body).not.toHaveProperty('referrers');
  expect((await ask(asked)).body).not.toHaveProperty('referrers');
  const today = '/live/cafe.json?today=true';
  for (const known of [ask(today, headers), ask(`${today}&token=${whole}`)])
    expect((await known).status).toBe(503);
  const rejected = await ask(`${today}&token=${plain}`);
  expect([rejected.status, rejected.body]).toMatchObject([403, { message: /^today: not public/ }]);
  expect((await ask(today)).status).toBe(403);
  const page = async (query: string) =>
    (await fetch(`${url}/live/cafe/embed?look=wall${query}`, { headers: someone() })).text();
  for (const query of ['', `&token=${plain}`]) expect(await page(query)).toContain('data-whole="false"');
  expect(await page(`&token=${whole}`)).toContain('data-whole="true"');
});

test.each(['', '.json', '/events', '.svg', '/embed'])(
  'the query string of /live/{site}%s is short, which is checked before it is read',
  async (ending) => {
    for (const query of [`label=${'a'.repeat(60_000)}`, '&a'.repeat(30_000), `color=${'f'.repeat(4_091)}`]) {
      const answer = await fetch(`${url}/live/cafe${ending}?${query}`, { headers: someone() });
      expect(`${answer.status} ${await answer.text()}`).toMatch(
        /^400 .*query: expected at most 4096 characters/,
      );
    }
  },
);

test('what is no parameter is rejected by name, and a preflight allows the client headers', async () => {
  const rejected = await fetch(`${url}/live/cafe.json?details=perhaps`, { headers: someone() });
  expect([rejected.status, await rejected.json()]).toMatchObject([400, { message: /^details: / }]);
  const preflight = await fetch(`${url}/live/cafe/events`, { method: 'OPTIONS' });
  expect([preflight.status, preflight.headers.get('access-control-max-age')]).toEqual([204, '86400']);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('service-client-secret');
});
