import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { MINOR_UNITS_MAX, majorUnits, STORED_SUM_MAX } from '../../infra/money.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { admin, startAdminOf } from './admin-command.ts';

// Valid events of one client cannot stop a lane or make a figure wrap: the sums have bounds.

const WAIT_MAX_MS = 60_000;
const ROLLUP_MAX_MS = 120_000;
const CURRENCY = 'USD';
/** The largest amount of one event, as a client sends it. */
const LARGEST = `${MINOR_UNITS_MAX / 100n}.${MINOR_UNITS_MAX % 100n}`;
/** Payments of the largest amount that 64 bits hold, and the fewest that they do not. */
const HELD = Number(STORED_SUM_MAX / MINOR_UNITS_MAX);
const TOO_MANY = 1_025;

let cluster: Cluster;
let site: SiteOfCluster;
const startedAtMs = Date.now();
/** Days that are finalized, each with a visit whose payments 64 bits hold. */
const PAST = [3, 4, 5].map((days) => Math.floor(startedAtMs / DAY_MS) * DAY_MS - days * DAY_MS + HOUR_MS);

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: {
      FLUSH_INTERVAL_MS: '150',
      ROLLUP_INTERVAL_MS: '200',
      LOG_LEVEL: 'warn',
      QUERY_LIMIT_PER_10_S: '0',
    },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
});

afterAll(() => cluster?.stop());

/** A screen view, and this number of payments of the largest amount in its session. */
async function pay(device: string, payments: number, atMs: number): Promise<void> {
  const properties = {
    ...{ __deviceId: device, __path: `https://shop.example/${device}`, __country: 'DE' },
    __timestamp: new Date(atMs).toISOString(),
  };
  const view = { type: 'track', payload: { name: 'screen_view', profileId: 'payer', properties } };
  const payment = {
    type: 'track',
    payload: {
      name: 'revenue',
      profileId: 'payer',
      properties: { ...properties, __amount: LARGEST, __currency: CURRENCY },
    },
  };
  for (const bodies of [[view], Array.from({ length: payments }, () => payment)]) {
    const { body } = await site.post('/track/batch', bodies, site.secret);
    expect(body).toMatchObject({ accepted: bodies.length, rejected: [] });
  }
}

const failures = () => cluster.metric('processor', 'footfall_processor_lane_failures_total');

async function paymentsThere(count: number): Promise<void> {
  await waitFor(
    `${count} payments in the store`,
    async () => {
      const { rows } = await storedPayments();
      return rows === count || (await failures()) > 0;
    },
    WAIT_MAX_MS,
  );
  expect(await failures()).toBe(0);
}

/** From the table itself: nothing that is still in memory counts. */
async function storedPayments(): Promise<{ readonly rows: number }> {
  const store = cluster.openStore();
  try {
    const query = "SELECT count() AS rows FROM events WHERE name = 'revenue'";
    const answer = await store.query({ query, format: 'JSONEachRow' });
    const [found] = await answer.json<{ rows: string }>();
    return { rows: Number(found?.rows) };
  } finally {
    await store.close();
  }
}

async function ask(path: string, parameters: Readonly<Record<string, string>> = {}) {
  const { status, body } = await site.ask(`${path}?${new URLSearchParams(parameters)}`);
  expect([path, status, body]).toEqual([path, 200, expect.anything()]);
  return body as unknown;
}

const insight = (name: string, parameters: Readonly<Record<string, string>> = {}) =>
  ask(`/insights/demo/${name}`, parameters);
const earned = (payments: number) => majorUnits(BigInt(payments) * MINOR_UNITS_MAX, CURRENCY);

test('1,025 payments of the largest amount in one session are flushed, and the next visitor counts', async () => {
  await pay('one-session', TOO_MANY, startedAtMs - 60_000);
  await paymentsThere(TOO_MANY);
  const range = {
    startDate: new Date(startedAtMs - 600_000).toISOString(),
    endDate: new Date(startedAtMs + DAY_MS).toISOString(),
  };
  expect(await insight('metrics', range)).toMatchObject({ metrics: { total_revenue: earned(TOO_MANY) } });
  expect(await insight('sessions', range)).toMatchObject([{ revenue: majorUnits(STORED_SUM_MAX, CURRENCY) }]);
  const saturated = await cluster.metric('processor', 'footfall_processor_saturated_sums_total');
  expect(saturated).toBe(TOO_MANY - HELD);
});

test('three sessions whose revenue 64 bits hold add up to more than that in every figure, from rows and rollups', async () => {
  const before = (await storedPayments()).rows;
  for (const [place, atMs] of PAST.entries()) await pay(`day-${place}`, HELD, atMs);
  await paymentsThere(before + PAST.length * HELD);
  const total = earned(PAST.length * HELD);
  const range = {
    startDate: new Date(Math.min(...PAST) - DAY_MS).toISOString(),
    endDate: new Date(Math.max(...PAST) + DAY_MS).toISOString(),
  };
  const expectFigures = async () => {
    const metrics = { total_revenue: total, revenue_by_currency: { [CURRENCY]: total } };
    expect(await insight('metrics', range)).toMatchObject({ metrics });
    const filtered = {
      ...range,
      filters: JSON.stringify([{ name: 'device', operator: 'isNot', value: ['tv'] }]),
    };
    expect(await insight('metrics', filtered)).toMatchObject({ metrics });
    for (const parameters of [range, filtered]) {
      for (const list of ['device', 'browser', 'referrer_name'])
        expect([list, await insight(list, parameters)]).toMatchObject([list, [{ revenue: total }]]);
      const pages = (await insight('pages', parameters)) as { revenue: number }[];
      expect(pages.map(({ revenue }) => revenue)).toEqual(PAST.map(() => earned(HELD)));
    }
    const series = [{ name: 'revenue', segment: 'property_sum', property: 'revenue' }];
    const charts = await ask('/export/charts', { ...range, series: JSON.stringify(series) });
    const shown = Number(total.toPrecision(15));
    expect(charts).toMatchObject({ series: [{ metrics: { sum: shown, count: shown } }] });
  };
  await expectFigures();
  const days = () => cluster.metric('processor', 'footfall_processor_rollup_days_total');
  const late = () => cluster.metric('processor', 'footfall_processor_rollup_late_days_total');
  await waitFor('the rollups', async () => (await days()) + (await late()) > 0, ROLLUP_MAX_MS);
  await expectFigures();
  const all = (await storedPayments()).rows;
  const ofSessions = majorUnits(
    BigInt(PAST.length * HELD) * MINOR_UNITS_MAX + (all > PAST.length * HELD ? STORED_SUM_MAX : 0n),
    CURRENCY,
  );
  expect(await insight('profiles', { sort: 'revenue' })).toMatchObject([
    { id: 'payer', revenue: ofSessions },
  ]);
  expect(await insight('profiles/payer/metrics')).toMatchObject({ revenue: ofSessions });
});

test('an amount beyond the largest gets 400 that names the field and the bound', async () => {
  const rejected = {
    status: 400,
    body: { message: expect.stringContaining('9007199254740991 minor units') },
  };
  const properties = { __deviceId: 'rejected', __amount: '90071992547409.92', __currency: CURRENCY };
  expect(await site.send('track', { name: 'revenue', properties })).toMatchObject(rejected);
});

test('an operator sees which engine answered each part of a question, and why', async () => {
  const question = '/insights/demo/metrics?range=30d';
  const args = (asked: string) => ['explain', asked, '--url', cluster.url('web')];
  const parts = async (asked = question) =>
    JSON.parse((await admin(cluster, [...args(asked), '--json'])).stdout).data.parts;
  const fromRows = {
    engine: 'rows',
    why: 'not-finalized',
    notInMemory: 'large-site',
    rows: expect.any(Number),
  };
  await expect.poll(parts).toEqual(
    expect.arrayContaining([
      { part: 'figures', engine: 'cache', why: 'finalized' },
      { part: 'metrics-events-rows', ...fromRows },
      { part: 'metrics-sessions-rows', ...fromRows },
    ]),
  );
  const filters = encodeURIComponent('[{"name":"properties.plan","operator":"is","value":["pro"]}]');
  expect(await parts(`${question}&filters=${filters}`)).toEqual(
    expect.arrayContaining([
      {
        ...{ part: 'metrics-events', engine: 'rows', why: 'filters', notInMemory: 'large-site' },
        rows: expect.any(Number),
      },
    ]),
  );
  const { stdout, stderr } = await admin(cluster, args(question));
  expect(stdout).toMatch(/^part +engine +rows +why\n/);
  expect(stdout).toContain('its hours are finalized, so their sums never change');
  // No token is printed.
  expect(stdout + stderr).not.toMatch(/sign-in=|footfall-session/);
  const failed = async (asked: string) => (await startAdminOf(cluster, args(asked)).ended).code;
  for (const asked of ['metrics', '/insights/%zz/metrics'])
    expect([asked, await failed(asked)]).toEqual([asked, 2]);
  for (const asked of ['/insights/none/metrics', '/insights/demo/metrics?range=ever'])
    expect([asked, await failed(asked)]).toEqual([asked, 1]);
});
