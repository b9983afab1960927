import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { metricsQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { answerActiveUsers } from '../insights/active-users.ts';
import { activeUsersQuery } from '../insights/active-users-api.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES } from '../insights/dimensions.ts';
import { answerEventList } from '../insights/event-list.ts';
import { eventListQuery } from '../insights/event-list-api.ts';
import { answerMetrics, historyFigures } from '../insights/metrics.ts';
import { answerEntryExit, answerPages } from '../insights/pages.ts';
import { entryExitQuery } from '../insights/pages-api.ts';
import { answerSessionList } from '../insights/session-list.ts';
import { sessionListQuery } from '../insights/session-list-api.ts';
import { eventNamesInsight } from '../insights/vocabulary.ts';
import type { History } from '../snapshot/history.ts';
import { openSeam } from '../snapshot/question.ts';
import { type Seam, seamOf } from '../snapshot/seam.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { metricOf, untilHeld } from '../testing/until-held.ts';
import { addVisitTraffic, allThinned } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';

const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const TRAFFIC = { fromMs: NOW_MS - 72 * HOUR_MS, toMs: NOW_MS };
const ROUNDS = repeats(2);
/** Each question is asked in every second round, and the others in the rounds between; 1: all in every round. */
const ASK_EVERY = Number(process.env.ASK_EVERY ?? 2);
const zone = new Zones().of('Europe/Berlin');
const scope = { site: modelSite('site', 'Europe/Berlin', 'EUR'), zone, nowMs: NOW_MS };

let store: HistoryStore;
const seed = Number(process.env.SEED ?? 20_261_123);
beforeEach(async () => {
  store = await startHistoryStore();
  await allThinned(store.store);
});
afterEach(async () => {
  await store.stop();
});

const filtersOf = (name: string, operator: string, ...value: string[]) =>
  `filters=${encodeURIComponent(JSON.stringify([{ name, operator, value }]))}`;

const RANGES = [
  'range=today',
  'range=7d',
  'range=last24h',
  'startDate=2026-10-24T10:20:30Z&endDate=2026-10-25T12:00:00.500Z',
];
/** Filters that memory can evaluate. */
const HELD_FILTERS = [
  `range=7d&${filtersOf('country', 'is', 'one', 'two')}`,
  `range=7d&${filtersOf('browser', 'isNot', 'one')}`,
  `range=7d&${filtersOf('utm_source', 'startsWith', 'o', 'Ü')}`,
  `range=7d&${filtersOf('isBounce', 'is', 'true')}`,
  `range=7d&${filtersOf('duration', 'gte', '60')}`,
  `range=7d&${filtersOf('screenViews', 'isNot', '2', '3')}`,
  `range=7d&${filtersOf('entryPath', 'startsWith', '/a', '/A')}`,
  `range=7d&${filtersOf('exitPath', 'isNull')}`,
  `range=7d&${filtersOf('path', 'is', '/', '/a')}`,
  `range=7d&${filtersOf('name', 'contains', 'CLI')}`,
  `range=7d&${filtersOf('title', 'isNotNull')}`,
  `range=7d&${filtersOf('origin', 'endsWith', 'a.example')}`,
  `range=7d&${filtersOf('profileId', 'isNull')}`,
  `range=last24h&filters=${encodeURIComponent(
    JSON.stringify([
      { name: 'path', operator: 'isNot', value: ['/a'] },
      { name: 'country', operator: 'isNot', value: ['two'] },
      { name: 'isBounce', operator: 'is', value: ['false'] },
    ]),
  )}`,
];
/** Filters that only the store can evaluate; the first two because some texts are not ASCII. */
const STORE_FILTERS = [
  `range=7d&${filtersOf('path', 'contains', 'a')}`,
  `range=7d&${filtersOf('browser', 'contains', 'N')}`,
  `range=7d&${filtersOf('path', 'regex', '^/[a-z]')}`,
  `range=7d&${filtersOf('revenue', 'gt', '1')}`,
];
const QUERIES = [...RANGES, ...HELD_FILTERS, ...STORE_FILTERS];
const listsOf = (query: string) =>
  RANGES.includes(query) ? ['&limit=3&cursor=2', '&limit=1000'] : ['&limit=1000'];

/** Every question in every form. */
function questions(history: History, visits: Visits): ReadonlyMap<string, () => Promise<unknown>> {
  const sources = { history, hot: visits.hotView() };
  const all = new Map<string, () => Promise<unknown>>();
  for (const query of QUERIES) {
    all.set(`metrics ${query}`, () => answerMetrics(sources, scope, readParameters(query, metricsQuery)));
    const days = readParameters(query, activeUsersQuery);
    all.set(`active_users ${query}`, () => answerActiveUsers(sources, scope, days));
    for (const list of listsOf(query)) {
      const asked = `${query}${list}`;
      const parameters = readParameters(asked, listQuery);
      all.set(`pages ${asked}`, () => answerPages(sources, scope, parameters));
      for (const mode of ['entry', 'exit']) {
        const pages = readParameters(`${asked}&mode=${mode}`, entryExitQuery);
        all.set(`${mode} ${asked}`, () => answerEntryExit(sources, scope, pages));
      }
      const events = readParameters(asked, eventListQuery);
      all.set(`events ${asked}`, () => answerEventList(sources, scope, events));
      const sessions = readParameters(asked, sessionListQuery);
      all.set(`sessions ${asked}`, () => answerSessionList(sources, scope, sessions));
      const names = eventNamesInsight(sources);
      all.set(`names ${asked}`, () => names.answer(scope, readParameters(asked, names.schema)));
      all.set(`country ${asked}`, () => answerBreakdown(sources, scope, parameters, 'country'));
    }
  }
  for (const name of DIMENSION_NAMES) {
    const parameters = readParameters('range=7d', listQuery);
    all.set(name, () => answerBreakdown(sources, scope, parameters, name));
  }
  return all;
}

/** This round's questions, with their answers from this history. */
async function answers(
  history: History,
  visits: Visits,
  time: number,
): Promise<ReadonlyMap<string, unknown>> {
  const found = new Map<string, unknown>();
  for (const [index, [question, ask]] of [...questions(history, visits)].entries())
    if ((index + time) % ASK_EVERY === 0) found.set(question, await ask());
  return found;
}

/** Statements that were answered from memory. */
function heldStatements(): number {
  return metricOf(store.holdingMetrics, 'query_statements_held_total');
}

/** Asks about the site until its rows are in memory. */
function untilSiteHeld(visits: Visits): Promise<void> {
  const sources = { history: store.holding, hot: visits.hotView() };
  const today = readParameters('range=today', metricsQuery);
  return untilHeld(store.holdingMetrics, () => answerMetrics(sources, scope, today));
}

/** The first traffic of a site, which is then in memory. */
async function addHeld(visits: Visits, seeded: SeededRandom): Promise<void> {
  addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 100 });
  await untilSiteHeld(visits);
}

/** The question for the figures of a week. */
function lastWeek() {
  const range = rangeOf({ range: '7d' }, NOW_MS, zone);
  if ('kind' in range) throw new Error(range.message);
  return { projectId: storedId('site'), filters: [], range };
}

/** Expects memory to answer its part, and the store the rest. */
async function expectHeld(visits: Visits): Promise<void> {
  const sources = { history: store.holding, hot: visits.hotView() };
  for (const query of QUERIES) {
    const before = heldStatements();
    await answerMetrics(sources, scope, readParameters(query, metricsQuery));
    const held = heldStatements() - before;
    // `metrics` asks for events and for sessions; with filters on sessions in one statement. Without filters, or with
    // filters on the beginning of sessions, it first asks for finalized hours, which memory always answers.
    const lookups = /country|browser|utm_source/.test(query) ? 1 : 0;
    if (STORE_FILTERS.includes(query)) expect(held, query).toBe(lookups);
    else expect(held, query).toBeGreaterThanOrEqual(HELD_FILTERS.includes(query) ? 1 + lookups : 2);
  }
}

test('every question has the same answer from rows in memory as from the store, while flushes land', async () => {
  const seeded = new SeededRandom(seed);
  const visits = new Visits(2);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Only the store can filter events without a session by source.
    const sessionlessShare = round < 2 ? 0 : 0.1;
    addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 60, sessionlessShare });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      // Some flushes land unknown to their owner, and some are not in the store yet.
      if (round < 2 || lane === 0) await visits.land(lane, store.store);
      if (seeded.chance(0.6)) visits.complete(lane);
    }
    addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 15, sessionlessShare });
    if (round === 0) await untilSiteHeld(visits);
    if (round === 1) await store.store.command('OPTIMIZE TABLE sessions FINAL');
    if (round === 0) await expectHeld(visits);
    const before = heldStatements();
    const held = await answers(store.holding, visits, round);
    expect(heldStatements() - before).toBeGreaterThan(60);
    for (const [question, answer] of await answers(store.history, visits, round))
      expect(held.get(question), `${question}, round ${round}, seed ${seed}`).toEqual(answer);
  }
  // Without hot rows, statements lack the parts for them.
  for (const lane of [0, 1]) {
    visits.cut(lane);
    await visits.land(lane, store.store);
    visits.complete(lane);
  }
  const held = await answers(store.holding, visits, ROUNDS);
  for (const [question, answer] of await answers(store.history, visits, ROUNDS))
    expect(held.get(question), `${question}, without hot rows, seed ${seed}`).toEqual(answer);
});

test('a seam that is older than the rows in memory holds every event and session once', async () => {
  const seeded = new SeededRandom(seed + 1);
  const visits = new Visits(2);
  const question = lastWeek();
  await addHeld(visits, seeded);
  for (let round = 0; round < 4; round += 1) {
    addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 80 });
    for (const lane of [0, 1]) visits.cut(lane);
    addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 20 });
    const seams: Seam[] = [seamOf(await visits.hotView().rows(storedId('site')))];
    const expected = await historyFigures(
      store.history,
      question,
      seamOf(await visits.hotView().rows(storedId('site'))),
    );
    for (const lane of [0, 1]) {
      await visits.land(lane, store.store);
      visits.complete(lane);
      seams.push(seamOf(await visits.hotView().rows(storedId('site'))));
    }
    // The newest first, so that memory is ahead of the others.
    for (const seam of seams.reverse())
      expect(await historyFigures(store.holding, question, seam), `seed ${seed}`).toEqual(expected);
  }
});

test('a question that comes while many rows are being taken waits for all of them', async () => {
  const seeded = new SeededRandom(seed + 3);
  const visits = new Visits(1);
  const question = lastWeek();
  await addHeld(visits, seeded);
  // Enough for several pieces.
  addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 4_000 });
  visits.cut(0);
  const older = seamOf(await visits.hotView().rows(storedId('site')));
  await visits.land(0, store.store);
  visits.complete(0);
  const newer = seamOf(await visits.hotView().rows(storedId('site')));
  const expected = await historyFigures(store.history, question, newer);
  let isTaken = false;
  const taken = historyFigures(store.holding, question, newer).finally(() => {
    isTaken = true;
  });
  // Before, while and after the rows of the newer seam are added.
  for (let isLast = false; !isLast; ) {
    isLast = isTaken;
    expect(await historyFigures(store.holding, question, older), `seed ${seed}`).toEqual(expected);
    await setImmediate();
  }
  expect(await taken, `seed ${seed}`).toEqual(expected);
});

test('a question that comes after a flush does not wait for the store', async () => {
  const seeded = new SeededRandom(seed + 4);
  const visits = new Visits(2);
  await addHeld(visits, seeded);
  const ask = async (history: History) => {
    const seam = await openSeam({ history, hot: visits.hotView() }, scope, { partial: false });
    return { seam, figures: await historyFigures(history, lastWeek(), seam) };
  };
  for (let flush = 1; flush <= 3; flush += 1) {
    addVisitTraffic(visits, seeded, { ...TRAFFIC, steps: 50 });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      await visits.land(lane, store.store);
      visits.complete(lane);
    }
    const { seam, figures } = await ask(store.holding);
    expect(seam.flushed.slice(0, 2)).toEqual([flush - 1, flush - 1]);
    expect(seam.stored.slice(0, 2)).toEqual([flush, flush]);
    expect(figures, `seed ${seed}`).toEqual((await ask(store.history)).figures);
    // Meanwhile the rows of the flush are read from the store.
    await expect.poll(() => store.holding.heldFlushes(storedId('site'))?.slice(0, 2)).toEqual([flush, flush]);
    const { seam: newest, figures: again } = await ask(store.holding);
    expect(newest.flushed).toEqual(newest.stored);
    expect(again, `seed ${seed}`).toEqual(figures);
  }
});

test('what is held of a site is read again once it was evicted', async () => {
  const visits = new Visits(1);
  addVisitTraffic(visits, new SeededRandom(seed + 2), { ...TRAFFIC, steps: 50 });
  visits.cut(0);
  await visits.land(0, store.store);
  visits.complete(0);
  await untilSiteHeld(visits);
  const all = readParameters('range=7d&limit=1000', sessionListQuery);
  const sources = { history: store.holding, hot: visits.hotView() };
  expect(await answerSessionList(sources, scope, all)).not.toEqual([]);
  await store.store.command('TRUNCATE TABLE sessions');
  store.holding.evict(storedId('site'));
  expect(await answerSessionList(sources, scope, all)).toEqual([]);
  await untilSiteHeld(visits);
  expect(await answerSessionList(sources, scope, all)).toEqual([]);
});
