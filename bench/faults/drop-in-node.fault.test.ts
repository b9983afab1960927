import { OpenPanel } from '@openpanel/sdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../cluster/cluster.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';

let cluster: Cluster;
let site: SiteOfCluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
});

afterAll(() => cluster?.stop());

/** The published package as a backend uses it; only its address is ours. */
function sdk(): OpenPanel {
  const { id, secret } = cluster.credentials.clients.write;
  return new OpenPanel({ clientId: id, clientSecret: secret, apiUrl: cluster.url('web') });
}

test('the published package sends events, profiles, groups and revenue from Node', async () => {
  const op = sdk();
  op.setGlobalProperties({ plan: 'pro' });
  expect(await op.track('signup', { source: 'newsletter', nested: { a: 1 } })).toEqual({
    deviceId: '',
    sessionId: '',
  });
  await op.identify({
    profileId: 'user-1',
    firstName: 'Ada',
    email: 'ada@example.org',
    properties: { tier: 'gold' },
  });
  await op.increment({ profileId: 'user-1', property: 'logins', value: 2 });
  await op.decrement({ profileId: 'user-1', property: 'logins' });
  await op.upsertGroup({ id: 'acme', type: 'company', name: 'Acme', properties: { seats: 5 } });
  await op.setGroup('acme');
  await op.track('invited', { groups: ['acme'] });
  const visit = await op.track('screen_view', { __deviceId: 'visitor-1', __path: '/book' });
  await op.revenue(1999, { deviceId: 'visitor-1', product: 'book' });

  const [signup] = await site.eventsOnceThere('event=signup', 1);
  expect(signup).toMatchObject({
    sessionId: '',
    device: 'server',
    properties: { plan: 'pro', source: 'newsletter', 'nested.a': '1' },
    sdkName: 'node',
  });
  const [invited] = await site.eventsOnceThere('event=invited', 1);
  expect(invited).toMatchObject({ profileId: 'user-1', groups: ['acme'] });
  const [revenue] = await site.eventsOnceThere('event=revenue', 1);
  expect(revenue).toMatchObject({ deviceId: 'visitor-1', revenue: 19.99, currency: 'USD' });
  expect(visit).toEqual({ deviceId: 'visitor-1', sessionId: expect.stringMatching(/^[0-9a-f]{32}$/) });
  expect(revenue?.sessionId).toBe((visit as { sessionId: string }).sessionId);
  const { body: profile } = await site.askProfile('user-1');
  expect(profile).toMatchObject({
    firstName: 'Ada',
    email: 'ada@example.org',
    groups: ['acme'],
    properties: { tier: 'gold', plan: 'pro', logins: '1' },
  });
  const { body: group } = await site.ask('/insights/demo/groups/acme');
  expect(group).toMatchObject({ type: 'company', name: 'Acme', properties: { seats: '5' } });
});

test('what the package retains until a profile is known arrives with the profile and its own time', async () => {
  const { id, secret } = cluster.credentials.clients.write;
  const op = new OpenPanel({
    clientId: id,
    clientSecret: secret,
    apiUrl: cluster.url('web'),
    waitForProfile: true,
  });
  const beforeMs = Date.now();
  await op.track('early', {});
  expect(op.queue).toHaveLength(1);
  await op.identify({ profileId: 'user-2', firstName: 'Grace' });
  const [early] = await site.eventsOnceThere('event=early', 1);
  expect(early?.profileId).toBe('user-2');
  expect(Date.parse(String(early?.createdAt))).toBeGreaterThanOrEqual(beforeMs);
});
