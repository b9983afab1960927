import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { keepHourlyPages, markLateHours, rollUp } from '../../processor/testing/rollups.ts';
import { exportQuery, metricsQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { readParameters } from '../http/parameters.ts';
import { answerActiveUsers } from '../insights/active-users.ts';
import { activeUsersQuery } from '../insights/active-users-api.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES } from '../insights/dimensions.ts';
import { historyFigures } from '../insights/metrics.ts';
import { answerEntryExit, answerPages } from '../insights/pages.ts';
import { entryExitQuery } from '../insights/pages-api.ts';
import { answerEventNames } from '../insights/vocabulary.ts';
import { eventNamesQuery } from '../insights/vocabulary-api.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { HotAnswers } from '../snapshot/hot-view.ts';
import type { SeamSources } from '../snapshot/question.ts';
import { seamOf } from '../snapshot/seam.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { ownerOfProfiles } from '../testing/stored-profiles.ts';
import { recountEntryExit, recountPages } from '../testing/visit-recount.ts';
import { addVisitTraffic, allThinned } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import type { PagesCache } from './answer-caches.ts';
import { FilteredPages } from './filtered-pages.ts';
import { CacheSpace } from './finalized-cache.ts';
import { FinalizedTitles } from './finalized-titles.ts';
import { FinalizedTotals } from './finalized-totals.ts';
import { FinalizedVisits } from './finalized-visits.ts';
import { FiguresCache } from './rollup-figures.ts';
import { RollupPages } from './rollup-pages.ts';
import { SessionRankings } from './session-rankings.ts';
import { ShownPages } from './shown-pages.ts';

const UNITS = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
] as const;
const zones = new Zones();
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FROM_MS = NOW_MS - 110 * HOUR_MS;
// Hours before this are finalized, and owners mark late changes to them. Much of the traffic is late.
const FINALIZED_MS = Math.floor((NOW_MS - 5 * HOUR_MS) / HOUR_MS) * HOUR_MS;
/** Spans before the requested ones are rolled up, too, though nothing happened then. */
const BEFORE_MS = 120 * HOUR_MS;
const LONG_BEFORE_MS = FROM_MS - BEFORE_MS - 20 * HOUR_MS;
// The amounts of a day fit into 64 bits; the amounts of the whole span do not.
const SPAN = { fromMs: FROM_MS, toMs: NOW_MS, isCoherent: true, amountScale: 300_000_000_000_000n };
const SITE = storedId('site');
const ROUNDS = repeats(4);
const ROOM = 50_000_000;
const [wide, small, none] = [new CacheSpace(ROOM), new CacheSpace(ROOM), new CacheSpace(ROOM)];

let fixture: HistoryStore;
let block = 0;
const seed = Number(process.env.SEED ?? 20_261_121);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);

beforeAll(async () => {
  fixture = await startHistoryStore();
  await keepHourlyPages(fixture.store);
  // States of sessions differ from their events here: with filters, all are counted by events.
  await allThinned(fixture.store);
});
afterAll(async () => {
  await fixture.stop();
});

async function landMarked(lane: number): Promise<void> {
  const flush = visits.nextFlush(lane);
  if (flush === undefined) return;
  const late = flush.changes.filter(({ atMs }) => atMs < FINALIZED_MS);
  const hours = new Map(
    late.map(({ projectId, atMs }) => {
      const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
      return [`${projectId} ${hourMs}`, { projectId: storedId(projectId), hourMs }];
    }),
  );
  const { flushNumber } = flush;
  const lateHours = [...hours.values()];
  await markLateHours(fixture.store, { lane, flushNumber, lateHours, nowMs: NOW_MS });
  await visits.land(lane, fixture.store);
}

/** Rolls up finalized hours and days: first everything for all sites, later some again for one site. */
async function rollUpSome(): Promise<void> {
  const isFirst = block === 0;
  const share = pick([0.5, 0.8, 1]);
  for (const [unit, lengthMs] of UNITS) {
    const first = Math.ceil((FROM_MS - BEFORE_MS) / lengthMs);
    const count = Math.floor(FINALIZED_MS / lengthMs) - first;
    const startsMs = Array.from({ length: count }, (_, index) => (first + index) * lengthMs);
    const some = startsMs.filter(() => seeded.chance(share));
    block += 2;
    await rollUp(fixture.store, {
      projectId: isFirst ? undefined : SITE,
      unit,
      startsMs: isFirst ? startsMs : some,
      block,
      flushed: [visits.known(0), visits.known(1)],
      nowMs: NOW_MS,
    });
  }
}

type HistorySource = SeamSources['history'];

/** Runs statements like the service, and counts them and the hours and days that each read from rollups. */
function counting(): {
  readonly history: HistorySource;
  readonly rolledUp: (name: string, unit: RollupUnit) => number;
  readonly asked: (name: string) => number;
} {
  const counts = new Map<string, number>();
  const asked = new Map<string, number>();
  const ask: StatementRunner['ask'] = async (statement, seam) => {
    asked.set(statement.name, (asked.get(statement.name) ?? 0) + 1);
    for (const [unit] of UNITS) {
      const { length = 0 } = (statement.parameters[`${unit}Keys`] ?? []) as unknown[];
      const key = `${statement.name} ${unit}`;
      counts.set(key, (counts.get(key) ?? 0) + length);
    }
    return fixture.history.ask(statement, seam);
  };
  return {
    history: { ask, rejectAway: () => {} },
    rolledUp: (name, unit) => counts.get(`${name} ${unit}`) ?? 0,
    asked: (name) => asked.get(name) ?? 0,
  };
}

type RollupUnit = (typeof UNITS)[number][0];

/** Nothing is rolled up: everything comes from rows. */
const fromRows: HistorySource = {
  ask: async (statement, seam) =>
    statement.name === 'rollup-spans' || statement.name === 'rollup-days'
      ? []
      : fixture.history.ask(statement, seam),
  rejectAway: () => {},
};

const QUESTIONS = [
  ['', 'UTC'],
  ['range=today', 'Europe/Berlin'],
  ['range=yesterday', 'Asia/Kathmandu'],
  ['range=last24h', 'Asia/Kolkata'],
  ['range=30d', 'America/New_York'],
  ['startDate=2026-10-23&endDate=2026-10-25', 'Europe/Berlin'],
  ['startDate=2026-10-23T10:20:30Z&endDate=2026-10-25T12:00:00.500Z', 'UTC'],
  ['startDate=1980-01-01&endDate=2026-10-25', 'UTC'],
] as const;
const filters = (...each: readonly [name: string, operator: string, ...value: string[]][]) =>
  `&filters=${encodeURIComponent(JSON.stringify(each.map(([name, operator, ...value]) => ({ name, operator, value }))))}`;
/** On the beginning of a visit, and on later facts about it. */
const FILTERS = [
  '',
  '',
  filters(['country', 'is', 'one']),
  filters(['browser', 'isNot', 'two']),
  filters(['country', 'isNot', 'one'], ['referrer_name', 'isNotNull']),
  filters(['isBounce', 'is', 'true']),
] as const;
/** In some rounds, all of this range and of the span before it is rolled up. */
const FINALIZED_QUESTION = ['startDate=2026-10-23&endDate=2026-10-24', 'UTC'] as const;
/** Nothing happened before this range, so the whole span before it is always rolled up. */
const QUIET_BEFORE = ['startDate=2026-10-20T22:00:00Z&endDate=2026-10-25T12:00:00Z', 'UTC'] as const;
const INTERVALS = ['', '&interval=hour', '&interval=day', '&interval=week'] as const;

function pick<T>(choices: readonly T[]): T {
  return must(choices[seeded.below(choices.length)], 'there is nothing to pick');
}

/** One with room for all visitors, and one that is soon too small. */
const caches = [
  new FiguresCache(wide, undefined, 0),
  new FiguresCache(small, 12, Number.POSITIVE_INFINITY),
] as const;
const titles = { titles: new FinalizedTitles(ROOM), shown: new ShownPages(ROOM) };
/** The last one has no room. */
const pageCaches = [
  { rollups: new RollupPages(wide), filtered: new FilteredPages(wide, 0), ...titles },
  { rollups: new RollupPages(small, 30), filtered: new FilteredPages(small, 0), ...titles },
  {
    rollups: new RollupPages(none, 0, 0),
    filtered: new FilteredPages(none, Number.POSITIVE_INFINITY),
    titles: new FinalizedTitles(0),
    shown: titles.shown,
  },
] as const;

async function compareAnyMetrics(history: HistorySource, hot: HotAnswers): Promise<void> {
  const question = pick(QUESTIONS);
  const [query] = question;
  const interval = query.includes('1980') || query === 'range=30d' ? '' : pick(INTERVALS);
  await compareMetrics(history, hot, question, `${interval}${pick(FILTERS)}`);
}

async function compareMetrics(
  history: HistorySource,
  hot: HotAnswers,
  [query, zone]: readonly [query: string, zone: string],
  more: string,
): Promise<void> {
  const parameters = readParameters(`${query}${more}`, metricsQuery);
  const range = rangeOf(parameters, NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const seam = seamOf(hot);
  const about = { projectId: SITE, filters: parameters.filters, range };
  const rows = await historyFigures(fromRows, about, seam);
  // From the second question on the previous span may be cached, from the third on the rollups of the current one.
  for (const [time, cache] of [caches[0], caches[0], caches[1], caches[1]].entries()) {
    const figures = await historyFigures(history, about, seam, cache);
    expect(figures, `seed ${seed}: metrics?${query}${more} in ${zone}, ${time}`).toEqual(rows);
  }
}

/** One that caches every ranking, and one that caches none. */
const rankings = [new SessionRankings(wide, 0), new SessionRankings(none, Number.POSITIVE_INFINITY)] as const;

async function compareBreakdown(history: HistorySource, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const name = pick(DIMENSION_NAMES);
  const page = `limit=${pick([2, 20])}&cursor=${pick([0, 3])}`;
  const parameters = readParameters(`${query}&${page}${pick(FILTERS)}`, listQuery);
  const scope = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const ask = (from: HistorySource, cache: SessionRankings) => {
    const sources = { history: from, hot: { rows: async () => hot } };
    return answerBreakdown(sources, scope, parameters, name, cache);
  };
  const rows = await ask(fromRows, rankings[1]);
  // The second question caches the finalized part.
  for (const [time, cache] of [rankings[0], ...rankings].entries()) {
    const label = `seed ${seed}: ${name}?${query}&${page} in ${zone}, ${time}`;
    expect(await ask(history, cache), label).toEqual(rows);
  }
}

const finalizedVisits = [new FinalizedVisits(wide), new FinalizedVisits(none, 0)] as const;

async function compareActiveUsers(history: HistorySource, hot: HotAnswers): Promise<void> {
  const zone = pick(['UTC', 'Europe/Berlin', 'Asia/Kathmandu']);
  const days = `${pick(['days=3', 'days=1', 'range=7d'])}${pick(FILTERS)}`;
  const parameters = readParameters(days, activeUsersQuery);
  const scope = { site: modelSite(SITE, zone), zone: zones.of(zone), nowMs: NOW_MS };
  const ask = (from: HistorySource, cache: FinalizedVisits) => {
    const sources = { history: from, hot: { rows: async () => hot } };
    return answerActiveUsers(sources, scope, parameters, cache);
  };
  const rows = await ask(fromRows, finalizedVisits[1]);
  for (const [time, cache] of [finalizedVisits[0], ...finalizedVisits, finalizedVisits[0]].entries())
    expect(await ask(history, cache), `seed ${seed}: active users, ${days} in ${zone}, ${time}`).toEqual(
      rows,
    );
}

async function comparePages(
  history: HistorySource,
  hot: HotAnswers,
  [query, zone]: readonly [query: string, zone: string] = pick(QUESTIONS),
): Promise<void> {
  const [limit, cursor] = pick([
    [1_000, 0],
    [3, 0],
    [5, 4],
    [10, 10],
  ] as const);
  const parameters = readParameters(`${query}&limit=${limit}&cursor=${cursor}`, listQuery);
  const range = rangeOf(parameters, NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const scope = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const { span } = range;
  const all = recountPages({
    span,
    currency: 'EUR',
    events: visits.events(SITE),
    visits: visits.visits(SITE),
  });
  // The second question caches the rollups of these pages.
  const ask = (from: HistorySource, cache: PagesCache, text = '') => {
    const filtered = readParameters(`${query}&limit=${limit}&cursor=${cursor}${text}`, listQuery);
    return answerPages({ history: from, hot: { rows: async () => hot } }, scope, filtered, cache);
  };
  const label = `seed ${seed}: pages?${query} in ${zone}, ${limit} from ${cursor}`;
  for (const cache of [pageCaches[0], ...pageCaches, pageCaches[1]])
    expect(await ask(history, cache), label).toEqual(all.slice(cursor, cursor + limit));
  const filtered = pick(FILTERS);
  const rows = await ask(fromRows, pageCaches[0], filtered);
  for (const cache of [pageCaches[0], pageCaches[0], pageCaches[2]])
    expect(await ask(history, cache, filtered), `${label}${filtered}`).toEqual(rows);
}

const entryExitCaches = { rankings: rankings[0], pages: pageCaches[0] };

async function compareEntryExit(history: HistorySource, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const mode = pick(['entry', 'exit'] as const);
  const cursor = pick([0, 2]);
  const filtered = pick(FILTERS);
  const text = `${query}&limit=4&cursor=${cursor}&mode=${mode}${filtered}`;
  const parameters = readParameters(text, entryExitQuery);
  const scope = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const ask = (from: HistorySource) =>
    answerEntryExit({ history: from, hot: { rows: async () => hot } }, scope, parameters, entryExitCaches);
  const rows = await ask(fromRows);
  for (const time of [0, 1])
    expect(await ask(history), `seed ${seed}: entry_exit?${text} in ${zone}, ${time}`).toEqual(rows);
  if (filtered !== '') return;
  const range = rangeOf(parameters, NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const scene = {
    span: range.span,
    currency: 'EUR',
    events: visits.events(SITE),
    visits: visits.visits(SITE),
  };
  expect(rows).toEqual(recountEntryExit(scene, mode).slice(cursor, cursor + 4));
}

async function compareNames(history: HistorySource, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const parameters = readParameters(`${query}&limit=20&cursor=${pick([0, 3])}`, eventNamesQuery);
  const scope = { site: modelSite(SITE, zone), zone: zones.of(zone), nowMs: NOW_MS };
  const [fromRollups, rows] = await Promise.all(
    [history, fromRows].map((from) =>
      answerEventNames({ history: from, hot: { rows: async () => hot } }, scope, parameters),
    ),
  );
  expect(fromRollups, `seed ${seed}: names?${query} in ${zone}`).toEqual(rows);
}

const SELECTIONS = [
  '',
  'end=2026-10-24',
  'start=2026-10-22T10:20:30Z&end=2026-10-25',
  'event=session_start',
  'event=revenue&event=screen_view&start=1950-01-01',
  'event=none',
] as const;

const totals = new FinalizedTotals(wide);

async function compareExport(history: HistorySource, hot: HotAnswers): Promise<void> {
  const query = pick(SELECTIONS);
  const parameters = readParameters(`${query}&limit=${pick([7, 50])}&page=${pick([1, 3, 9])}`, exportQuery);
  const scope = { site: modelSite(SITE), zone: zones.of('UTC'), nowMs: NOW_MS };
  const [fromRollups, again, rows] = await Promise.all(
    [history, history, fromRows].map((from) =>
      answerExport(
        { history: from, hot: { rows: async () => hot }, records: ownerOfProfiles() },
        scope,
        parameters,
        totals,
      ),
    ),
  );
  for (const answer of [fromRollups, again])
    expect(answer, `seed ${seed}: export/events?${query}`).toEqual(rows);
}

async function compareAll(history: HistorySource, hot: HotAnswers): Promise<void> {
  await compareAnyMetrics(history, hot);
  await compareMetrics(history, hot, QUIET_BEFORE, pick(INTERVALS));
  await compareMetrics(history, hot, QUIET_BEFORE, `${pick(INTERVALS)}${pick(FILTERS)}`);
  await comparePages(history, hot);
  await compareEntryExit(history, hot);
  await compareBreakdown(history, hot);
  await compareActiveUsers(history, hot);
  await compareNames(history, hot);
  await compareExport(history, hot);
}

// The end asserts a minimum that came from rollups: comparing rows with rows would show nothing.
test('rollups and rows give what rows alone give, whatever is rolled up, marked late, hot or landing', async () => {
  const { history, rolledUp, asked } = counting();
  for (let round = 0; round < ROUNDS; round += 1) {
    addVisitTraffic(visits, seeded, { ...SPAN, steps: 25 });
    // Late changes before the first rollup of all.
    if (round > ROUNDS * 0.7)
      addVisitTraffic(visits, seeded, {
        ...SPAN,
        fromMs: LONG_BEFORE_MS,
        toMs: LONG_BEFORE_MS + 10 * HOUR_MS,
        steps: 2,
      });
    const lane = seeded.below(2);
    const before = await visits.hotView().rows(SITE);
    if (seeded.chance(0.5)) visits.cut(lane);
    if (seeded.chance(0.6)) await landMarked(lane);
    if (seeded.chance(0.5)) visits.complete(lane);
    if (round % 2 === 1) {
      // Without a quiet moment, every hour would always have something hot.
      for (const each of [0, 1]) {
        visits.cut(each);
        while (visits.nextFlush(each) !== undefined) await landMarked(each);
        visits.complete(each);
      }
      await rollUpSome();
      // A question that began earlier: the rollups include its hot rows by now.
      await compareAll(history, before);
      const quiet = await visits.hotView().rows(SITE);
      for (let time = 0; time < 2; time += 1) await compareAll(history, quiet);
      // The same rollups in other buckets.
      for (const interval of INTERVALS.slice(1))
        await compareMetrics(history, quiet, FINALIZED_QUESTION, interval);
      await comparePages(history, quiet, FINALIZED_QUESTION);
      if (seeded.chance(0.5)) addVisitTraffic(visits, seeded, { ...SPAN, steps: 4 });
    }
    if (block > 0) await compareAll(history, await visits.hotView().rows(SITE));
  }
  expect([...wide.values.keys()].some((key) => key.endsWith(' previous-figures'))).toBe(true);
  expect(rolledUp('metrics-events-rollup', 'hour')).toBeGreaterThan(ROUNDS * 5);
  expect(rolledUp('metrics-finalized', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('metrics-events-rows', 'hour')).toBeGreaterThan(ROUNDS * 5);
  expect(rolledUp('pages-finalized', 'hour')).toBeGreaterThan(ROUNDS / 2);
  expect(rolledUp('pages-counted', 'hour')).toBeGreaterThan(ROUNDS / 2);
  expect(rolledUp('pages-members', 'hour')).toBeGreaterThan(ROUNDS / 2);
  expect(rolledUp('breakdown-rollup', 'day')).toBeGreaterThan(ROUNDS / 8);
  expect(rolledUp('active-users-rollup', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('pages-rollup', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('pages-rollup', 'day')).toBeGreaterThan(ROUNDS / 4);
  expect(rolledUp('page-titles-rows', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('page-titles-finalized', 'hour')).toBeGreaterThan(ROUNDS / 4);
  expect(rolledUp('page-titles-finalized', 'day')).toBeGreaterThan(ROUNDS / 8);
  expect(rolledUp('metrics-counted', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('metrics-members', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('active-users-finalized', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('active-users-members', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('ranking-rollup', 'day')).toBeGreaterThan(ROUNDS / 8);
  expect(rolledUp('ranking-finalized', 'day')).toBeGreaterThan(ROUNDS / 8);
  expect(rolledUp('ranking-finalized', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('ranking-visitors', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('ranking-rows', 'hour')).toBeGreaterThan(ROUNDS);
  expect(rolledUp('event-names-rollup', 'day')).toBeGreaterThan(ROUNDS / 4);
  expect(rolledUp('event-total-rollup', 'day')).toBeGreaterThan(ROUNDS / 8);
  const inParts = ['metrics-filtered-visitors', 'active-users-filtered-members', 'pages-filtered-counted'];
  for (const name of inParts) expect(asked(name), name).toBeGreaterThan(0);
});
