import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.ts';
import {
  type Answered,
  BROWSER,
  eventually,
  PAGE_ORIGIN,
  SiteOfCluster,
} from '../cluster/site-of-cluster.ts';

const SITE = 'demo';
let cluster: Cluster;
let web: SiteOfCluster;
let api: SiteOfCluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], api: ['ingest'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
  });
  await cluster.ready('web');
  web = new SiteOfCluster(cluster, 'web');
  api = new SiteOfCluster(cluster, 'api');
  await web.change({ cors: [PAGE_ORIGIN], allowUnsafeRevenue: true });
});

afterAll(() => cluster?.stop());

const idsOf = ({ status, body }: Answered) => ({
  status,
  deviceId: body.deviceId,
  sessionId: body.sessionId,
});

function view(site: SiteOfCluster, deviceId: string): Promise<Answered> {
  return site.send('track', { name: 'screen_view', properties: { __deviceId: deviceId, __path: '/' } });
}

function pay(site: SiteOfCluster, deviceId: string, more: object = {}): Promise<Answered> {
  const { profileId, ...properties } = more as { profileId?: string };
  const named = profileId === undefined ? {} : { profileId };
  const payload = { name: 'revenue', ...named };
  return site.send('track', {
    ...payload,
    properties: { __deviceId: deviceId, __amount: 5, ...properties },
  });
}

async function metricsOf(): Promise<Readonly<Record<string, number>>> {
  const { body } = await web.ask(`/insights/${SITE}/metrics?range=today`);
  return body.metrics as Readonly<Record<string, number>>;
}

test('a payment for a device never seen counts as revenue, and opens no session', async () => {
  await view(web, 'visitor');
  const counted = await eventually('the visit', async () => {
    const metrics = await metricsOf();
    return metrics.total_sessions === 1 ? metrics : undefined;
  });
  expect(counted).toMatchObject({ bounce_rate: 100, unique_visitors: 1, total_revenue: 0 });
  const anonymous = await pay(api, 'stranger');
  expect(idsOf(anonymous)).toEqual({ status: 200, deviceId: 'stranger', sessionId: '' });
  const order = await pay(web, 'stranger', { __orderId: 'unseen', profileId: 'payer' });
  expect(idsOf(order)).toEqual({ status: 200, deviceId: 'stranger', sessionId: '' });
  const agent = { 'user-agent': `${BROWSER} of a stranger` };
  const page = await web.browse('track', { name: 'revenue', properties: { __amount: 5 } }, agent);
  expect(page.body).toMatchObject({ deviceId: expect.stringMatching(/^[0-9a-f]{32}$/), sessionId: '' });
  const events = await web.eventsOnceThere('event=revenue', 3);
  expect(events.map(({ sessionId, revenue }) => [sessionId, revenue])).toEqual(Array(3).fill(['', 5]));
  expect(new Set(events.map(({ profileId }) => profileId))).toEqual(new Set(['', 'payer']));
  expect(await web.events('event=session_start')).toHaveLength(1);
  expect(await metricsOf()).toMatchObject({ total_sessions: 1, bounce_rate: 100, total_revenue: 15 });
  // From now on the device is known, and its latest session is credited.
  const { body } = await view(web, 'stranger');
  expect(idsOf(await pay(api, 'stranger'))).toEqual({
    status: 200,
    deviceId: 'stranger',
    sessionId: body.sessionId,
  });
});

test('a screen view and a payment of one batch share a session', async () => {
  const properties = { __deviceId: 'batched' };
  const items = ['screen_view', 'revenue'].map((name) => ({
    type: 'track',
    payload: { name, properties: name === 'revenue' ? { ...properties, __amount: 1 } : properties },
  }));
  expect((await web.post('/track/batch', items, web.secret)).body).toMatchObject({ accepted: 2 });
  const events = await eventually('both events', async () => {
    const all = await web.events('');
    const found = all.filter(({ deviceId, name }) => deviceId === 'batched' && !name.startsWith('session_'));
    return found.length === 2 ? found : undefined;
  });
  const [first, second] = events.map(({ sessionId }) => sessionId);
  expect(first).toBe(second);
  expect(first).not.toBe('');
});

test('a repeated order is answered as the first one was: on another node, at once, and after restarts', async () => {
  const { body } = await view(web, 'buyer');
  const first = { status: 200, deviceId: 'buyer', sessionId: body.sessionId };
  expect(idsOf(await pay(web, 'buyer', { __orderId: 'o-1' }))).toEqual(first);
  await view(api, 'elsewhere');
  for (const [site, device] of [
    [web, 'buyer'],
    [api, 'elsewhere'],
    [web, 'never seen'],
  ] as const) {
    expect(idsOf(await pay(site, device, { __orderId: 'o-1' }))).toEqual(first);
  }
  await cluster.process('processor').kill();
  await cluster.process('processor').start();
  await cluster.process('web').kill();
  await cluster.process('web').start();
  await cluster.ready('web');
  await eventually('the owner', async () => (await web.events('event=revenue')).length || undefined);
  expect(idsOf(await pay(web, 'elsewhere', { __orderId: 'o-1' }))).toEqual(first);
  await web.eventsOnceThere('event=revenue', 1, 'buyer');
});

test('orders of one id at once are all answered as the one that counts is stored', async () => {
  const devices = Array.from({ length: 8 }, (_, index) => `racer-${index}`);
  await Promise.all(devices.map((device, index) => view(index % 2 === 0 ? web : api, device)));
  const answers = await Promise.all(
    devices.map((device, index) => pay(index % 2 === 0 ? api : web, device, { __orderId: 'race' })),
  );
  const [stored] = await eventually('the order', async () => {
    const found = (await web.events('event=revenue')).filter(({ orderId }) => orderId === 'race');
    return found.length > 0 ? found : undefined;
  });
  const counted = { status: 200, deviceId: stored?.deviceId, sessionId: stored?.sessionId };
  expect(answers.map(idsOf)).toEqual(devices.map(() => counted));
});
