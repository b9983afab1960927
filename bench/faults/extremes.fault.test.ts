import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { majorUnits, minorUnitsOf } from '../../infra/money.ts';
import { DIMENSION_NAMES } from '../../query/insights/dimensions.ts';
import type { OpenApiDocument } from '../../query/openapi/open-api.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { breachOf, type Law } from '../openapi/judge.ts';
import { operationsIn } from '../openapi/operations.ts';
import { schemaCheck } from '../openapi/schemas.ts';
import { type ExtremeBody, extremeBodies } from './extreme-bodies.ts';

// Whatever is accepted can be folded, flushed, restored, rolled up, asked about and exported: values at their limits in every
// field of every body go all the way, and every answer is as the document describes it.

const SEED = Number(process.env.EXTREMES_SEED ?? 1);
const BODIES = Number(process.env.EXTREMES_BODIES ?? 100);
const BATCH = 40;
const WAIT_MAX_MS = 120_000;
const FAILURES = [
  'footfall_processor_dead_letters_total',
  'footfall_processor_lane_failures_total',
  'footfall_entities_dead_letters_total',
  'footfall_entities_lane_failures_total',
];

let cluster: Cluster;
let site: SiteOfCluster;
const startedAtMs = Date.now();
/** A day that is finalized, of which half of the events are. */
const PAST = new Date(startedAtMs - 2 * DAY_MS).toISOString();
const bodies = extremeBodies(SEED, BODIES).map((body, index) => (index % 2 === 0 ? body : inThePast(body)));
const tracked = bodies.filter(({ type }) => type === 'track');
const RANGE = {
  startDate: new Date(startedAtMs - HOUR_MS).toISOString(),
  endDate: new Date(startedAtMs + DAY_MS).toISOString(),
};
const EVER = { startDate: '1970-01-02', endDate: '2030-01-01' };
const MONTHS = { ...EVER, interval: 'month' };

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

/** An event that names no time, and is no payment, becomes one of a finalized day. */
function inThePast(body: ExtremeBody): ExtremeBody {
  const properties = body.payload.properties as Readonly<Record<string, unknown>> | undefined;
  if (body.type !== 'track' || properties?.__currency !== undefined || properties?.__timestamp !== undefined)
    return body;
  return { ...body, payload: { ...body.payload, properties: { ...properties, __timestamp: PAST } } };
}

async function expectNoFailure(): Promise<void> {
  for (const name of FAILURES) expect([name, await cluster.metric('processor', name)]).toEqual([name, 0]);
}

/** Paths of questions about everything that was sent. */
function questions(): string[] {
  const profiles = [...new Set(bodies.map(({ payload }) => payload.profileId))];
  const ids = profiles.filter((id) => id !== undefined).map((id) => encodeURIComponent(String(id)));
  const named = tracked.map(({ payload }) => String(payload.name));
  const at = (name: string, parameters: Readonly<Record<string, string>> = {}) =>
    `/insights/demo/${name}?${new URLSearchParams({ ...EVER, ...parameters })}`;
  const bare = (name: string, parameters: Readonly<Record<string, string>> = {}) =>
    `/insights/demo/${name}?${new URLSearchParams(parameters)}`;
  const series = (segment: string, property: string) =>
    `/export/charts?${new URLSearchParams({ ...MONTHS, series: JSON.stringify([{ name: '*', segment, property }]) })}`;
  const formula = JSON.stringify(
    ['price', 'text'].map((property) => ({ name: '*', segment: 'property_sum', property })),
  );
  return [
    ...[
      at('metrics'),
      at('pages', { limit: '1000' }),
      at('pages/entry_exit'),
      at('sessions', { limit: '100' }),
    ],
    ...DIMENSION_NAMES.map((dimension) => at(dimension, { limit: '1000' })),
    ...['lastSeen', 'sessions', 'revenue', 'createdAt'].map((sort) =>
      bare('profiles', { sort, limit: '100' }),
    ),
    ...ids
      .slice(0, 12)
      .flatMap((id) => ['', '/metrics', '/sessions'].map((part) => bare(`profiles/${id}${part}`))),
    ...[
      bare('groups', { limit: '100' }),
      at('events/names'),
      at('events/properties'),
      at('events', { limit: '100' }),
    ],
    at('funnel', { steps: JSON.stringify(['screen_view', named[0] ?? '*']), windowHours: '1' }),
    ...['property_sum', 'property_average', 'property_max', 'property_min'].flatMap((segment) =>
      ['price', 'text', 'k0', 'revenue'].map((property) => series(segment, property)),
    ),
    ...['A * B', 'B * B', 'A / B'].map(
      (text) => `/export/charts?${new URLSearchParams({ ...MONTHS, series: formula, formula: text })}`,
    ),
  ];
}

async function lawOf(): Promise<Law> {
  const document = (await (await fetch(`${cluster.url('web')}/openapi.json`)).json()) as OpenApiDocument;
  const named = document.components.schemas;
  return { operations: operationsIn(document), named, schemaBreaches: schemaCheck(named), limited: false };
}

/** Returns the errors in the answers to all questions; each must be 200 and as described. */
async function breaches(law: Law): Promise<string[]> {
  const found: string[] = [];
  const { id, secret } = cluster.credentials.clients.read;
  for (const path of questions()) {
    const response = await fetch(cluster.url('web') + path, {
      headers: { 'service-client-id': id, 'service-client-secret': secret },
    });
    const body = Buffer.from(await response.arrayBuffer());
    const answer = { status: response.status, headers: Object.fromEntries(response.headers), body };
    const breach =
      response.status === 200
        ? breachOf(law, 'GET', path.split('?')[0] ?? '', answer)
        : `${response.status} ${body.toString('utf8').slice(0, 300)}`;
    if (breach !== undefined) found.push(`${path.slice(0, 300)}: ${breach.slice(0, 500)}`);
  }
  return found;
}

/** The revenue of these bodies, exactly. */
function recounted(sent: readonly ExtremeBody[]): Record<string, number> {
  const sums = new Map<string, bigint>();
  for (const { payload } of sent) {
    const { __amount, __revenue, __currency } = payload.properties as Readonly<Record<string, string>>;
    if (__currency === undefined) continue;
    const units = __amount === undefined ? BigInt(__revenue ?? 0) : minorUnitsOf(__amount, __currency);
    sums.set(__currency, (sums.get(__currency) ?? 0n) + units);
  }
  return Object.fromEntries(
    [...sums]
      .filter(([, units]) => units !== 0n)
      .map(([currency, units]) => [currency, majorUnits(units, currency)]),
  );
}

async function expectFigures(): Promise<void> {
  const metrics = await site.ask(`/insights/demo/metrics?${new URLSearchParams(RANGE)}`);
  expect(metrics).toMatchObject({
    status: 200,
    body: { metrics: { revenue_by_currency: recounted(tracked) } },
  });
}

test(`values at the limits of every field go all the way, seed ${SEED}`, async () => {
  // The first rollup begins at the oldest event; from then on, late days are rolled up again.
  await site.send('track', { name: 'first', properties: { __deviceId: 'first', __timestamp: PAST } });
  const rolledUp = (which: string) => cluster.metric('processor', `footfall_processor_rollup_${which}_total`);
  await waitFor('the first rollup', async () => (await rolledUp('days')) > 0, WAIT_MAX_MS);
  for (let from = 0; from < bodies.length; from += BATCH) {
    const batch = bodies.slice(from, from + BATCH);
    const { body } = await site.post('/track/batch', batch, site.secret);
    expect(body).toMatchObject({ accepted: batch.length, rejected: [] });
  }
  const filters = JSON.stringify([
    { name: 'name', operator: 'isNot', value: ['session_start', 'session_end'] },
  ]);
  const counted = `/export/events?${new URLSearchParams({ limit: '1', filters })}`;
  const total = async () => {
    const { status, body } = await site.ask(counted);
    // 503 while the owner of a lane is busy.
    if (status !== 200) expect([status, body]).toEqual([503, expect.anything()]);
    return (body.meta as { totalCount: number } | undefined)?.totalCount;
  };
  await waitFor('every event', async () => (await total()) === tracked.length + 1, WAIT_MAX_MS);
  const law = await lawOf();
  expect(await breaches(law)).toEqual([]);
  await expectFigures();
  await waitFor('the rollups', async () => (await rolledUp('late_days')) > 0, WAIT_MAX_MS);
  await expectNoFailure();
  // From here on memory was restored from the store.
  await cluster.restart('processor');
  expect(await breaches(law)).toEqual([]);
  await expectFigures();
  expect(await total()).toBe(tracked.length + 1);
  const events = await site.ask(`/export/events?limit=1000&includes=properties,revenue,meta,utm,device,geo`);
  expect(breachOf(law, 'GET', '/export/events', rawOf(events))).toBe(undefined);
  await expectNoFailure();
}, 300_000);

function rawOf({ status, body }: { readonly status: number; readonly body: object }) {
  const headers = {
    'content-type': 'application/json',
    'service-version': '1',
    'x-content-type-options': 'nosniff',
  };
  return { status, headers, body: Buffer.from(JSON.stringify(body)) };
}
