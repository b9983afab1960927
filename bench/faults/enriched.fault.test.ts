import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { Cluster } from '../cluster/cluster.ts';
import { BROWSER, eventually, PAGE_ORIGIN, SiteOfCluster } from '../cluster/site-of-cluster.ts';

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

describe('revenue', () => {
  test('amounts are exact in every currency, by either property', async () => {
    const deviceId = site.freshDevice();
    const claims = [
      { __amount: 0.1 + 0.2, __currency: 'EUR' },
      { __amount: '1234567.89', __currency: 'usd' },
      { __amount: 500, __currency: 'JPY' },
      { __amount: 1.2345, __currency: 'KWD' },
      { __revenue: 1999 },
    ];
    for (const claim of claims)
      expect(
        (await site.send('track', { name: 'revenue', properties: { ...claim, __deviceId: deviceId } }))
          .status,
      ).toBe(200);
    const events = await eventually('five events', async () => {
      const found = (await site.events('event=revenue')).filter((event) => event.deviceId === deviceId);
      return found.length === 5 ? found : undefined;
    });
    const amounts = events.map(({ currency, revenue }) => `${revenue} ${currency}`).sort();
    expect(amounts).toEqual(['0.3 EUR', '1.235 KWD', '1234567.89 USD', '19.99 USD', '500 JPY']);
    expect(events.every(({ properties }) => Object.keys(properties as object).length === 0)).toBe(true);
  });

  test('an order counts once, its refunds never exceed it, and an early refund waits for it', async () => {
    const deviceId = site.freshDevice();
    const order = (properties: object) =>
      site.send('track', {
        name: 'revenue',
        properties: { __currency: 'CHF', __deviceId: deviceId, ...properties },
      });
    await order({ __orderId: 'o-1', __refund: true, __amount: 10 });
    await order({ __orderId: 'o-1', __amount: 100 });
    await order({ __orderId: 'o-1', __amount: 100 });
    await order({ __orderId: 'o-1', __refund: true, __amount: 500 });
    await order({ __orderId: 'o-1', __refund: true });
    await order({ __orderId: 'o-2', __amount: 40 });
    await order({ __orderId: 'o-2', __refund: true });
    await order({ __orderId: 'o-2', __refund: true, __amount: 1 });
    const events = await eventually('five events', async () => {
      const found = (await site.events('event=revenue')).filter((event) => event.deviceId === deviceId);
      return found.length === 5 ? found : undefined;
    });
    const amounts = events.map(({ orderId, revenue }) => `${orderId} ${revenue}`).sort();
    expect(amounts).toEqual(['o-1 -10', 'o-1 -90', 'o-1 100', 'o-2 -40', 'o-2 40']);
    const { body } = await site.ask(`/insights/${SITE}/metrics?range=today`);
    expect((body.metrics as { revenue_by_currency: object }).revenue_by_currency).not.toHaveProperty('CHF');
  });

  test('revenue is credited to the session that runs, and else to the latest one, though it ended', async () => {
    const deviceId = site.freshDevice();
    const at = (hoursAgo: number) => new Date(Date.now() - hoursAgo * HOUR_MS).toISOString();
    const view = (hoursAgo: number) =>
      site.send('track', {
        name: 'screen_view',
        properties: { __deviceId: deviceId, __path: '/', __timestamp: at(hoursAgo) },
      });
    const pay = (hoursAgo: number, orderId: string) => {
      const properties = { __deviceId: deviceId, __amount: 5, __orderId: orderId, __timestamp: at(hoursAgo) };
      return site.send('track', { name: 'revenue', properties });
    };
    const early = String((await view(30)).body.sessionId);
    const late = String((await view(4)).body.sessionId);
    expect(late).not.toBe(early);
    expect((await pay(1, 'late')).body.sessionId).toBe(late);
    expect((await pay(29.9, 'within')).body.sessionId).toBe(early);
    expect((await pay(10, 'between')).body.sessionId).toBe(early);
    const events = await eventually('three events', async () => {
      const found = (await site.events('event=revenue')).filter((event) => event.deviceId === deviceId);
      return found.length === 3 ? found : undefined;
    });
    expect(Object.fromEntries(events.map(({ orderId, sessionId }) => [orderId, sessionId]))).toEqual({
      late,
      within: early,
      between: early,
    });
  });

  test('a browser may send revenue only where the site allows it', async () => {
    const payload = { name: 'revenue', properties: { __amount: 1 } };
    const { status, body } = await site.browse('track', payload);
    expect([status, body.message]).toEqual([401, expect.stringContaining('service-client-secret')]);
    await site.change({ allowUnsafeRevenue: true });
    await eventually('permission', async () =>
      (await site.browse('track', payload)).status === 200 ? true : undefined,
    );
    await site.change({ allowUnsafeRevenue: false });
  });
});

describe('what an event says of its visitor', () => {
  test('place, software, referrer, campaign and channel are derived, the address is gone', async () => {
    const { id, secret } = cluster.credentials.clients.write;
    const headers = {
      'service-client-id': id,
      'service-client-secret': secret,
      'service-client-ip': '8.8.8.8',
      'user-agent': BROWSER,
      'service-sdk-name': 'test',
      'service-sdk-version': '1.0.0',
    };
    const properties = {
      __path: 'https://shop.example/pricing?utm_medium=cpc&utm_source=google#top',
      __referrer: 'https://www.google.com/',
      __title: 'Pricing',
      __language: 'de_AT',
      __timezone: 'Asia/Calcutta',
      __screen: '1366X768',
    };
    const { status } = await site.post(
      '/track',
      { type: 'track', payload: { name: 'enriched', properties } },
      headers,
    );
    expect(status).toBe(200);
    const event = await eventually('the event', async () => (await site.events('event=enriched'))[0]);
    expect(event).toMatchObject({
      country: 'US',
      browser: 'Chrome',
      os: 'Windows',
      device: 'desktop',
      path: '/pricing',
      title: 'Pricing',
      referrerName: 'Google',
      referrerType: 'search',
      utmSource: 'google',
      utmMedium: 'cpc',
      channel: 'Paid Search',
      sdkName: 'test',
      language: 'de-AT',
      timezone: 'Asia/Kolkata',
      screen: '1366x768',
    });
    expect(JSON.stringify(event)).not.toContain('8.8.8.8');
  });

  test('a forged header without trust changes nothing', async () => {
    const forged = {
      'x-forwarded-for': '8.8.8.8',
      'cf-connecting-ip': '8.8.8.8',
      'service-client-ip': '8.8.8.8',
    };
    const plain = await site.browse('track', { name: 'forged', properties: { __ip: '8.8.8.8' } });
    const sent = await site.browse('track', { name: 'forged' }, forged);
    expect(sent.body.deviceId).toBe(plain.body.deviceId);
    const events = await eventually('two events', async () => {
      const found = await site.events('event=forged');
      return found.length === 2 ? found : undefined;
    });
    expect(events.map(({ country }) => country)).toEqual(['', '']);
  });
});

describe('what is asked about it', () => {
  const dimensions =
    `referrer referrer_name referrer_type utm_source utm_medium utm_campaign utm_term utm_content
    country region city device brand model browser browser_version os os_version channel
    language timezone screen`.split(/\s+/);
  const others = [
    'pages',
    'pages/entry_exit?mode=exit',
    'traffic/geo',
    'traffic/devices',
    'traffic/referrers',
  ];
  const lists = [
    'events',
    'events/names',
    'events/properties',
    'events/property_values?property=plan',
    'sessions',
  ];
  test.each([...dimensions, ...others, ...lists, 'active_users'])(
    'GET /insights/…/%s is a list',
    async (path) => {
      const { status, body } = await site.ask(`/insights/${SITE}/${path}`);
      expect([status, Array.isArray(body)]).toEqual([200, true]);
    },
  );

  test('visits are broken down and filtered by language, time zone and screen', async () => {
    const locale = { __language: 'fr-CA', __timezone: 'America/Toronto', __screen: '2560x1440' };
    const deviceId = site.freshDevice();
    const view = { __deviceId: deviceId, __path: 'https://shop.example/fr', ...locale };
    await site.send('track', { name: 'screen_view', properties: view });
    const filters = encodeURIComponent(
      JSON.stringify([
        { name: 'language', operator: 'startsWith', value: ['fr'] },
        { name: 'timezone', operator: 'is', value: ['America/Toronto'] },
        { name: 'screen', operator: 'is', value: ['2560x1440'] },
      ]),
    );
    const paths = ['language', 'timezone', 'screen', 'traffic/devices?breakdown=screen'];
    const found = await eventually('the visit in every breakdown', async () => {
      const answers = [];
      for (const path of paths) {
        const query = `range=today&filters=${filters}`;
        const { body } = await site.ask(`/insights/${SITE}/${path}${path.includes('?') ? '&' : '?'}${query}`);
        answers.push((body as unknown as readonly { name: string }[]).map(({ name }) => name));
      }
      return answers.every(({ length }) => length === 1) ? answers : undefined;
    });
    expect(found).toEqual([['fr-CA'], ['America/Toronto'], ['2560x1440'], ['2560x1440']]);
    const { body } = await site.ask(`/insights/${SITE}/sessions?range=today&filters=${filters}`);
    expect(body).toMatchObject([
      { deviceId, language: 'fr-CA', timezone: 'America/Toronto', screen: '2560x1440' },
    ]);
  });

  test('the breakdowns hold what was sent, and an export can be filtered by it', async () => {
    await site.browse('track', { name: 'screen_view', properties: { __path: 'https://shop.example/seen' } });
    const browsers = await eventually('the browser', async () => {
      const { body } = await site.ask(`/insights/${SITE}/browser?range=today`);
      const rows = body as unknown as readonly { name: string; sessions: number }[];
      return rows.some(({ name }) => name === 'Chrome') ? rows : undefined;
    });
    expect(browsers.find(({ name }) => name === 'Chrome')?.sessions).toBeGreaterThan(0);
    const filters = encodeURIComponent(JSON.stringify([{ name: 'path', operator: 'is', value: ['/seen'] }]));
    await eventually('the view', async () => {
      const found = await site.events(`filters=${filters}`);
      return found.some(({ name }) => name === 'screen_view') ? found : undefined;
    });
    const { status, body } = await site.ask(
      `/export/events?filters=${encodeURIComponent('[{"name":"nope"}]')}`,
    );
    expect([status, body.message]).toEqual([400, expect.stringContaining('filters.0')]);
  });
});
