import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { readParameters } from '../http/parameters.ts';
import type { SeamSources } from '../snapshot/question.ts';
import { awayHistory, type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { recountEntryExit, recountPages } from '../testing/visit-recount.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { answerEntryExit, answerPages, entryExitInsight, pagesInsight } from './pages.ts';
import { entryExitQuery, pagesAnswer } from './pages-api.ts';

const zones = new Zones();
// The middle of a day on which clocks in Europe go back.
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
/** Amounts whose sums exceed 64 bits. */
const LARGE = 500_000_000_000_000n;
const FROM_MS = NOW_MS - 72 * HOUR_MS;
const QUESTIONS = ['pages', 'entry', 'exit'] as const;

let fixture: HistoryStore;
const seed = Number(process.env.SEED ?? 20_261_026);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
beforeAll(async () => {
  fixture = await startHistoryStore();
  // Complete flushes known to the owners, flushes that landed unnoticed, flushes that did not land, and open rows.
  for (let round = 0; round < 6; round += 1) {
    addVisitTraffic(visits, seeded, { steps: 200, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
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

interface PagesQuestion {
  readonly about: (typeof QUESTIONS)[number];
  readonly query: string;
  readonly zone?: string;
  readonly currency?: string;
}

function sourcesNow(): SeamSources {
  return { history: fixture.history, hot: visits.hotView() };
}

function ask({ about, query, zone = 'UTC', currency = 'EUR' }: PagesQuestion, sources = sourcesNow()) {
  const scope = { site: modelSite('site', zone, currency), zone: zones.of(zone), nowMs: NOW_MS };
  const parameters = readParameters(about === 'exit' ? `${query}&mode=exit` : query, entryExitQuery);
  return about === 'pages'
    ? answerPages(sources, scope, parameters)
    : answerEntryExit(sources, scope, parameters);
}

function expected({ about, query, zone = 'UTC', currency = 'EUR' }: PagesQuestion) {
  const range = rangeOf(readParameters(query, entryExitQuery), NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const from = {
    span: range.span,
    currency,
    events: visits.events('site'),
    visits: visits.visits('site'),
  };
  return about === 'pages' ? recountPages(from) : recountEntryExit(from, about);
}

test.each(
  QUESTIONS.flatMap((about) =>
    (
      [
        ['', 'UTC', 'EUR'],
        ['range=today', 'Europe/Berlin', 'USD'],
        ['range=yesterday', 'Asia/Kathmandu', 'EUR'],
        ['range=30min', 'Asia/Kolkata', 'EUR'],
        ['startDate=2026-10-24&endDate=2026-10-25', 'Europe/Berlin', 'JPY'],
        ['startDate=2026-10-24T10:20:30Z&endDate=2026-10-25T12:00:00.500Z', 'UTC', 'EUR'],
        ['range=lastYear', 'UTC', 'EUR'],
      ] as const
    ).map(([query, zone, currency]) => [about, query, zone, currency] as const),
  ),
)('%s?%s in %s and %s is what a count of everything gives', async (about, query, zone, currency) => {
  const question: PagesQuestion = { about, query: `${query}&limit=1000`, zone, currency };
  const answer = await ask(question);
  expect(answer, `seed ${seed}`).toEqual(expected(question));
  expect(pagesAnswer.safeParse(answer).success).toBe(true);
});

test('the traffic has titles, revenue and sessions that began on a page', () => {
  const rows = expected({ about: 'pages', query: '' });
  expect(rows.length).toBeGreaterThan(15);
  expect(rows.some(({ title }) => title !== '')).toBe(true);
  expect(rows.some(({ revenue }) => revenue !== 0)).toBe(true);
  expect(rows.some(({ avg_duration }) => avg_duration > 0)).toBe(true);
});

test.each(QUESTIONS)('pages of %s divide one order: every row comes exactly once', async (about) => {
  const whole = expected({ about, query: '' });
  expect(whole.length).toBeGreaterThan(15);
  expect(await ask({ about, query: '' })).toEqual(whole.slice(0, 10));
  const rows = [];
  for (let cursor = 0; cursor < whole.length; cursor += 7) {
    rows.push(...(await ask({ about, query: `limit=7&cursor=${cursor}` })));
  }
  expect(rows).toEqual(whole);
  expect(await ask({ about, query: `cursor=${whole.length}` })).toEqual([]);
});

test('pages are the same whatever lands or merges between the reads', async () => {
  for (let round = 0; round < 4; round += 1) {
    addVisitTraffic(visits, seeded, { steps: 60, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
    for (const lane of [0, 1]) if (seeded.chance(0.7)) visits.cut(lane);
    const before = QUESTIONS.map((about) => expected({ about, query: '' }));
    // Hot rows from before anything lands are used again afterwards.
    const rows = await visits.hotView().rows(storedId('site'));
    const early = { history: fixture.history, hot: { rows: async () => rows } };
    const read = (sources: SeamSources) =>
      Promise.all(QUESTIONS.map((about) => ask({ about, query: 'limit=1000' }, sources)));
    expect(await read(early), `seed ${seed}`).toEqual(before);
    for (const lane of [0, 1]) {
      await visits.land(lane, fixture.store);
      expect(await read(early), `seed ${seed}`).toEqual(before);
      if (seeded.chance(0.5)) visits.complete(lane);
      expect(await read(sourcesNow()), `seed ${seed}`).toEqual(before);
    }
    await fixture.store.command('OPTIMIZE TABLE sessions FINAL');
    expect(await read(early), `seed ${seed}`).toEqual(before);
    expect(await read(sourcesNow()), `seed ${seed}`).toEqual(before);
  }
});

test('a page keeps its title when a later view has none, and pages of two origins are two', async () => {
  const own = new Visits(1);
  const origin = 'https://a.example';
  const view = {
    sessionId: 'a',
    projectId: 'own',
    deviceId: 'd',
    profileId: '',
    name: 'screen_view',
    origin,
    path: '/',
    title: '',
    atMs: NOW_MS - 1,
    revenue: 0n,
    currency: '',
  };
  const sale = { ...view, name: 'revenue', title: 'Sold', revenue: 250n, currency: 'EUR' };
  own.add(0, { ...view, id: '1', atMs: NOW_MS - 3, title: 'Old' });
  own.add(0, { ...view, id: '3', atMs: NOW_MS - 2, title: 'Last' });
  own.add(0, { ...view, id: '2', atMs: NOW_MS - 2, title: 'Not last' });
  own.add(0, { ...view, id: '4', deviceId: 'e', sessionId: 'b' });
  own.add(0, { ...sale, id: '5' });
  own.add(0, { ...view, id: '6', origin: 'https://b.example' });
  // One page without views, and one whose visitor is unknown.
  own.add(0, { ...sale, id: '7', path: '/sold' });
  own.add(0, { ...view, id: '8', path: '/unknown', sessionId: '', deviceId: '' });
  const scope = { site: modelSite('own'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const sources = { history: fixture.history, hot: own.hotView() };
  const { answer, schema } = pagesInsight(sources);
  const rows = await answer(scope, readParameters('', schema));
  const rest = { bounce_rate: 0, avg_duration: 0, revenue: 0 };
  const one = { ...rest, title: '', sessions: 1, pageviews: 1, visitors: 1 };
  expect(rows).toEqual([
    { ...rest, origin, path: '/', title: 'Last', sessions: 2, pageviews: 4, visitors: 2, revenue: 2.5 },
    { ...one, origin: 'https://b.example', path: '/' },
    { ...one, origin, path: '/unknown', sessions: 0, visitors: 0 },
  ]);
});

test('an entry page without a view has no title, and a session has one entry page and one exit page', async () => {
  // A lane without a flush in the store.
  const own = new Visits(3);
  const [entryOrigin, exitOrigin] = ['https://a.example', 'https://b.example'];
  const visit = {
    projectId: 'own',
    deviceId: 'd',
    profileId: '',
    startedAtMs: NOW_MS - 2_500,
    endedAtMs: NOW_MS,
    screenViews: 1,
    revenue: new Map([
      ['EUR', 1_999n],
      ['USD', 5n],
    ]),
    texts: { entryOrigin, entryPath: '/in', exitOrigin, exitPath: '/out' },
  };
  own.put(2, { ...visit, id: 'a' });
  own.cut(2);
  own.put(2, { ...visit, id: 'a', profileId: 'p', screenViews: 2 });
  own.put(2, { ...visit, id: 'b', profileId: 'p' });
  const scope = { site: modelSite('own'), zone: zones.of('UTC'), nowMs: NOW_MS };
  const { answer, schema } = entryExitInsight({ history: fixture.history, hot: own.hotView() });
  const figures = {
    title: '',
    sessions: 2,
    pageviews: 3,
    visitors: 1,
    bounce_rate: 50,
    avg_duration: 2.5,
    revenue: 39.98,
  };
  expect(await answer(scope, readParameters('', schema))).toEqual([
    { origin: entryOrigin, path: '/in', ...figures },
  ]);
  expect(await answer(scope, readParameters('mode=exit', schema))).toEqual([
    { origin: exitOrigin, path: '/out', ...figures },
  ]);
});

test('an away owner is 503, and with partial=true its rows are missing', async () => {
  addVisitTraffic(visits, seeded, { steps: 100, fromMs: FROM_MS, toMs: NOW_MS, amountScale: LARGE });
  const away = () => ({ history: fixture.history, hot: visits.hotView([1]) });
  await expect(ask({ about: 'pages', query: '' }, away())).rejects.toMatchObject({
    status: 503,
    reason: 'lane-away',
  });
  const views = sumOfViews(await ask({ about: 'pages', query: 'partial=true&limit=1000' }, away()));
  expect(views).toBeGreaterThan(0);
  expect(views).toBeLessThan(sumOfViews(expected({ about: 'pages', query: '' })));
});

function sumOfViews(rows: readonly { readonly pageviews: number }[]): number {
  return rows.reduce((total, { pageviews }) => total + pageviews, 0);
}

test.each(QUESTIONS)('without the store %s is rejected, with partial=true too', async (about) => {
  const history = awayHistory();
  const sources = { history, hot: visits.hotView() };
  const rejected = { status: 503, reason: 'store-away' };
  await expect(ask({ about, query: 'partial=true' }, sources)).rejects.toMatchObject(rejected);
});
