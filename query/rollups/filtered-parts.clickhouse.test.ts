import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { answerActiveUsers } from '../insights/active-users.ts';
import { activeUsersQuery } from '../insights/active-users-api.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { historyFigures } from '../insights/metrics.ts';
import { answerEntryExit, answerPages } from '../insights/pages.ts';
import { entryExitQuery } from '../insights/pages-api.ts';
import type { HotAnswers } from '../snapshot/hot-view.ts';
import type { SeamSources } from '../snapshot/question.ts';
import { seamOf } from '../snapshot/seam.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { LateLanding } from '../testing/late-landing.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { type ModelVisit, type VisitEvent, Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { FilteredPages } from './filtered-pages.ts';
import { CacheSpace } from './finalized-cache.ts';
import { FinalizedTitles } from './finalized-titles.ts';
import { FinalizedVisits } from './finalized-visits.ts';
import { FiguresCache } from './rollup-figures.ts';
import { RollupPages } from './rollup-pages.ts';
import { SessionRankings } from './session-rankings.ts';
import { ShownPages } from './shown-pages.ts';

const SITE = storedId('site');
const zones = new Zones();
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FROM_MS = NOW_MS - 5 * DAY_MS;
/** Hours before this are finalized. */
const FINALIZED_MS = Math.floor((NOW_MS - 4 * HOUR_MS) / HOUR_MS) * HOUR_MS;
/** Start of a range, in the middle of the traffic. */
const MIDDLE_MS = Date.parse('2026-10-23T05:00:00Z');
/** A multiple of four, because each kind of late change comes in one of four rounds. */
const ROUNDS = repeats(2);
/** The bytes of a cache. */
const ROOM = 50_000_000;
const SESSION_MAX_MS = 100 * 60_000;
const PATHS = ['/', '/a', '/b', '/buy'] as const;
const VALUES = ['', 'one', 'two'] as const;
const seed = Number(process.env.SEED ?? 20_261_123);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);
let lastId = 0;
const landing = new LateLanding(visits);

let fixture: HistoryStore;
beforeAll(async () => {
  fixture = await startHistoryStore();
});
afterAll(async () => {
  await fixture.stop();
});

type HistorySource = SeamSources['history'];
const asked = new Map<string, number>();
const history: HistorySource = {
  ask: (statement, seam) => {
    asked.set(statement.name, (asked.get(statement.name) ?? 0) + 1);
    return fixture.history.ask(statement, seam);
  },
  rejectAway: () => {},
};
/** Nothing counts as finalized. */
const fromRows: HistorySource = {
  ask: async (statement, seam) =>
    statement.name === 'rollup-spans' || statement.name === 'rollup-days'
      ? []
      : fixture.history.ask(statement, seam),
  rejectAway: () => {},
};

/**
 * A whole visit, with a session that equals the sum of its events. Some visits cross midnights, or reach into hours
 * that are not finalized.
 */
function addVisit(fromMs: number, toMs: number): void {
  const lane = seeded.below(2);
  lastId += 1;
  const id = `${lane}c${lastId.toString(16)}`;
  const startedAtMs = fromMs + seeded.below(toMs - fromMs);
  const times = Array.from({ length: seeded.below(4) }, () => startedAtMs + seeded.below(SESSION_MAX_MS));
  const deviceId = `d${seeded.below(25)}`;
  const profileId = seeded.chance(0.3) ? `p${seeded.below(8)}` : '';
  const entry = {
    country: seeded.one(VALUES),
    browser: seeded.one(VALUES),
    referrerName: seeded.one(VALUES),
  };
  const events = [startedAtMs, ...times]
    .filter((atMs) => atMs < NOW_MS)
    .sort((a, b) => a - b)
    .map((atMs, index): VisitEvent => {
      lastId += 1;
      const isSale = index > 0 && seeded.chance(0.2);
      return {
        id: lastId.toString(16),
        sessionId: id,
        projectId: SITE,
        deviceId,
        // A login in mid-visit makes the whole visit one of the profile.
        profileId: index === 0 ? '' : profileId,
        name: isSale ? 'revenue' : 'screen_view',
        atMs,
        origin: 'https://a.example',
        path: seeded.one(PATHS),
        title: '',
        revenue: isSale ? BigInt(seeded.below(5_000)) : 0n,
        currency: isSale ? 'EUR' : '',
        columns: { ...entry, country: seeded.one(VALUES) },
      };
    });
  const [first, last] = [must(events[0], 'no event'), must(events.at(-1), 'no event')];
  const earned = events.reduce((sum, { revenue }) => sum + revenue, 0n);
  const visit: ModelVisit = {
    id,
    projectId: SITE,
    deviceId,
    profileId: events.length > 1 ? profileId : '',
    startedAtMs: first.atMs,
    endedAtMs: last.atMs,
    touchedAtMs: last.atMs,
    screenViews: events.filter(({ name }) => name === 'screen_view').length,
    revenue: earned === 0n ? new Map() : new Map([['EUR', earned]]),
    texts: {
      ...entry,
      entryOrigin: first.origin,
      entryPath: first.path,
      exitOrigin: last.origin,
      exitPath: last.path,
    },
  };
  for (const event of events) visits.add(lane, event);
  visits.put(lane, visit);
  if (seeded.chance(0.2)) addAlone(lane, startedAtMs);
}

/** The visit began before the range of `MIDDLE_MS` and has events in it. */
function reachesIntoMiddle({ startedAtMs, endedAtMs }: ModelVisit): boolean {
  return startedAtMs < MIDDLE_MS && endedAtMs > MIDDLE_MS;
}

/** An event without a session, which is filtered by its own columns. */
function addAlone(lane: number, atMs: number): void {
  lastId += 1;
  visits.add(lane, {
    id: lastId.toString(16),
    sessionId: '',
    projectId: SITE,
    deviceId: `d${seeded.below(25)}`,
    profileId: '',
    name: 'screen_view',
    atMs,
    origin: 'https://a.example',
    path: seeded.one(PATHS),
    title: '',
    revenue: 0n,
    currency: '',
    columns: { country: seeded.one(VALUES), browser: seeded.one(VALUES), referrerName: seeded.one(VALUES) },
  });
}

/** A late event turns out to be the first of a visit: the visit begins earlier, with another entry. */
function changeEntry(mayChange: (visit: ModelVisit) => boolean): void {
  const visit = pick(visits.visits(SITE).filter(mayChange));
  const lane = Number(visit.id.slice(0, 1));
  lastId += 1;
  const atMs = visit.startedAtMs - 1 - seeded.below(HOUR_MS / 2);
  const entry = {
    country: seeded.one(VALUES),
    browser: seeded.one(VALUES),
    referrerName: seeded.one(VALUES),
  };
  const path = seeded.one(PATHS);
  visits.put(lane, {
    ...visit,
    startedAtMs: atMs,
    screenViews: visit.screenViews + 1,
    texts: { ...visit.texts, ...entry, entryPath: path },
  });
  visits.add(lane, {
    id: lastId.toString(16),
    sessionId: visit.id,
    projectId: SITE,
    deviceId: visit.deviceId,
    profileId: '',
    name: 'screen_view',
    atMs,
    origin: 'https://a.example',
    path,
    title: '',
    revenue: 0n,
    currency: '',
    columns: entry,
  });
}

const FROM_MIDDLE = [
  'startDate=2026-10-23T05:00:00Z&endDate=2026-10-25T12:00:00Z',
  'Asia/Kathmandu',
] as const;
const SPANS = [
  ['startDate=2026-10-21&endDate=2026-10-25', 'UTC'],
  ['startDate=2026-10-22&endDate=2026-10-25', 'Europe/Berlin'],
  FROM_MIDDLE,
  ['startDate=2026-10-15&endDate=2026-10-25', 'America/New_York'],
  ['range=7d', 'UTC'],
] as const;
const FILTERS = [
  [['country', 'is', 'one']],
  [['browser', 'isNot', 'two']],
  [
    ['country', 'isNot', 'one'],
    ['referrer_name', 'isNotNull'],
  ],
] as const;

function pick<Choice>(choices: readonly Choice[]): Choice {
  return must(choices[seeded.below(choices.length)], 'there is nothing to pick');
}

function filtersText(filters: readonly (readonly string[])[]): string {
  const named = filters.map(([name, operator, ...value]) => ({ name, operator, value }));
  return `&filters=${encodeURIComponent(JSON.stringify(named))}`;
}

/** Caches everything, however small. */
const caches = {
  figures: new FiguresCache(new CacheSpace(ROOM), undefined, 0),
  visits: new FinalizedVisits(new CacheSpace(ROOM)),
  pages: {
    rollups: new RollupPages(new CacheSpace(ROOM)),
    filtered: new FilteredPages(new CacheSpace(ROOM), 0),
    titles: new FinalizedTitles(ROOM),
    shown: new ShownPages(ROOM),
  },
  rankings: new SessionRankings(new CacheSpace(ROOM), 0),
};

async function compare(
  hot: HotAnswers,
  [query, zone]: (typeof SPANS)[number],
  filtered: (typeof FILTERS)[number],
): Promise<void> {
  const filters = filtersText(filtered);
  const scope = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const label = `seed ${seed}: ${query} in ${zone}${decodeURIComponent(filters)}`;
  const interval = seeded.one(['', '&interval=day', '&interval=hour']);
  const page = `&limit=${seeded.one([2, 10])}&cursor=${seeded.one([0, 1])}`;
  const range = rangeOf(readParameters(`${query}${interval}`, metricsQuery), NOW_MS, scope.zone);
  if ('kind' in range) throw new Error(range.message);
  const about = {
    projectId: SITE,
    filters: readParameters(`${query}${filters}`, metricsQuery).filters,
    range,
  };
  const list = readParameters(`${query}${filters}${page}`, listQuery);
  const entryExit = readParameters(`${query}${filters}${page}&mode=exit`, entryExitQuery);
  const days = readParameters(`${query}${filters}`, activeUsersQuery);
  const questions = {
    metrics: (from: HistorySource) => historyFigures(from, about, seamOf(hot), caches.figures),
    'active users': (from: HistorySource) => answerActiveUsers(sources(from), scope, days, caches.visits),
    pages: (from: HistorySource) => answerPages(sources(from), scope, list, caches.pages),
    'exit pages': (from: HistorySource) => answerEntryExit(sources(from), scope, entryExit, caches),
    countries: (from: HistorySource) =>
      answerBreakdown(sources(from), scope, list, 'country', caches.rankings),
  };
  const sources = (from: HistorySource): SeamSources => ({ history: from, hot: { rows: async () => hot } });
  for (const [name, ask] of Object.entries(questions)) {
    const rows = await ask(fromRows);
    // The second question caches the finalized part; for active users it is the third.
    for (const time of name === 'active users' ? [0, 1, 2] : [0, 1])
      expect(await ask(history), `${label}: ${name}, ${time}`).toEqual(rows);
  }
}

test('with filters on sessions, a cached part and the rest give what one statement gives', async () => {
  const place = {
    store: fixture.store,
    site: SITE,
    finalizedMs: FINALIZED_MS,
    hours: FINALIZED_MS / HOUR_MS - Math.floor(FROM_MS / HOUR_MS) + 12 * 24,
    nowMs: NOW_MS,
  };
  for (let visit = 0; visit < 250; visit += 1) addVisit(FROM_MS, FINALIZED_MS);
  for (let visit = 0; visit < 25; visit += 1) addVisit(MIDDLE_MS - HOUR_MS / 2, MIDDLE_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    // In some rounds, late changes of finalized hours. All are rolled up again.
    if (round % 4 === 1) for (let time = 0; time < 12; time += 1) changeEntry(reachesIntoMiddle);
    if (round % 4 === 2) for (let time = 0; time < 12; time += 1) changeEntry(() => true);
    if (round % 4 === 3) addVisit(FROM_MS, FINALIZED_MS);
    await landing.landAll(place);
    // Visits that are not finalized: landed, on their way, and open. Many of the visitors have visited before.
    for (let visit = 0; visit < 8; visit += 1) addVisit(FINALIZED_MS, NOW_MS - HOUR_MS);
    visits.cut(0);
    if (seeded.chance(0.5)) await landing.land(0, place);
    if (seeded.chance(0.5)) visits.complete(0);
    for (let visit = 0; visit < 4; visit += 1) addVisit(FINALIZED_MS, NOW_MS - HOUR_MS);
    const hot = await visits.hotView().rows(SITE);
    // Every round: visits that reach into this range get other entries.
    await compare(hot, FROM_MIDDLE, FILTERS[0]);
    for (let time = 0; time < 2; time += 1) await compare(hot, pick(SPANS), pick(FILTERS));
    // The cached parts stay, and there are visitors that they do not know yet.
    for (let visit = 0; visit < 8; visit += 1) addVisit(FINALIZED_MS, NOW_MS - HOUR_MS);
    await compare(await visits.hotView().rows(SITE), FROM_MIDDLE, FILTERS[0]);
  }
  const parts = [
    'metrics-filtered-visitors',
    'active-users-filtered-members',
    'pages-filtered-counted',
    'pages-filtered-members',
    'ranking-finalized',
    'ranking-visitors',
  ];
  for (const name of parts) expect(asked.get(name) ?? 0, name).toBeGreaterThan(ROUNDS / 2);
});
