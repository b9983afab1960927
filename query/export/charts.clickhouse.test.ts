import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { EVENTS_COLUMNS } from '../../processor/rows.ts';
import { metricsQuery } from '../api.ts';
import { anyFilters } from '../filters/testing/any-filters.ts';
import { randomRecord } from '../filters/testing/scene.ts';
import { insertRecord } from '../filters/testing/stored-record.ts';
import { addFilteredTraffic, GROUPS, PROFILES } from '../filters/testing/visit-scene.ts';
import { readParameters } from '../http/parameters.ts';
import { answerMetrics } from '../insights/metrics.ts';
import type { Sources } from '../snapshot/question.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { eventBytes } from '../testing/row-writer.ts';
import { Visits } from '../testing/visits.ts';
import { bucketsOf, INTERVALS } from '../time/buckets.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { SEGMENTS } from './chart-fields.ts';
import { answerCharts } from './charts.ts';
import { chartsFigures, chartsQuery } from './charts-api.ts';
import { type RequestedChart, type RequestedSeries, recountChart } from './testing/chart-recount.ts';

// In the middle of the day on which European clocks go back.
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const ROUNDS = 6;
const QUESTIONS_A_ROUND = 16;
const zones = new Zones();
const seed = Number(process.env.SEED ?? 20_261_122);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
const records = {
  profiles: PROFILES.slice(1, 3).map((id) => randomRecord(seeded, id)),
  groups: GROUPS.slice(0, 1).map((id) => randomRecord(seeded, id)),
};

let historyStore: HistoryStore;
beforeAll(async () => {
  historyStore = await startHistoryStore();
  for (const table of ['profiles', 'groups'] as const)
    for (const record of records[table])
      await insertRecord(historyStore.store, table, record, { site: 'site', version: 1 });
});
afterAll(async () => {
  await historyStore.stop();
});

type Time = Readonly<Record<string, string>>;

const TIMES: readonly [Time, ...Time[]] = [
  {},
  { range: '7d' },
  { range: 'last24h' },
  { range: 'today' },
  { range: 'yesterday', interval: 'minute' },
  { range: 'monthToDate', interval: 'week' },
  { range: '3m', interval: 'month' },
  { range: '6m' },
  { range: '12m', interval: 'day' },
  { startDate: '2026-10-24', endDate: '2026-10-25', interval: 'hour' },
  { startDate: '2026-10-25', endDate: '2026-10-25', interval: 'minute' },
  { startDate: '2026-10-20T10:20:30Z', endDate: '2026-10-25T12:00:00.500Z', interval: 'hour' },
];
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/New_York', 'Australia/Lord_Howe'] as const;
const BREAKDOWNS = [
  'country',
  'browserVersion',
  'language',
  'screen',
  'path',
  'groups',
  'properties.k',
  "properties.o'k",
  'longitude',
  'revenue',
  'currency',
  'currency',
  'created_at',
  'sessionId',
  'profileId',
] as const;
const NAMES = ['screen_view', 'click', '*', '*', 'revenue', 'session_start', 'nothing'] as const;
const PROPERTIES = ['k', "properties.o'k", 'revenue', 'revenue'] as const;
const FORMULAS: readonly [
  NonNullable<RequestedChart['formula']>,
  ...NonNullable<RequestedChart['formula']>[],
] = [
  { text: 'A / B * 100', of: ([a = 0, b = 0]) => (b === 0 ? 0 : a / b) * 100 },
  { text: '-(A - B) + 1.5', of: ([a = 0, b = 0]) => -(a - b) + 1.5 },
  { text: 'B', of: ([, b = 0]) => b },
];

function sourcesNow(): Sources {
  return { history: historyStore.history, hot: visits.hotView() };
}

function filtersOf(share: number): RequestedChart['filters'] {
  if (!seeded.chance(share)) return [];
  return fc.sample(anyFilters, { numRuns: 1, seed: seeded.below(1_000_000) })[0] ?? [];
}

function anySeries(segment: (typeof SEGMENTS)[number], isInFormula: boolean): RequestedSeries {
  const property = segment.startsWith('property_') ? seeded.one(PROPERTIES) : undefined;
  // A formula is rejected if its series are in several currencies.
  const hasCurrency = property === 'revenue' && !isInFormula;
  const filters = property === 'revenue' && isInFormula ? [] : filtersOf(0.3);
  return {
    name: seeded.one(NAMES),
    ...(segment === 'event' && seeded.chance(0.5) ? {} : { segment }),
    ...(property === undefined ? {} : { property }),
    ...(hasCurrency && seeded.chance(0.3) ? { currency: seeded.one(['EUR', 'USD', 'JPY'] as const) } : {}),
    ...(filters.length === 0 && seeded.chance(0.5) ? {} : { filters }),
  };
}

function anyChart(index: number): { readonly chart: RequestedChart; readonly time: Time } {
  const time = seeded.one(TIMES);
  const isFine = time.interval === 'minute';
  const withFormula = !isFine && seeded.chance(0.3);
  const count = withFormula ? 2 : seeded.integer(1, 2);
  const names = [seeded.one(BREAKDOWNS), seeded.one(BREAKDOWNS), seeded.one(BREAKDOWNS)];
  return {
    time,
    chart: {
      series: Array.from({ length: count }, (_, position) =>
        anySeries(must(SEGMENTS[(index + 3 * position) % SEGMENTS.length], 'a segment'), withFormula),
      ),
      breakdowns: [...new Set(names.slice(0, seeded.one([0, 1, 1, 2, 3])))],
      filters: filtersOf(0.3),
      ...(seeded.chance(0.2) ? { currency: seeded.one(['EUR', 'USD', 'JPY'] as const) } : {}),
      previous: seeded.chance(0.5),
      limit: isFine ? seeded.integer(1, 6) : seeded.one([1, 3, 50, 200]),
      ...(withFormula ? { formula: seeded.one(FORMULAS) } : {}),
    },
  };
}

function textOf(
  { series, breakdowns, filters, currency, previous, limit, formula }: RequestedChart,
  time: Time,
): string {
  return new URLSearchParams({
    ...time,
    series: JSON.stringify(series),
    ...(breakdowns.length > 0 || seeded.chance(0.3)
      ? { breakdowns: JSON.stringify(breakdowns.map((name) => ({ name }))) }
      : {}),
    ...(filters.length > 0 ? { filters: JSON.stringify(filters) } : {}),
    ...(currency === undefined ? {} : { currency }),
    ...(previous ? { previous: 'true' } : {}),
    ...(limit === 50 ? {} : { limit: String(limit) }),
    ...(formula === undefined ? {} : { formula: formula.text }),
  }).toString();
}

function ask(text: string, zoneName: string, sources = sourcesNow()) {
  const scope = { site: modelSite('site', zoneName), zone: zones.of(zoneName), nowMs: NOW_MS };
  return answerCharts(sources, scope, readParameters(text, chartsQuery));
}

function expected(chart: RequestedChart, time: Time, zoneName: string) {
  const zone = zones.of(zoneName);
  const text = new URLSearchParams(Object.keys(time).length === 0 ? { range: '30d' } : time).toString();
  const range = rangeOf(readParameters(text, metricsQuery), NOW_MS, zone);
  if ('kind' in range) throw new Error(range.message);
  const before = must(bucketsOf(range.previous, range.interval, zone), 'few buckets');
  return recountChart(
    chart,
    { ...records, events: visits.events('site'), visits: visits.visits('site') },
    {
      current: { ...range.span, buckets: range.buckets },
      previous: { ...range.previous, buckets: before },
    },
  );
}

test('charts of every kind equal a recount of every event, whatever is hot', {
  timeout: 120_000,
}, async () => {
  let index = 0;
  let rows = 0;
  const nonZero = new Set<string>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const fromMs = NOW_MS - (round % 2 === 0 ? 100 * 24 : 50) * HOUR_MS;
    addFilteredTraffic(visits, seeded, { steps: 300, fromMs, toMs: NOW_MS });
    for (const lane of [0, 1]) {
      if (seeded.chance(0.8)) visits.cut(lane);
      if (seeded.chance(0.8)) await visits.land(lane, historyStore.store);
      if (seeded.chance(0.6)) visits.complete(lane);
    }
    for (let question = 0; question < QUESTIONS_A_ROUND; question += 1) {
      const { chart, time } = anyChart(index);
      index += 1;
      const zone = seeded.one(ZONES);
      const text = textOf(chart, time);
      const answer = await ask(text, zone);
      expect(answer, `seed ${seed}, ${zone}: ${decodeURIComponent(text)}`).toEqual(
        expected(chart, time, zone),
      );
      expect(chartsFigures.parse(answer)).toEqual(answer);
      const some = answer.series.filter(({ metrics }) => metrics.sum !== 0);
      for (const { event } of some) nonZero.add(event.segment ?? event.id);
      if (chart.breakdowns.length > 0) rows += some.length;
    }
  }
  expect([...nonZero].sort()).toEqual([...SEGMENTS, 'formula'].sort());
  expect(rows).toBeGreaterThan(100);
});

test.each(INTERVALS.flatMap((interval) => ZONES.map((zone) => [interval, zone] as const)))(
  'by %s in %s charts equal metrics where both mean the same',
  async (interval, zone) => {
    const dates =
      interval === 'minute' ? { startDate: '2026-10-25', endDate: '2026-10-25' } : { range: '30d' };
    const time = new URLSearchParams({ ...dates, interval }).toString();
    const series = JSON.stringify([
      { name: 'screen_view' },
      { name: '*', segment: 'user' },
      { name: '*', segment: 'property_sum', property: 'revenue' },
    ]);
    const sources = sourcesNow();
    const chart = await ask(`${time}&previous=1&series=${encodeURIComponent(series)}`, zone, sources);
    const scope = { site: modelSite('site', zone), zone: zones.of(zone), nowMs: NOW_MS };
    const metrics = await answerMetrics(sources, scope, readParameters(time, metricsQuery));
    for (const [index, figure] of (
      ['total_screen_views', 'unique_visitors', 'total_revenue'] as const
    ).entries()) {
      const row = must(chart.series[index], figure);
      expect(row.metrics.count).toBe(metrics.metrics[figure]);
      expect(row.metrics.count).not.toBe(0);
      expect(row.metrics.previous?.count).toBe(metrics.previous[figure]);
      expect(row.data.map(({ date, count }) => [date, count])).toEqual(
        metrics.series.map((bucket) => [bucket.date, bucket[figure]]),
      );
      // The range has an hour that European clocks show twice.
      expect(new Set(row.data.map(({ date }) => date)).size).toBe(row.data.length);
    }
  },
);

const PAID = [
  ['EUR', 1_000n, 'a', 0],
  ['EUR', 250n, 'b', 1],
  ['EUR', -50n, 'b', 1],
  ['USD', 700n, 'a', 0],
  ['USD', 900n, 'c', 1],
  ['JPY', 500n, 'c', 0],
  ['', 0n, 'c', 0],
  // The sum as doubles is 0.0600000000004.
  ['CHF', 165_810n, 'a', 3],
  ['CHF', 250_007n, 'a', 3],
  ['CHF', -415_811n, 'a', 3],
] as const;

/** A chart over the days of `PAID`, for a site with euros. */
async function paidChart(series: readonly object[], parameters: Readonly<Record<string, string>> = {}) {
  const time = { startDate: '2026-10-20', endDate: '2026-10-21', interval: 'day' };
  const text = new URLSearchParams({ ...time, ...parameters, series: JSON.stringify(series) }).toString();
  const scope = { site: modelSite('shop'), zone: zones.of('UTC'), nowMs: NOW_MS };
  return answerCharts(sourcesNow(), scope, readParameters(text, chartsQuery));
}

describe('amounts of different currencies', () => {
  const revenue = { name: 'revenue', segment: 'property_sum', property: 'revenue' };
  const inDollars = [{ name: 'currency', operator: 'is', value: ['USD'] }];
  const figures = (answer: Awaited<ReturnType<typeof paidChart>>) =>
    answer.series.map(({ names, event, metrics, data }) => [
      ...names,
      event.currency,
      metrics.count,
      ...data.map(({ count }) => count),
    ]);

  beforeAll(async () => {
    const rows = PAID.map(([currency, amount, profileId, day], index) => ({
      ...{ id: `fade${index}`, projectId: 'shop', name: 'revenue', flushNumber: 0, profileId },
      ...{ createdAt: Date.parse('2026-10-20T12:00:00Z') + day * 24 * HOUR_MS, currency, revenue: amount },
    }));
    await historyStore.store.insertRowBinary('events', EVENTS_COLUMNS, [eventBytes(rows)], undefined);
  });

  test.each([
    ['property_sum', 12, 10, 2],
    ['property_average', 4, 10, 1],
    ['property_max', 10, 10, 2.5],
    ['property_min', -0.5, 10, -0.5],
  ])('%s of revenue is in the currency of the site', async (segment, whole, first, second) => {
    const answer = await paidChart([{ ...revenue, segment }]);
    expect(figures(answer)).toEqual([['revenue', 'EUR', whole, first, second]]);
    expect(answer.metrics.count).toBe(whole);
    expect(answer).not.toHaveProperty('metricsByCurrency');
  });

  test('another currency can be named for the chart, for a series, or by a filter', async () => {
    const dollars = [['revenue', 'USD', 16, 7, 9]];
    expect(figures(await paidChart([revenue], { currency: 'USD' }))).toEqual(dollars);
    expect(figures(await paidChart([{ ...revenue, currency: 'USD' }]))).toEqual(dollars);
    expect(figures(await paidChart([{ ...revenue, filters: inDollars }]))).toEqual(dollars);
    expect(figures(await paidChart([revenue], { filters: JSON.stringify(inDollars) }))).toEqual(dollars);
    const contrary = await paidChart([{ ...revenue, currency: 'EUR', filters: inDollars }]);
    expect(figures(contrary)).toEqual([['revenue', 'EUR', 0, 0, 0]]);
    expect((await paidChart([revenue], { currency: 'USD' })).metrics.count).toBe(16);
  });

  test('series of several currencies are apart, also in the figures of all rows', async () => {
    const answer = await paidChart([
      { name: 'revenue' },
      revenue,
      { ...revenue, currency: 'USD' },
      { ...revenue, currency: 'JPY' },
    ]);
    expect(figures(answer)).toEqual([
      ['revenue', undefined, 7, 4, 3],
      ['revenue', 'EUR', 12, 10, 2],
      ['revenue', 'USD', 16, 7, 9],
      ['revenue', 'JPY', 500, 500, 0],
    ]);
    expect(answer.metrics).toEqual({ sum: 19, average: 4.75, min: 2, max: 10, count: 19 });
    expect(answer.metricsByCurrency).toEqual({
      EUR: { sum: 12, average: 6, min: 2, max: 10, count: 12 },
      JPY: { sum: 500, average: 250, min: 0, max: 500, count: 500 },
      USD: { sum: 16, average: 8, min: 7, max: 9, count: 16 },
    });
    expect(chartsFigures.parse(answer)).toEqual(answer);
  });

  test('broken down by currency, every row has its own', async () => {
    const answer = await paidChart([revenue], { breakdowns: '[{"name":"currency"}]', previous: 'true' });
    expect(figures(answer)).toEqual([
      ['JPY', 'JPY', 500, 500, 0],
      ['USD', 'USD', 16, 7, 9],
      ['EUR', 'EUR', 12, 10, 2],
    ]);
    expect(answer.metrics).toMatchObject({ count: 12, previous: { count: 0 } });
    expect(Object.keys(answer.metricsByCurrency ?? {})).toEqual(['EUR', 'JPY', 'USD']);
    const profiles = { breakdowns: '[{"name":"profileId"},{"name":"currency"}]' };
    expect(figures(await paidChart([{ ...revenue, currency: 'USD' }], profiles))).toEqual([
      ['c', 'USD', 'USD', 9, 0, 9],
      ['a', 'USD', 'USD', 7, 7, 0],
    ]);
  });

  test('amounts add up exactly', async () => {
    const dates = { startDate: '2026-10-23', endDate: '2026-10-23' };
    expect(figures(await paidChart([revenue], { ...dates, currency: 'CHF' }))).toEqual([
      ['revenue', 'CHF', 0.06, 0.06],
    ]);
  });

  test('a formula computes with one currency only', async () => {
    const series = [revenue, { ...revenue, currency: 'USD' }, { name: 'revenue', segment: 'user' }];
    const formula = (text: string, more = {}) => paidChart(series, { ...more, formula: text });
    await expect(formula('A + B')).rejects.toMatchObject({
      status: 400,
      message: 'formula: A is in EUR and B is in USD; amounts of different currencies cannot be combined',
    });
    expect(figures(await formula('B / C'))).toEqual([['B / C', 'USD', 5.33, 3.5, 4.5]]);
    expect(figures(await formula('C * 2'))).toEqual([['C * 2', undefined, 6, 4, 4]]);
    const each = await paidChart([revenue, { name: 'revenue', segment: 'user' }], {
      formula: 'A / B',
      breakdowns: '[{"name":"currency"}]',
    });
    expect(figures(each)).toEqual([
      ['JPY', 'JPY', 500, 500, 0],
      ['USD', 'USD', 8, 7, 9],
      ['EUR', 'EUR', 6, 10, 2],
      [null, undefined, 0, 0, 0],
    ]);
    expect(each.metrics).toMatchObject({ count: 6 });
  });
});

test('an unknown site has a row of zeros, and no rows with breakdowns', async () => {
  const scope = { site: modelSite('empty'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const answer = (text: string) => answerCharts(sourcesNow(), scope, readParameters(text, chartsQuery));
  const none = { sum: 0, average: 0, min: 0, max: 0, count: 0 };
  for (const segment of SEGMENTS) {
    const series = encodeURIComponent(JSON.stringify([{ name: '*', segment, property: 'k' }]));
    const { series: rows, metrics } = await answer(`range=7d&series=${series}`);
    expect(rows).toMatchObject([{ id: 'A', names: ['*'], metrics: none }]);
    expect(rows[0]?.data.map(({ count }) => count)).toEqual([0, 0, 0, 0, 0, 0, 0]);
    expect(metrics).toEqual(none);
    const brokenDown = await answer(`range=7d&series=${series}&breakdowns=[{"name":"country"}]`);
    expect(brokenDown).toEqual({ series: [], metrics: none });
  }
});

test.each([
  ['range=7d&startDate=2026-01-01', 'range: 7d cannot be combined'],
  ['range=7d&interval=minute', 'interval: the range has too many buckets'],
  ['startDate=2026-02-01&endDate=2026-01-01', 'endDate: expected a time after'],
  ['formula=A/B', 'formula: character 3: unknown series B'],
  [
    'startDate=2026-10-24&endDate=2026-10-25&interval=minute&limit=500&breakdowns=[{"name":"path"}]',
    'limit: expected at most 173',
  ],
])('charts?%s is rejected with %s', async (text, message) => {
  const answer = (async () => ask(`${text}&series=[{"name":"*"}]`, 'UTC'))();
  await expect(answer).rejects.toMatchObject({
    status: 400,
    message: expect.stringMatching(`^${message}`),
  });
});

test('a formula over too many combinations is rejected', async () => {
  const time = 'startDate=2026-10-24&endDate=2026-10-25&interval=minute&previous=1';
  const text = `${time}&formula=A&limit=1&breakdowns=[{"name":"id"}]&series=[{"name":"*"}]`;
  await expect(ask(text, 'UTC')).rejects.toMatchObject({
    status: 400,
    reason: 'too-large',
    message: expect.stringContaining('breakdowns: more than 86 combinations'),
  });
});

test('without an owner charts are rejected, or partial on request', async () => {
  const away = () => ({ history: historyStore.history, hot: visits.hotView([1]) });
  const text = 'series=[{"name":"*"}]';
  await expect(ask(text, 'UTC', away())).rejects.toMatchObject({ status: 503, reason: 'lane-away' });
  expect(await ask(`${text}&partial=true`, 'UTC', away())).toHaveProperty('partial', true);
  expect(await ask(text, 'UTC')).not.toHaveProperty('partial');
});

test('no text of a request becomes part of a statement', async () => {
  const text = "') UNION ALL SELECT $FILTER$ {event:String} \\' --";
  const series = [
    { name: text, segment: 'user' },
    { name: '*', segment: 'property_sum', property: `properties.${text}` },
  ];
  const breakdowns = [{ name: `properties.${text}` }, { name: "properties.o'k" }];
  const parameters = { series: JSON.stringify(series), breakdowns: JSON.stringify(breakdowns) };
  const answer = await ask(new URLSearchParams(parameters).toString(), 'UTC');
  expect(answer.series).toEqual([]);
});
