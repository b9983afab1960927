import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { recountBreakdown } from '../testing/visit-recount.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { answerBreakdown, breakdownInsights, trafficInsights } from './breakdown.ts';
import { breakdownAnswer, listQuery } from './breakdown-api.ts';
import { DIMENSION_NAMES, type DimensionName, dimensionOf } from './dimensions.ts';

const zones = new Zones();
// The middle of a day on which clocks in Europe go back.
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
/** Amounts whose sums exceed 64 bits. */
const LARGE = 500_000_000_000_000n;
const FROM_MS = NOW_MS - 72 * HOUR_MS;

let fixture: HistoryStore;
const seed = Number(process.env.SEED ?? 20_261_025);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
beforeAll(async () => {
  fixture = await startHistoryStore();
  // Complete flushes known to the owners, flushes that landed unnoticed, flushes that did not land, and open rows.
  for (let round = 0; round < 6; round += 1) {
    addVisitTraffic(visits, seeded, { steps: 150, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      if (round < 5 - lane) await visits.land(lane, fixture.store);
      if (round < 3) visits.complete(lane);
    }
  }
  addVisitTraffic(visits, seeded, { steps: 100, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
});
afterAll(async () => {
  await fixture.stop();
});

interface BreakdownQuestion {
  readonly dimension: DimensionName;
  readonly query: string;
  readonly zone?: string;
  readonly currency?: string;
}

function ask(
  { dimension, query, zone = 'UTC', currency = 'EUR' }: BreakdownQuestion,
  history = fixture.history,
) {
  const scope = { site: modelSite('site', zone, currency), zone: zones.of(zone), nowMs: NOW_MS };
  const sources = { history, hot: visits.hotView() };
  return answerBreakdown(sources, scope, readParameters(query, listQuery), dimension);
}

function expected({ dimension, query, zone = 'UTC', currency = 'EUR' }: BreakdownQuestion) {
  const range = rangeOf(readParameters(query, listQuery), NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const { field, parent } = dimensionOf(dimension);
  const from = { span: range.span, currency, events: [], visits: visits.visits('site') };
  return recountBreakdown(from, field, parent);
}

test.each(DIMENSION_NAMES)('sessions by %s equal a recount of every session', async (dimension) => {
  const question = { dimension, query: 'range=7d&limit=1000' };
  const answer = await ask(question);
  expect(answer, `seed ${seed}`).toEqual(expected(question));
  expect(breakdownAnswer.safeParse(answer).success).toBe(true);
  expect(answer.length).toBeGreaterThan(3);
  expect(answer.some(({ name }) => name === null)).toBe(true);
  expect('prefix' in (answer[0] ?? {})).toBe(dimensionOf(dimension).parent !== undefined);
});

test.each([
  ['range=today', 'Europe/Berlin', 'EUR'],
  ['range=yesterday', 'Asia/Kathmandu', 'USD'],
  ['range=last24h', 'Australia/Lord_Howe', 'JPY'],
  ['startDate=2026-10-24&endDate=2026-10-25', 'Europe/Berlin', 'EUR'],
  ['startDate=2026-10-24T10:20:30Z&endDate=2026-10-25T12:00:00.500Z', 'Asia/Kolkata', 'USD'],
  ['range=lastYear', 'UTC', 'EUR'],
])('browser_version?%s in %s counts the sessions that began in the range', async (query, zone, currency) => {
  const question: BreakdownQuestion = {
    dimension: 'browser_version',
    query: `${query}&limit=1000`,
    zone,
    currency,
  };
  expect(await ask(question), `seed ${seed}`).toEqual(expected(question));
});

test('every dimension has its own path', async () => {
  const insights = breakdownInsights({ history: fixture.history, hot: visits.hotView() });
  expect(insights.map(({ path }) => path)).toEqual(DIMENSION_NAMES);
  const model = insights.find(({ path }) => path === 'model');
  const scope = { site: modelSite('site'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const answer = await model?.answer(scope, readParameters('', model.schema));
  expect(answer).toEqual(expected({ dimension: 'model', query: '' }).slice(0, 10));
});

test('pages divide one order: every row comes exactly once', async () => {
  const whole = expected({ dimension: 'city', query: 'range=7d' });
  expect(whole.length).toBeGreaterThan(20);
  expect(await ask({ dimension: 'city', query: 'range=7d' })).toEqual(whole.slice(0, 10));
  const rows = [];
  for (let cursor = 0; cursor < whole.length; cursor += 7) {
    rows.push(...(await ask({ dimension: 'city', query: `range=7d&limit=7&cursor=${cursor}` })));
  }
  expect(rows).toEqual(whole);
  expect(await ask({ dimension: 'city', query: `range=7d&cursor=${whole.length}` })).toEqual([]);
});

test.each([
  ['traffic/referrers', '', 'referrer_name'],
  ['traffic/referrers', 'breakdown=utm_campaign', 'utm_campaign'],
  ['traffic/geo', '', 'country'],
  ['traffic/geo', 'breakdown=city', 'city'],
  ['traffic/devices', '', 'device'],
  ['traffic/devices', 'breakdown=os_version', 'os_version'],
] as const)('%s?%s answers like %s', async (path, query, dimension) => {
  const insights = trafficInsights({ history: fixture.history, hot: visits.hotView() });
  const insight = insights.find((candidate) => candidate.path === path);
  const scope = { site: modelSite('site'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const answer =
    insight === undefined ? undefined : await insight.answer(scope, readParameters(query, insight.schema));
  expect(answer).toEqual(await ask({ dimension, query: '' }));
  expect(answer).toEqual(expected({ dimension, query: '' }).slice(0, 10));
});

test('states that replace each other count once, whatever lands or merges between the reads', async () => {
  for (let round = 0; round < 4; round += 1) {
    addVisitTraffic(visits, seeded, { steps: 60, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
    for (const lane of [0, 1]) if (seeded.chance(0.7)) visits.cut(lane);
    const question: BreakdownQuestion = {
      dimension: seeded.one(['region', 'channel', 'os_version']),
      query: 'limit=1000',
    };
    const hot = visits.hotView();
    const before = expected(question);
    const scope = { site: modelSite('site'), zone: zones.of('UTC'), nowMs: NOW_MS };
    // Hot rows from before anything lands are used again afterwards.
    const rows = await hot.rows(storedId('site'));
    const sources = { history: fixture.history, hot: { rows: async () => rows } };
    const query = readParameters(question.query, listQuery);
    const read = () => answerBreakdown(sources, scope, query, question.dimension);
    expect(await read(), `seed ${seed}`).toEqual(before);
    for (const lane of [0, 1]) {
      await visits.land(lane, fixture.store);
      expect(await read(), `seed ${seed}`).toEqual(before);
      if (seeded.chance(0.5)) visits.complete(lane);
      expect(await ask(question), `seed ${seed}`).toEqual(before);
    }
    await fixture.store.command('OPTIMIZE TABLE sessions FINAL');
    expect(await read(), `seed ${seed}`).toEqual(before);
    expect(await ask(question), `seed ${seed}`).toEqual(before);
  }
});

test('an away owner is 503, and with partial=true its sessions are missing', async () => {
  addVisitTraffic(visits, seeded, { steps: 100, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
  const scope = { site: modelSite('site'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const sources = { history: fixture.history, hot: visits.hotView([1]) };
  const answer = (query: string) =>
    answerBreakdown(sources, scope, readParameters(query, listQuery), 'country');
  await expect(answer('')).rejects.toMatchObject({ status: 503, reason: 'lane-away' });
  // Sessions only gain views, and the unflushed views of the unavailable owner are missing.
  const views = sumOfViews(await answer('partial=true&limit=1000'));
  expect(views).toBeGreaterThan(0);
  expect(views).toBeLessThan(sumOfViews(await ask({ dimension: 'country', query: 'limit=1000' })));
});

function sumOfViews(rows: readonly { readonly pageviews: number }[]): number {
  return rows.reduce((total, { pageviews }) => total + pageviews, 0);
}

test.each(['', 'partial=true', 'range=30min'])('without the store ?%s is rejected', async (query) => {
  const history = awayHistory();
  const rejected = { status: 503, reason: 'store-away' };
  await expect(ask({ dimension: 'country', query }, history)).rejects.toMatchObject(rejected);
});
