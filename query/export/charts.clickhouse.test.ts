import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import { anyFilters } from '../filters/testing/any-filters.ts';
import { randomRecord } from '../filters/testing/scene.ts';
import { insertRecord } from '../filters/testing/stored-record.ts';
import { addFilteredTraffic, GROUPS, PROFILES } from '../filters/testing/visit-scene.ts';
import { readParameters } from '../http/parameters.ts';
import { answerMetrics } from '../insights/metrics.ts';
import type { Sources } from '../snapshot/question.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-partitions.ts';
import { Visits } from '../testing/visits.ts';
import { bucketsOf, INTERVALS } from '../time/buckets.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { SEGMENTS } from './chart-fields.ts';
import { answerCharts } from './charts.ts';
import { chartsAnswer, chartsQuery } from './charts-api.ts';
import { type RequestedChart, type RequestedSeries, recountChart } from './testing/chart-recount.ts';

// In the middle of the day on which European clocks go back.
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const HOUR_MS = 3_600_000;
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

function anySeries(segment: (typeof SEGMENTS)[number]): RequestedSeries {
  const filters = filtersOf(0.3);
  return {
    name: seeded.one(NAMES),
    ...(segment === 'event' && seeded.chance(0.5) ? {} : { segment }),
    ...(segment.startsWith('property_') ? { property: seeded.one(PROPERTIES) } : {}),
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
        anySeries(must(SEGMENTS[(index + 3 * position) % SEGMENTS.length], 'a segment')),
      ),
      breakdowns: [...new Set(names.slice(0, seeded.one([0, 1, 1, 2, 3])))],
      filters: filtersOf(0.3),
      previous: seeded.chance(0.5),
      limit: isFine ? seeded.integer(1, 6) : seeded.one([1, 3, 50, 200]),
      ...(withFormula ? { formula: seeded.one(FORMULAS) } : {}),
    },
  };
}

function textOf(
  { series, breakdowns, filters, previous, limit, formula }: RequestedChart,
  time: Time,
): string {
  return new URLSearchParams({
    ...time,
    series: JSON.stringify(series),
    ...(breakdowns.length > 0 || seeded.chance(0.3)
      ? { breakdowns: JSON.stringify(breakdowns.map((name) => ({ name }))) }
      : {}),
    ...(filters.length > 0 ? { filters: JSON.stringify(filters) } : {}),
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
    for (const partition of [0, 1]) {
      if (seeded.chance(0.8)) visits.cut(partition);
      if (seeded.chance(0.8)) await visits.land(partition, historyStore.store);
      if (seeded.chance(0.6)) visits.complete(partition);
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
      expect(chartsAnswer.parse(answer)).toEqual(answer);
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
    const inEuros = [{ name: 'currency', operator: 'is', value: ['EUR'] }];
    const series = JSON.stringify([
      { name: 'screen_view' },
      { name: '*', segment: 'user' },
      { name: '*', segment: 'property_sum', property: 'revenue', filters: inEuros },
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
    }
  },
);

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

test('without an owner charts are rejected, or partial on request', {
  timeout: 30_000,
}, async () => {
  const away = () => ({ history: historyStore.history, hot: visits.hotView([1]) });
  const text = 'series=[{"name":"*"}]';
  await expect(ask(text, 'UTC', away())).rejects.toMatchObject({ status: 503, reason: 'partition-away' });
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
