import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { Store } from '../../infra/store/store.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsAnswer, metricsQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { RejectError } from '../reject.ts';
import { History } from '../snapshot/history.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { addTraffic } from '../testing/model-traffic.ts';
import { modelSite, OwnedLanes } from '../testing/owned-lanes.ts';
import { recount } from '../testing/recount.ts';
import { bucketsOf } from '../time/buckets.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { answerMetrics } from './metrics.ts';

const zones = new Zones();
// The middle of a day on which clocks in Europe go back.
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
/** Amounts whose sums exceed 64 bits. */
const LARGE = 500_000_000_000_000n;

let fixture: HistoryStore;
const lanes = new OwnedLanes(2);
beforeAll(async () => {
  fixture = await startHistoryStore();
  const seeded = new SeededRandom(42);
  addTraffic(lanes, seeded, {
    events: 1_500,
    fromMs: NOW_MS - 3_000 * HOUR_MS,
    toMs: NOW_MS - 3 * HOUR_MS,
    amountScale: LARGE,
  });
  await land();
  addTraffic(lanes, seeded, { events: 700, fromMs: NOW_MS - 3 * HOUR_MS, toMs: NOW_MS, amountScale: LARGE });
  await land();
  addTraffic(lanes, seeded, { events: 300, fromMs: NOW_MS - 50 * HOUR_MS, toMs: NOW_MS, amountScale: LARGE });
});
afterAll(async () => {
  await fixture.stop();
});

async function land(): Promise<void> {
  for (const owner of lanes.owners) {
    await fixture.land(owner, owner.cut());
    owner.complete();
  }
}

function ask(query: string, zone: string, history = fixture.history) {
  const scope = { site: modelSite('site', zone), zone: zones.of(zone), nowMs: NOW_MS };
  const sources = { history, hot: lanes.hotView() };
  return answerMetrics(sources, scope, readParameters(query, metricsQuery));
}

function expected(query: string, zone: string) {
  const range = rangeOf(readParameters(query, metricsQuery), NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const sessions = lanes.owners.flatMap((owner) => owner.sessions());
  const ours = sessions.filter(({ projectId }) => projectId === 'site');
  return recount(range, lanes.events('site'), ours, 'EUR');
}

test.each([
  ['range=30min', 'UTC'],
  ['range=lastHour', 'Asia/Kathmandu'],
  ['range=last24h', 'Asia/Kolkata'],
  ['range=today', 'Europe/Berlin'],
  ['range=yesterday', 'America/New_York'],
  ['', 'Europe/Berlin'],
  ['range=30d', 'Pacific/Chatham'],
  ['range=3m', 'America/Sao_Paulo'],
  ['range=6m', 'Europe/Berlin'],
  ['range=12m', 'UTC'],
  ['range=monthToDate&interval=week', 'Australia/Lord_Howe'],
  ['range=yearToDate&interval=day', 'Africa/Cairo'],
  ['startDate=2026-10-25&endDate=2026-10-25', 'Europe/Berlin'],
  ['startDate=2026-10-24&endDate=2026-10-25&interval=minute', 'America/New_York'],
  ['startDate=2026-10-20T10:20:30Z&endDate=2026-10-25T12:00:00.500Z&interval=hour', 'Asia/Kolkata'],
])('metrics?%s in %s equals a recount', async (query, zone) => {
  const answer = await ask(query, zone);
  expect(answer).toEqual(expected(query, zone));
  expect(answer.metrics.total_screen_views).toBeGreaterThan(0);
  expect(metricsAnswer.safeParse({ ...answer, references: [] }).success).toBe(true);
});

test('a site without events has zeros in every bucket', async () => {
  const scope = { site: modelSite('empty'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const query = readParameters('range=7d', metricsQuery);
  const answer = await answerMetrics({ history: fixture.history, hot: lanes.hotView() }, scope, query);
  expect(answer.series.length).toBe(7);
  expect(answer.metrics).toEqual(answer.series[3] && { ...answer.metrics, ...omitDate(answer.series[3]) });
  expect(answer.metrics.bounce_rate).toBe(0);
});

function omitDate<T extends { readonly date: string }>({ date: _date, ...rest }: T) {
  return rest;
}

test.each(['range=30min', 'range=lastHour'])(
  'metrics?%s is the same from memory as from the store',
  async (query) => {
    expect(await ask(query, 'Asia/Kathmandu', awayHistory())).toEqual(await ask(query, 'Asia/Kathmandu'));
  },
);

test('without the store a longer range is rejected, or partial with partial=true', async () => {
  await expect(ask('range=7d', 'UTC', awayHistory())).rejects.toMatchObject({
    status: 503,
    reason: 'store-away',
  });
  const answer = await ask('range=7d&partial=true', 'UTC', awayHistory());
  expect(answer.partial).toBe(true);
  const whole = await ask('range=7d', 'UTC');
  expect(whole.partial).toBeUndefined();
  expect(answer.metrics.total_screen_views).toBeGreaterThan(0);
  expect(answer.metrics.total_screen_views).toBeLessThan(whole.metrics.total_screen_views);
});

test.each([
  [{ max_execution_time: 0.001 }, 'too-slow', 503],
  [{ max_memory_usage: 100_000 }, 'too-large', 400],
])('a question over its limits %o is rejected with the reason', async (settings, reason, status) => {
  const failing = {
    query: (_sql: string) => fixture.store.query(HEAVY, {}, settings),
    bytes: fixture.store.bytes.bind(fixture.store),
    keepsTexts: false,
  } as Pick<Store, 'query' | 'bytes' | 'keepsTexts'>;
  const limits = { timeMaxMs: 1_000, memoryMaxBytes: 1 };
  const history = new History({
    shards: [{ store: failing, streams: failing, isReachable: () => true }],
    limits,
    metrics: new Metrics(),
  });
  const error = await ask('range=7d', 'UTC', history).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(RejectError);
  expect(error).toMatchObject({ reason, status });
});

const HEAVY = 'SELECT uniqExact(sipHash64(number, number % 7)) AS n FROM numbers(200000000)';

test.each([
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Pacific/Apia',
])('buckets in %s begin where the store rounds times down, and have its labels', async (name) => {
  const zone = zones.of(name);
  for (const [interval, days] of [
    ['minute', 0.2],
    ['hour', 20],
    ['day', 500],
    ['week', 1_500],
    ['month', 3_000],
  ] as const) {
    const fromMs = Date.parse('2026-10-20T03:07:11Z') - days * 12 * HOUR_MS;
    const buckets = bucketsOf({ fromMs, toMs: fromMs + days * 24 * HOUR_MS }, interval, zone) ?? [];
    const times = buckets.flatMap(({ fromMs: at }) => [at, at - 1]).slice(2);
    expect(times.length).toBeGreaterThan(50);
    const rows = await fixture.store.query<{ readonly label: string }>(
      `SELECT toString(toStartOfInterval(fromUnixTimestamp64Milli(arrayJoin({times:Array(Int64)}), '${name}'),
           INTERVAL 1 ${interval}, '${name}')) AS label`,
      { times },
    );
    const labels = buckets.flatMap(({ label }, index) => [label, buckets[index - 1]?.label ?? '']).slice(2);
    const length = interval === 'minute' || interval === 'hour' ? 19 : 10;
    // The store's labels lack the offset of an hour's second pass.
    expect(rows.map(({ label }) => label.slice(0, length))).toEqual(
      labels.map((label) => label.slice(0, 19)),
    );
  }
});
