import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CONTROL_BUCKET, siteKeyOf } from '../../infra/accounts/accounts.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { encodeJson } from '../../infra/bus/mirror.ts';
import { ManualClock } from '../../infra/clock.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { seal } from '../../infra/sealed.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { createLeaderJobMetrics } from '../leader-job/leader-job-metrics.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import {
  addDays,
  connectionKeyOf,
  type SearchConsoleRow,
  SYNCS_BUCKET,
  type Sync,
  syncSchema,
} from '../search-console.ts';
import { type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { SearchConsoleJob } from './search-console-job.ts';
import { storeRows } from './stored-days.ts';
import { createSyncMetrics } from './sync-metrics.ts';
import { apiError, CLIENT, GoogleServer, searchRows } from './testing/google-server.ts';

const SECRETS_KEY = '0123456789abcdef'.repeat(4);
const NOW_MS = Date.parse('2026-03-10T18:00:00Z');
const NEWEST = '2026-03-09';
/** A backfill of six days, and the window of three. */
const DAYS = Array.from({ length: 9 }, (_, index) => addDays('2026-03-01', index));
const siteUrl = 'sc-domain:site.example';
const DEADLINE = { interval: 20 };

let world: LaneWorld;
let control: KeyedBytes;
let syncs: KeyedBytes;
let google: GoogleServer;
let clock: ManualClock;
let metrics: Metrics;
let running: SearchConsoleJob[] = [];
let site = '';
let sites = 0;

beforeAll(async () => {
  world = await startLaneWorld('search-console');
  control = await world.bus.keyed(CONTROL_BUCKET);
  syncs = await world.bus.keyed(SYNCS_BUCKET);
});
afterAll(() => world.stop());

beforeEach(async () => {
  google = await GoogleServer.start();
  // Days of nothing, of less than a page, and of one and of two full pages.
  google.rows = searchRows(DAYS, (index) => [0, 2, 3, 7, 6][index % 5] ?? 0);
  clock = new ManualClock(NOW_MS);
  metrics = new Metrics();
  sites += 1;
  site = `site-${sites}`;
  const at = new Date(NOW_MS).toISOString();
  const record = { id: site, teamId: 'team', name: site, createdAt: at, updatedAt: at };
  await control.put(siteKeyOf(site), encodeJson(record), 0);
});
afterEach(async () => {
  for (const job of running) await job.stop();
  running = [];
  await disconnect();
  await google.stop();
});

async function startJob(more: { readonly requestMaxMs?: number } = {}): Promise<SearchConsoleJob> {
  const job = await SearchConsoleJob.start({
    ...testLeader('search-console'),
    jobMetrics: createLeaderJobMetrics(metrics, 'search-console'),
    bus: world.bus,
    stores: new PerShard([world.store]),
    control,
    syncs,
    clock,
    random: () => 0.5,
    secretsKey: SECRETS_KEY,
    intervalMs: DAY_MS,
    baseUrl: google.url,
    metrics: createSyncMetrics(metrics),
    pageRows: 3,
    backfillDays: 6,
    ...more,
  });
  running.push(job);
  return job;
}

async function connect(fields: { readonly siteUrl?: string; readonly refreshToken?: string } = {}) {
  const { refreshToken = CLIENT.refreshToken } = fields;
  const key = connectionKeyOf(storedId(site));
  const secrets = JSON.stringify({ clientSecret: CLIENT.secret, refreshToken });
  const revision = (await control.get(key))?.revision ?? 0;
  const connection = {
    projectId: site,
    storedId: site,
    siteUrl: fields.siteUrl ?? siteUrl,
    authType: 'oauth',
    account: CLIENT.id,
    sealed: seal(SECRETS_KEY, key, secrets),
    updatedAt: new Date(clock.nowMs() + revision).toISOString(),
  };
  await control.put(key, encodeJson(connection), revision);
}

async function disconnect() {
  await control.remove(connectionKeyOf(storedId(site)));
}

async function stored(): Promise<Sync | undefined> {
  const bytes = (await syncs.get(connectionKeyOf(storedId(site))))?.bytes;
  return bytes === undefined ? undefined : syncSchema.parse(JSON.parse(Buffer.from(bytes).toString('utf8')));
}

/** Waits until the record is as wished. */
async function until(isThere: (sync: Sync | undefined) => boolean): Promise<Sync | undefined> {
  let last: Sync | undefined;
  await expect
    .poll(async () => {
      last = await stored();
      return isThere(last);
    }, DEADLINE)
    .toBe(true);
  return last;
}

const isDone = (sync: Sync | undefined) =>
  sync?.failure === null && sync.lastSyncedAt !== null && sync.backfill.daysDone === sync.backfill.daysTotal;

/** The rows of the site that count, by date, page and query. */
function rowsOf(): Promise<SearchConsoleRow[]> {
  return world.store.query<SearchConsoleRow>(
    `SELECT toString(date) AS date, query, page, clicks, impressions, position FROM search_console FINAL
     WHERE projectId = {site:String} AND position >= 0 ORDER BY date, page, query`,
    { site },
  );
}

test('the newest days come first, then earlier ones, and every row once', async () => {
  await connect();
  await startJob();
  const sync = await until(isDone);
  expect(sync).toMatchObject({
    backfill: { from: '2026-03-01', to: '2026-03-06', daysDone: 6, daysTotal: 6 },
    settledThrough: '2026-03-06',
    lastDay: NEWEST,
    lastSyncedAt: new Date(NOW_MS).toISOString(),
    rows: google.rows.length,
  });
  expect(await rowsOf()).toEqual(google.rows);
  const days = [...new Set(google.asked.map(({ body }) => body.startDate))];
  expect(days).toEqual([...DAYS.slice(-3), ...DAYS.slice(0, -3).reverse()]);
  // A full page is followed by another request, and an empty answer ends the day.
  expect(google.asked.filter(({ body }) => body.startDate === '2026-03-05').length).toBe(3);
  expect(google.asked.filter(({ body }) => body.startDate === '2026-03-03').length).toBe(2);
});

test.each([4, 8, 14])(
  'stopped after %d requests and started again, it goes on where it was',
  async (stopAt) => {
    await connect();
    google.rowFaults.push(...Array.from({ length: stopAt - 1 }, () => undefined), 'hang');
    const job = await startJob();
    await expect.poll(() => google.asked.length, DEADLINE).toBe(stopAt);
    await job.stop();
    const interrupted = await stored();
    expect(interrupted?.failure).toBeNull();
    await startJob();
    await until(isDone);
    expect(await rowsOf()).toEqual(google.rows);
    // Days in the record are not requested again.
    const [before, after] = [google.asked.slice(0, stopAt), google.asked.slice(stopAt)];
    const again = new Set(after.map(({ body }) => body.startDate));
    const twice = new Set(before.map(({ body }) => body.startDate).filter((day) => again.has(day)));
    expect(twice.size).toBeLessThanOrEqual(interrupted?.lastSyncedAt === null ? 3 : 1);
  },
);

test('the next day fetches three days again: changed rows are replaced and missing ones withdrawn', async () => {
  await connect();
  const job = await startJob();
  await until(isDone);
  const imported = { query: 'by hand', page: '/', clicks: 1, impressions: 1, position: 1 };
  const byHand = { site, day: NEWEST, importedAtMs: NOW_MS };
  await storeRows(world.store, byHand, [
    { ...imported, date: NEWEST, country: 'deu' },
    { ...imported, date: '2026-01-01' },
  ]);
  const settled = google.rows.filter(({ date }) => date < '2026-03-07');
  const fresh = searchRows(['2026-03-07', '2026-03-08', NEWEST, '2026-03-10'], () => 4)
    .filter(({ date, clicks }) => date !== NEWEST || clicks !== 1)
    .map((row) => ({ ...row, impressions: row.impressions + 5 }));
  google.rows = [...settled.map((row) => ({ ...row, clicks: 0 })), ...fresh];
  google.asked.length = 0;
  clock.advance(DAY_MS);
  job.wake();
  await until((sync) => sync?.lastDay === '2026-03-10');
  expect(await rowsOf()).toEqual([{ ...imported, date: '2026-01-01' }, ...settled, ...fresh]);
  expect([...new Set(google.asked.map(({ body }) => body.startDate))]).toEqual([
    '2026-03-07',
    '2026-03-08',
    NEWEST,
    '2026-03-10',
  ]);
  expect((await stored())?.settledThrough).toBe('2026-03-07');
});

test.each([
  ['quota', apiError(429, 'rateLimitExceeded', '7200'), 7_200_000],
  ['google-away', apiError(500, 'backendError'), 0],
  ['no-access', apiError(403, 'forbidden'), 0],
  ['google-away', 'hang' as const, 0],
  ['failed', { status: 200, body: '<html>' }, 0],
])('%s is a state with a time of its own, and nothing is asked before it', async (reason, fault, leastMs) => {
  await connect();
  google.rowFaults.push(undefined, undefined, undefined, undefined, fault);
  const job = await startJob({ requestMaxMs: 500 });
  const sync = await until((now) => now?.failure !== null && now !== undefined);
  expect(sync?.failure).toMatchObject({ reason, attempts: 1, since: new Date(NOW_MS).toISOString() });
  const waitMs = Date.parse(sync?.failure?.nextTryAt ?? '') - NOW_MS;
  expect(waitMs).toBeGreaterThanOrEqual(Math.max(leastMs, 1_000));
  const asked = google.asked.length;
  clock.advance(waitMs - 1);
  const requests = metricOf('footfall_search_console_requests_total');
  const passes = () => metricOf('footfall_processor_job_passes_total{task="search-console"}');
  const passed = passes();
  await startJob();
  const passesSince = () => {
    job.wake();
    return passes() - passed;
  };
  // The pass that failed, one of the other job, and more of this one.
  await expect.poll(passesSince).toBeGreaterThanOrEqual(4);
  expect(google.asked.length).toBe(asked);
  expect(metricOf('footfall_search_console_requests_total')).toBe(requests);
  expect(metricOf(`footfall_search_console_failures_total{reason="${reason}"}`)).toBe(1);
  clock.advance(1);
  job.wake();
  await until(isDone);
  expect(await rowsOf()).toEqual(google.rows);
});

test('expired credentials are a state that names no secret, and new ones are tried at once', async () => {
  await connect({ refreshToken: 'revoked-secret' });
  await startJob();
  const sync = await until((now) => now !== undefined && now.failure !== null);
  expect(sync?.failure?.reason).toBe('token-expired');
  expect(JSON.stringify(sync)).not.toContain('secret');
  await connect();
  await until(isDone);
  expect(await rowsOf()).toEqual(google.rows);
});

test('another property begins anew, and a disconnected site has no record', async () => {
  await connect();
  await startJob();
  await until(isDone);
  google.asked.length = 0;
  await connect({ siteUrl: 'https://other.example/' });
  await until((sync) => sync?.siteUrl === 'https://other.example/' && isDone(sync));
  expect(new Set(google.asked.map((asked) => asked.siteUrl))).toEqual(new Set(['https://other.example/']));
  await disconnect();
  await until((sync) => sync === undefined);
  expect((await rowsOf()).length).toBe(google.rows.length);
});

function metricOf(name: string): number {
  const line = metrics
    .expose()
    .split('\n')
    .find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}
