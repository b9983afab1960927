import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { PerShard } from '../../infra/store/store-shards.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import { insertRows } from '../manage/gsc/gsc-rows.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { Zones } from '../time/zone.ts';
import { EXPECTED_CTR } from './expected-ctr.ts';
import {
  answerCannibalization,
  answerOpportunities,
  answerPageDetails,
  answerPages,
  answerQueries,
  answerQueryDetails,
} from './rankings.ts';
import {
  cannibalizationAnswer,
  cannibalizationQuery,
  opportunitiesAnswer,
  opportunitiesQuery,
  overviewAnswer,
  overviewQuery,
  pageDetailsQuery,
  queryDetailsQuery,
  searchPagesQuery,
  searchQueriesQuery,
} from './search-console-api.ts';
import { answerSeries } from './series.ts';
import { type SearchRow, SearchRows } from './testing/search-rows.ts';

// In Pacific time it is still the evening of October 30, and clocks go back two days later.
const NOW_MS = Date.parse('2026-10-31T05:30:00Z');

let fixture: HistoryStore;
const model = new SearchRows(new SeededRandom(9), { from: '2026-08-01', days: 92 });
const zones = new Zones();

beforeAll(async () => {
  fixture = await startHistoryStore();
  const deps = { rowStores: new PerShard([{ store: fixture.store, isStoreReachable: () => true }]) };
  for (const { rows, importedAtMs } of model.imports)
    await insertRows(deps, storedId('site'), { rows, importedAtMs });
  await fixture.store.command('SYSTEM STOP MERGES search_console');
  await insertRows(deps, storedId('other'), { rows: model.rows.slice(0, 50), importedAtMs: NOW_MS });
});
afterAll(() => fixture.stop());

function scopeOf(site = 'site', zone = 'Asia/Tokyo') {
  return { site: modelSite(site, zone), zone: zones.of(zone), nowMs: NOW_MS };
}

const between = (from: string, to: string) => model.rows.filter(({ date }) => date >= from && date <= to);

/** Figures by adding up the rows one by one. */
function figures(rows: readonly SearchRow[]) {
  let [clicks, impressions, positions] = [0, 0, 0];
  for (const row of rows) {
    clicks += row.clicks;
    impressions += row.impressions;
    for (let shown = 0; shown < row.impressions; shown += 1) positions += row.position;
  }
  if (impressions === 0) return { clicks, impressions, ctr: 0, position: null };
  const ctr = Number((clicks / impressions).toFixed(6));
  return { clicks, impressions, ctr, position: Math.round((positions / impressions) * 100) / 100 };
}

type Ranked = ReturnType<typeof figures> & { readonly [field: string]: unknown };

function ranked(rows: readonly SearchRow[], field: 'page' | 'query'): Ranked[] {
  return [...new Set(rows.map((row) => row[field]))]
    .map((word) => ({ word, ...figures(rows.filter((row) => row[field] === word)) }))
    .sort(
      (a, b) =>
        b.clicks - a.clicks ||
        b.impressions - a.impressions ||
        Buffer.compare(Buffer.from(a.word), Buffer.from(b.word)),
    )
    .map(({ word, ...counted }) => ({ [field]: word, ...counted }));
}

function series(rows: readonly SearchRow[], { from, days }: { from: string; days: number }) {
  return Array.from({ length: days }, (_, index) => {
    const date = new Date(Date.parse(from) + index * DAY_MS).toISOString().slice(0, 10);
    return { date, ...figures(rows.filter((row) => row.date === date)) };
  });
}

test('totals, the previous days and the series are sums of the rows of each day', async () => {
  const answer = await answerSeries(fixture, scopeOf(), readParameters('range=30d', overviewQuery));
  expect(answer).toEqual({
    metrics: figures(between('2026-10-01', '2026-10-30')),
    previous: figures(between('2026-09-01', '2026-09-30')),
    series: series(model.rows, { from: '2026-10-01', days: 30 }),
    interval: 'day',
  });
  expect(overviewAnswer.safeParse(answer).success).toBe(true);
  expect(answer.metrics.impressions).toBeGreaterThan(1_000);
});

test.each([
  ['range=today', '2026-10-30', 1, '2026-10-29', '2026-10-29'],
  ['range=yesterday', '2026-10-29', 1, '2026-10-28', '2026-10-28'],
  ['range=30min', '2026-10-30', 1, '2026-10-29', '2026-10-29'],
  ['range=last24h', '2026-10-29', 2, '2026-10-27', '2026-10-28'],
  ['', '2026-10-24', 7, '2026-10-17', '2026-10-23'],
  ['startDate=2026-09-09&endDate=2026-09-11', '2026-09-09', 3, '2026-09-06', '2026-09-08'],
])(
  'gsc/overview?%s begins on %s and has %d days of Pacific time',
  async (query, from, days, before, until) => {
    const answer = await answerSeries(fixture, scopeOf(), readParameters(query, overviewQuery));
    expect(answer.series).toEqual(series(model.rows, { from, days }));
    expect(answer.previous).toEqual(figures(between(before, until)));
  },
);

test('weeks begin on Monday, months on the first, and the first and last are cut by the range', async () => {
  const dates = 'startDate=2026-08-05&endDate=2026-10-20';
  const ask = (interval: string) =>
    answerSeries(fixture, scopeOf(), readParameters(`${dates}&interval=${interval}`, overviewQuery));
  expect((await ask('month')).series).toEqual([
    { date: '2026-08-01', ...figures(between('2026-08-05', '2026-08-31')) },
    { date: '2026-09-01', ...figures(between('2026-09-01', '2026-09-30')) },
    { date: '2026-10-01', ...figures(between('2026-10-01', '2026-10-20')) },
  ]);
  const weeks = (await ask('week')).series;
  expect(weeks[0]).toEqual({ date: '2026-08-03', ...figures(between('2026-08-05', '2026-08-09')) });
  expect(weeks[1]).toEqual({ date: '2026-08-10', ...figures(between('2026-08-10', '2026-08-16')) });
  expect(weeks.at(-1)).toEqual({ date: '2026-10-19', ...figures(between('2026-10-19', '2026-10-20')) });
});

test('pages and queries are ranked by clicks, impressions and text, page by page', async () => {
  const rows = between('2026-10-01', '2026-10-30');
  const pages = ranked(rows, 'page');
  const queries = ranked(rows, 'query');
  const askPages = (more: string) =>
    answerPages(fixture, scopeOf(), readParameters(`range=30d${more}`, searchPagesQuery));
  const askQueries = (more: string) =>
    answerQueries(fixture, scopeOf(), readParameters(`range=30d${more}`, searchQueriesQuery));
  expect(await askPages('')).toEqual(pages);
  expect(await askQueries('')).toEqual(queries);
  expect(await askQueries('&limit=3&cursor=2')).toEqual(queries.slice(2, 5));
  expect(await askQueries('&search=%C3%9Cber')).toEqual(
    queries.filter(({ query }) => String(query).toLowerCase().includes('über')),
  );
  expect((await askQueries('&search=%C3%9Cber')).length).toBeGreaterThan(0);
  expect(await askPages("&search='%25")).toEqual([]);
});

test('details are the series of one page with its queries, or of one query with its pages', async () => {
  const rows = between('2026-10-01', '2026-10-30');
  const page = 'https://site.example/b';
  const ofPage = model.rows.filter((row) => row.page === page);
  const asked = `range=30d&limit=2&page=${encodeURIComponent(page)}`;
  const answer = await answerPageDetails(fixture, scopeOf(), readParameters(asked, pageDetailsQuery));
  expect(answer).toEqual({
    page,
    metrics: figures(rows.filter((row) => row.page === page)),
    previous: figures(between('2026-09-01', '2026-09-30').filter((row) => row.page === page)),
    series: series(ofPage, { from: '2026-10-01', days: 30 }),
    interval: 'day',
    queries: ranked(
      rows.filter((row) => row.page === page),
      'query',
    ).slice(0, 2),
    nextCursor: '2',
  });
  const byQuery = await answerQueryDetails(
    fixture,
    scopeOf(),
    readParameters('range=30d&query=red shoes', queryDetailsQuery),
  );
  const ofQuery = model.rows.filter(({ query }) => query === 'red shoes');
  expect(byQuery).toMatchObject({
    series: series(ofQuery, { from: '2026-10-01', days: 30 }),
    pages: ranked(
      rows.filter(({ query }) => query === 'red shoes'),
      'page',
    ),
    nextCursor: null,
  });
});

test('opportunities are shown often, in the middle of the results, and clicked less than usual', async () => {
  const rows = between('2026-08-01', '2026-10-30').filter(({ query }) => query !== '');
  const expected = ranked(rows, 'query').flatMap((found) => {
    const { query } = found;
    const own = rows.filter((row) => row.query === query);
    const exact =
      own.reduce((sum, row) => sum + row.position * row.impressions, 0) / Math.max(1, found.impressions);
    const expectedCtr = EXPECTED_CTR[Math.round(exact) - 1] ?? 0;
    const missed = found.impressions * expectedCtr - found.clicks;
    if (found.impressions < 300 || exact < 4 || exact > 20 || missed <= 0) return [];
    return [{ ...found, expectedCtr, missedClicks: Math.round(missed * 100) / 100 }];
  });
  expected.sort((a, b) => b.missedClicks - a.missedClicks);
  expect(expected.length).toBeGreaterThan(1);
  expect(expected.length).toBeLessThan(ranked(rows, 'query').length);
  const asked = readParameters('range=3m&minImpressions=300', opportunitiesQuery);
  const answer = await answerOpportunities(fixture, scopeOf(), asked);
  expect(answer).toEqual(expected);
  expect(opportunitiesAnswer.safeParse(answer).success).toBe(true);
});

test('a query is cannibalized by pages that differ in more than their fragments', async () => {
  const rows = between('2026-10-24', '2026-10-30')
    .filter(({ query, impressions }) => query !== '' && impressions > 0)
    .map((row) => ({ ...row, page: row.page.replace(/#.*/s, '') }));
  const expected = [...new Set(rows.map(({ query }) => query))].flatMap((query) => {
    const own = rows.filter((row) => row.query === query);
    const pages = ranked(own, 'page');
    const { impressions, clicks } = figures(own);
    if (pages.length < 2 || impressions < 100) return [];
    const totals = { totalImpressions: impressions, totalClicks: clicks, totalPages: pages.length };
    return [{ query, ...totals, pages }];
  });
  expected.sort((a, b) => b.totalImpressions - a.totalImpressions || (a.query < b.query ? -1 : 1));
  expect(expected.length).toBeGreaterThan(2);
  const answer = await answerCannibalization(fixture, scopeOf(), readParameters('', cannibalizationQuery));
  expect(answer).toEqual(expected);
  expect(cannibalizationAnswer.safeParse(answer).success).toBe(true);
});

test('a query with 99 impressions, or with one page under two fragments, is not cannibalized', async () => {
  const deps = { rowStores: new PerShard([{ store: fixture.store, isStoreReachable: () => true }]) };
  const row = { date: '2026-10-30', page: 'https://a.example/', clicks: 1, position: 3 };
  const add = (query: string, page: string, impressions: number) => ({ ...row, query, page, impressions });
  const rows = [
    add('few', 'https://a.example/1', 50),
    add('few', 'https://a.example/2', 49),
    add('enough', 'https://a.example/1', 50),
    add('enough', 'https://a.example/2', 50),
    add('one', 'https://a.example/1#top', 90),
    add('one', 'https://a.example/1#end', 90),
    add('', 'https://a.example/1', 500),
    add('', 'https://a.example/2', 500),
  ];
  await insertRows(deps, storedId('edges'), { rows, importedAtMs: NOW_MS });
  const asked = readParameters('range=today', cannibalizationQuery);
  const answer = await answerCannibalization(fixture, scopeOf('edges'), asked);
  expect(answer.map(({ query, totalImpressions }) => [query, totalImpressions])).toEqual([['enough', 100]]);
});

test('positions 4 and 20 are opportunities, others and the usual rate itself are not', async () => {
  const deps = { rowStores: new PerShard([{ store: fixture.store, isStoreReachable: () => true }]) };
  const row = { date: '2026-10-30', page: 'https://a.example/', clicks: 0, impressions: 100 };
  const rows = [
    { ...row, query: 'at 4', position: 4 },
    { ...row, query: 'before 4', position: 3.99 },
    { ...row, query: 'at 20', position: 20 },
    { ...row, query: 'after 20', position: 20.01 },
    { ...row, query: 'half', position: 10.5 },
    { ...row, query: 'few', position: 5, impressions: 99 },
    { ...row, query: 'usual', position: 4, clicks: 8 },
    { ...row, query: '', position: 5 },
  ];
  await insertRows(deps, storedId('places'), { rows, importedAtMs: NOW_MS });
  const asked = readParameters('range=today', opportunitiesQuery);
  const answer = await answerOpportunities(fixture, scopeOf('places'), asked);
  expect(answer.map(({ query, expectedCtr, missedClicks }) => [query, expectedCtr, missedClicks])).toEqual([
    ['at 4', 0.08, 8],
    ['at 20', 0.01, 1],
    ['half', 0.01, 1],
  ]);
});

test('a site without rows has zeros and empty lists, whatever the range', async () => {
  const scope = scopeOf('empty');
  const none = { clicks: 0, impressions: 0, ctr: 0, position: null };
  for (const range of [
    'range=12m',
    'startDate=1902-01-01&endDate=1902-01-02',
    'startDate=2290-01-01&endDate=2290-02-01',
  ]) {
    const overview = await answerSeries(fixture, scope, readParameters(range, overviewQuery));
    expect(overview).toMatchObject({ metrics: none, previous: none });
    expect(await answerPages(fixture, scope, readParameters(range, searchPagesQuery))).toEqual([]);
    expect(await answerOpportunities(fixture, scope, readParameters(range, opportunitiesQuery))).toEqual([]);
    expect(await answerCannibalization(fixture, scope, readParameters(range, cannibalizationQuery))).toEqual(
      [],
    );
  }
});

test.each([
  ['startDate=2026-10-01T00:00:00Z&endDate=2026-10-02', /^startDate: expected a date/],
  ['startDate=2026-10-02&endDate=2026-10-01', /^endDate: /],
  ['startDate=2026-02-30&endDate=2026-03-01', /^startDate: /],
  ['range=7d&startDate=2026-10-01&endDate=2026-10-02', /^range: /],
  ['interval=hour', /^interval: /],
  ['startDate=1990-01-01&endDate=2026-01-01&interval=day', /^interval: the range has too many buckets/],
  ['filters=[]', /filters/],
])('gsc/overview?%s is rejected with the reason', async (query, message) => {
  const error = await Promise.resolve()
    .then(() => answerSeries(fixture, scopeOf(), readParameters(query, overviewQuery)))
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ status: 400, message: expect.stringMatching(message) });
});
