import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { Cluster } from '../cluster/cluster.ts';
import {
  type Answered,
  type Exported,
  eventually,
  PAGE_ORIGIN,
  type Profile,
  SiteOfCluster,
} from '../cluster/site-of-cluster.ts';

const SITE = 'demo';
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
  await site.change({ cors: [PAGE_ORIGIN] });
});

afterAll(() => cluster?.stop());

async function profile(id: string): Promise<Profile> {
  const { status, body } = await site.askProfile(id);
  expect(status).toBe(200);
  return body as Profile;
}

describe('profiles and groups', () => {
  test('identify, increment, decrement and assign_group make one profile, readable at once', async () => {
    const names = {
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@example.org',
      avatar: 'https://a.example/1',
    };
    const properties = { plan: 'pro', address: { city: 'London' }, seats: 3, __referrer: 'x' };
    expect((await site.send('identify', { profileId: 7, ...names, properties })).status).toBe(200);
    expect((await site.send('increment', { profileId: 7, property: 'seats', value: 0.1 })).status).toBe(200);
    expect((await site.send('increment', { profileId: '7', property: 'seats', value: 0.2 })).status).toBe(
      200,
    );
    expect((await site.send('decrement', { profileId: 7, property: 'stats.points' })).status).toBe(200);
    expect((await site.send('assign_group', { profileId: 7, groupIds: ['acme', 'beta'] })).status).toBe(200);
    expect((await site.send('assign_group', { profileId: 7, groupIds: ['acme'] })).status).toBe(200);
    expect(
      (await site.send('identify', { profileId: 7, firstName: 'Augusta', properties: { plan: 'team' } }))
        .status,
    ).toBe(200);
    expect(await profile('7')).toMatchObject({
      id: '7',
      firstName: 'Augusta',
      lastName: 'Lovelace',
      email: 'ada@example.org',
      groups: ['acme', 'beta'],
      properties: { plan: 'team', 'address.city': 'London', seats: '3.3', 'stats.points': '-1' },
    });
  });

  test('a step on something that is no number is 400 and changes nothing', async () => {
    await site.send('identify', {
      profileId: 'text',
      properties: { plan: 'pro', address: { city: 'Rome' } },
    });
    for (const property of ['plan', 'address', 'address.city']) {
      const { status, body } = await site.send('increment', { profileId: 'text', property });
      expect([status, body.message]).toEqual([400, expect.stringContaining('payload.property')]);
    }
    expect((await profile('text')).properties).toEqual({ plan: 'pro', 'address.city': 'Rome' });
  });

  test('an unknown profile is 404, one that only events name is known by them', async () => {
    expect((await site.askProfile('nobody')).status).toBe(404);
    await site.send('track', {
      name: 'signup',
      profileId: 'only-events',
      properties: { __deviceId: site.freshDevice() },
    });
    const known = await eventually('the event', async () => {
      const { status, body } = await site.askProfile('only-events');
      return status === 200 ? body : undefined;
    });
    expect(known).toMatchObject({ firstName: '', createdAt: null });
    expect((known.events as readonly Exported[]).map(({ name }) => name)).toContain('signup');
  });

  test('groups are kept, and merge', async () => {
    await site.send('group', {
      id: 'acme',
      type: 'company',
      name: 'Acme',
      properties: { seats: 5, plan: 'pro' },
    });
    await site.send('group', { id: 'acme', type: 'company', name: 'Acme Inc.', properties: { seats: 6 } });
    const { body } = await site.ask(`/insights/${SITE}/groups/acme`);
    expect(body).toMatchObject({
      name: 'Acme Inc.',
      type: 'company',
      properties: { seats: '6', plan: 'pro' },
    });
    expect((await site.ask(`/insights/${SITE}/groups/unknown`)).status).toBe(404);
  });

  test('assign_group without a profile means the device, and needs one', async () => {
    const { body } = await site.browse('assign_group', { groupIds: ['visitors'] });
    expect(String(body.deviceId)).toMatch(/^[0-9a-f]{32}$/);
    expect(String(body.sessionId)).toMatch(/^[0-9a-f]{32}$/);
    expect(await profile(String(body.deviceId))).toMatchObject({ groups: ['visitors'] });
    const rejected = await site.send('assign_group', { groupIds: ['visitors'] });
    expect([rejected.status, rejected.body.message]).toEqual([
      400,
      expect.stringContaining('payload.profileId'),
    ]);
  });

  test('what an alias does counts as the profile from then on', async () => {
    const deviceId = site.freshDevice();
    await site.send('track', { name: 'before', profileId: 'anon-1', properties: { __deviceId: deviceId } });
    expect((await site.send('alias', { profileId: 'grace', alias: 'anon-1' })).status).toBe(200);
    await site.send('track', { name: 'after', profileId: 'anon-1', properties: { __deviceId: deviceId } });
    await site.send('increment', { profileId: 'anon-1', property: 'visits' });
    expect((await site.send('alias', { profileId: 'anon-1', alias: 'grace' })).status).toBe(400);
    const events = await eventually('both events', async () => {
      const found = await site.events('event=before&event=after');
      return found.length === 2 ? found : undefined;
    });
    expect(Object.fromEntries(events.map(({ name, profileId }) => [name, profileId]))).toEqual({
      before: 'anon-1',
      after: 'grace',
    });
    expect((await profile('grace')).properties).toEqual({ visits: '1' });
  });

  test('an idempotency key makes a step count once', async () => {
    const step = { profileId: 'once', property: 'visits' };
    const answers = [];
    for (let time = 0; time < 3; time += 1)
      answers.push(await site.send('increment', step, { 'idempotency-key': 'k-1' }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await profile('once')).properties).toEqual({ visits: '1' });
  });
});

describe('what is not recorded', () => {
  test('a bot is answered 202 and counted by name; a sender with a secret is no bot', async () => {
    const crawler = {
      'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
    };
    const { status, body } = await site.browse('track', { name: 'crawled' }, crawler);
    expect([status, body]).toEqual([202, { bot: { name: 'Googlebot', type: 'search' } }]);
    expect((await site.send('track', { name: 'crawled-for' }, crawler)).status).toBe(200);
    const rows = await eventually('the tally', async () => {
      const answer = await site.ask(`/insights/${SITE}/excluded?range=last24h`);
      const found = answer.body as unknown as readonly { name: string }[];
      return found.some(({ name }) => name === 'Googlebot') ? found : undefined;
    });
    expect(rows).toContainEqual({ reason: 'bot', type: 'search', name: 'Googlebot', requests: 1 });
    expect(await site.events('event=crawled')).toEqual([]);
  });

  test("a site's filters answer 202 and leave nothing", async () => {
    await site.change({
      filters: { addresses: ['127.0.0.1'], profileIds: ['boss'], names: ['debug'], paths: ['/admin*'] },
    });
    const filtered = [202, { filtered: true }];
    const outcome = async (answer: Promise<Answered>) => {
      const { status, body } = await answer;
      return [status, body];
    };
    await eventually('the filters', async () =>
      (await site.send('track', { name: 'debug' })).status === 202 ? true : undefined,
    );
    expect(await outcome(site.browse('track', { name: 'seen' }))).toEqual(filtered);
    expect(await outcome(site.send('track', { name: 'seen', profileId: 'boss' }))).toEqual(filtered);
    expect(await outcome(site.send('identify', { profileId: 'boss', firstName: 'B' }))).toEqual(filtered);
    expect(await outcome(site.send('track', { name: 'seen', properties: { __path: '/admin/x' } }))).toEqual(
      filtered,
    );
    expect((await site.send('track', { name: 'kept', properties: { __path: '/' } })).status).toBe(200);
    await site.change({ filters: { addresses: [], profileIds: [], names: [], paths: [] } });
    await eventually('no filters', async () =>
      (await site.browse('track', { name: 'open' })).status === 200 ? true : undefined,
    );
    expect(await site.events('event=seen')).toEqual([]);
  });
});

describe('POST /track/batch', () => {
  test('good bodies count, bad ones are named by their place', async () => {
    const headers = site.secret;
    const deviceId = site.freshDevice();
    const imported = (hours: number, eventId: string) => ({
      type: 'track',
      payload: {
        name: 'imported',
        eventId,
        properties: {
          __deviceId: deviceId,
          __timestamp: new Date(Date.now() - hours * HOUR_MS).toISOString(),
        },
      },
    });
    const { status, body } = await site.post(
      '/track/batch',
      [
        imported(2000, 'a'),
        { type: 'track', payload: { name: '' } },
        imported(1000, 'b'),
        imported(1000, 'b'),
        7,
        { type: 'identify', payload: { profileId: 'batched', properties: { visits: 4 } } },
        { type: 'increment', payload: { profileId: 'batched', property: 'visits', value: 2 } },
      ],
      headers,
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      accepted: 5,
      rejected: [
        { index: 1, status: 400, message: expect.stringContaining('payload.name') },
        { index: 4, status: 400, message: expect.stringContaining('body') },
      ],
    });
    const events = await eventually('both events', async () => {
      const found = await site.events('event=imported');
      return found.length >= 2 ? found : undefined;
    });
    expect(events).toHaveLength(2);
    expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(2);
    expect((await profile('batched')).properties).toEqual({ visits: '6' });
  });

  test('a batch of a client that may not send is rejected as a whole', async () => {
    const { id } = cluster.credentials.clients.write;
    const wrong = { 'service-client-id': id, 'service-client-secret': `sec_${'0'.repeat(40)}` };
    expect((await site.post('/track/batch', [{ type: 'track', payload: { name: 'a' } }], wrong)).status).toBe(
      401,
    );
    // The head is checked before the body.
    expect((await site.post('/track/batch', [], wrong)).status).toBe(401);
    expect((await site.post('/track/batch', [], {})).status).toBe(400);
  });
});

// This test runs last, because it stops the store.
test('while the store is away, everything is taken, and who was touched lately is readable', async () => {
  await site.send('identify', { profileId: 'touched', firstName: 'Ada' });
  await eventually('the profile', async () =>
    (await site.askProfile('touched')).status === 200 ? true : undefined,
  );
  await cluster.kill('store');
  expect((await site.send('increment', { profileId: 'touched', property: 'visits' })).status).toBe(200);
  expect((await site.send('identify', { profileId: 'unheard-of', firstName: 'Grace' })).status).toBe(200);
  const partial = await eventually('both profiles from memory', async () => {
    const [touched, unheard] = await Promise.all([site.askProfile('touched'), site.askProfile('unheard-of')]);
    return touched.status === 200 && unheard.status === 200 ? { touched, unheard } : undefined;
  });
  expect(partial.touched.body).toMatchObject({ firstName: 'Ada', partial: true });
  expect(partial.unheard.body).toMatchObject({ firstName: 'Grace', partial: true });
  await cluster.restart('store');
  const whole = await eventually('the profile from the store', async () => {
    const { status, body } = await site.askProfile('touched');
    return status === 200 && !('partial' in body) ? body : undefined;
  });
  expect(whole).toMatchObject({ firstName: 'Ada', properties: { visits: '1' } });
});
