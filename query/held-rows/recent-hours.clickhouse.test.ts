import { afterEach, beforeEach, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { repeats } from '../../infra/testing/thoroughness.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { rollUp } from '../../processor/testing/rollups.ts';
import { metricsQuery } from '../api.ts';
import { cursorBehind } from '../cursor.ts';
import { readParameters } from '../http/parameters.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES } from '../insights/dimensions.ts';
import { answerEventList } from '../insights/event-list.ts';
import { eventListQuery } from '../insights/event-list-api.ts';
import { answerMetrics } from '../insights/metrics.ts';
import { answerEntryExit, answerPages } from '../insights/pages.ts';
import { entryExitQuery } from '../insights/pages-api.ts';
import { answerSessionList } from '../insights/session-list.ts';
import { sessionListQuery } from '../insights/session-list-api.ts';
import { AnswerCaches } from '../rollups/answer-caches.ts';
import { CacheSpace } from '../rollups/finalized-cache.ts';
import { SessionRankings } from '../rollups/session-rankings.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import type { HotAnswers } from '../snapshot/hot-view.ts';
import type { Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { Statement } from '../snapshot/statement.ts';
import type { StatementName } from '../sql/answer-rows.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { metricOf, untilHeld } from '../testing/until-held.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';
import { RECENT_HOURS_OF_SITE } from './answers.ts';

const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FINALIZED_MS = Math.floor((NOW_MS - 4 * HOUR_MS) / HOUR_MS) * HOUR_MS;
/** Hours too old to be in memory. */
const BEFORE = { fromMs: NOW_MS - 50 * HOUR_MS, toMs: NOW_MS - 14 * HOUR_MS, isCoherent: true };
const RECENT = { fromMs: FINALIZED_MS, toMs: NOW_MS, isCoherent: true };
const ROUNDS = repeats(3);
const zone = new Zones().of('Europe/Berlin');
const scope = { site: modelSite('site', 'Europe/Berlin', 'EUR'), zone, nowMs: NOW_MS };
const NAMES: readonly string[] = Object.keys(RECENT_HOURS_OF_SITE.answers);
/** Statements with ordered rows. */
const LISTS = ['event-list', 'session-list'];
const ABOUT_SESSIONS = `&filters=${encodeURIComponent(
  JSON.stringify([
    { name: 'country', operator: 'isNot', value: ['two'] },
    { name: 'isBounce', operator: 'is', value: ['false'] },
  ]),
)}`;

let store: HistoryStore;
const seed = Number(process.env.SEED ?? 20_261_126);
beforeEach(async () => {
  store = await startHistoryStore(NOW_MS);
});
afterEach(async () => {
  await store.stop();
});

/** Rows as sorted texts. The store may have rows that add up to nothing, which memory lacks; they are left out. */
function comparable(rows: readonly object[]): readonly string[] {
  const texts = rows.flatMap((row) => {
    const values = row as Readonly<Record<string, unknown>>;
    // The row for all pages without a name: questions use only this figure.
    if (values.isNamed === 0) return `others ${String(values.sessionsMax)}`;
    const { visitorHashes, sessionHashes, revenue, ...others } = values;
    if (visitorHashes === undefined && others.sessions === 0 && others.durationMs === 0) return [];
    if (others.sessions === 0 && others.pageviews === 0 && (visitorHashes as number[]).length === 0)
      return [];
    const sorted = [visitorHashes, sessionHashes].map((hashes) => [...((hashes ?? []) as number[])].sort());
    const earned = typeof revenue === 'object' ? Object.entries(revenue ?? {}).sort() : revenue;
    return JSON.stringify([Object.entries(others).sort(), earned, sorted]);
  });
  return texts.sort();
}

/** Rows as texts: in the order of a list, otherwise sorted. */
function rowsOf(name: string, rows: readonly object[]): readonly string[] {
  return LISTS.includes(name) ? rows.map((row) => JSON.stringify(sortedFields(row))) : comparable(rows);
}

function sortedFields(row: object): readonly unknown[] {
  return Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** The statement needs only hours that are in memory. */
function isRecent({ rowHours, from, previousFrom = from }: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(rowHours)) return Number(rowHours[0] ?? 0) * 1000 >= FINALIZED_MS;
  return Math.min(Number(from), Number(previousFrom)) >= FINALIZED_MS;
}

/** Asks the store and memory, and expects the same rows. */
class Comparison {
  /** Number of statements by name: about recent hours only, which memory answers, and about older hours, too. */
  readonly recent = new Map<string, number>();
  readonly older = new Map<string, number>();

  over(hot: HotAnswers): Sources {
    const ask: StatementRunner['ask'] = async <Name extends StatementName>(
      statement: Statement<Name>,
      seam: Seam,
    ) => {
      const rows = await store.history.ask(statement, seam);
      if (!NAMES.includes(statement.name) || seam.hot === undefined) return rows;
      const counts = isRecent(statement.parameters) ? this.recent : this.older;
      counts.set(statement.name, (counts.get(statement.name) ?? 0) + 1);
      const held = await store.recent.ask(statement, seam);
      const { rowHours, from, to, paths } = statement.parameters;
      const label = `${statement.name} ${JSON.stringify({ rowHours, from, to, paths })}, seed ${seed}`;
      expect(rowsOf(statement.name, held), label).toEqual(rowsOf(statement.name, rows));
      return rows;
    };
    const history = { ask, rejectAway: () => {}, impatient: { ask, rejectAway: () => {} } };
    return { history, hot: { rows: async () => hot } } as unknown as Sources;
  }
}

/** Every question that reads row hours beside finalized ones. */
async function askAll(sources: Sources): Promise<void> {
  const caches = new AnswerCaches();
  const rankings = new SessionRankings(new CacheSpace(50_000_000), 0);
  for (const query of ['range=7d', 'range=30d', 'range=today']) {
    await answerMetrics(sources, scope, readParameters(query, metricsQuery), caches.figures);
    for (const list of ['&limit=2', '&limit=3&cursor=2', '&limit=1000'])
      await answerPages(sources, scope, readParameters(`${query}${list}`, listQuery), caches.pages);
    for (const text of ['&mode=entry', '&mode=exit&limit=2', `&mode=entry&limit=5${ABOUT_SESSIONS}`]) {
      const parameters = readParameters(`${query}${text}`, entryExitQuery);
      await answerEntryExit(sources, scope, parameters, { rankings, pages: caches.pages });
    }
    const filtered = readParameters(`${query}${ABOUT_SESSIONS}`, listQuery);
    await answerBreakdown(sources, scope, filtered, 'country', rankings);
  }
  for (const name of DIMENSION_NAMES)
    await answerBreakdown(sources, scope, readParameters('range=30d', listQuery), name, rankings);
}

/** Lists of events and sessions. Their first pages need only the newest two hours. */
async function askLists(sources: Sources): Promise<void> {
  for (const query of ['range=30d', 'range=today&limit=3', `range=7d&limit=5${ABOUT_SESSIONS}`]) {
    await answerEventList(sources, scope, readParameters(query, eventListQuery));
    const sessions = await answerSessionList(sources, scope, readParameters(query, sessionListQuery));
    const profileId = sessions.find((session) => session.profileId !== '')?.profileId ?? 'nobody';
    const ofProfile = `${query}&profileId=${encodeURIComponent(profileId)}`;
    await answerEventList(sources, scope, readParameters(ofProfile, eventListQuery));
    const ofSession = `${query}&sessionId=${sessions[0]?.id ?? '0'.repeat(32)}`;
    const [event] = await answerEventList(sources, scope, readParameters(ofSession, eventListQuery));
    if (event === undefined) continue;
    const behind = `${query}&cursor=${cursorBehind({ at: event.createdAt, id: event.id })}`;
    await answerEventList(sources, scope, readParameters(behind, eventListQuery));
  }
}

/** Number of statements of this name that went to the store and not to memory. */
function sentOf(name: string): number {
  return metricOf(store.recentMetrics, `query_statements_total{question="${name}"}`);
}

/** Rolls up all finalized hours and days of both spans in question. */
async function rollUpAll(visits: Visits, block: number): Promise<void> {
  for (const [unit, lengthMs] of [
    ['hour', HOUR_MS],
    ['day', 24 * HOUR_MS],
  ] as const) {
    const end = Math.floor(FINALIZED_MS / lengthMs);
    const count = (61 * 24 * HOUR_MS) / lengthMs;
    await rollUp(store.store, {
      projectId: undefined,
      unit,
      startsMs: Array.from({ length: count }, (_, index) => (end - count + index) * lengthMs),
      block: unit === 'hour' ? block : block + 2,
      flushed: [visits.known(0), visits.known(1)],
      nowMs: NOW_MS,
    });
  }
}

async function landAll(visits: Visits): Promise<void> {
  for (const lane of [0, 1]) {
    visits.cut(lane);
    while (visits.nextFlush(lane) !== undefined) await visits.land(lane, store.store);
    visits.complete(lane);
  }
}

/** Asks about the site until its recent hours are in memory. */
async function untilHoursHeld(visits: Visits): Promise<void> {
  const sources = { history: store.recent, hot: visits.hotView() };
  const week = readParameters('range=7d', metricsQuery);
  await untilHeld(store.recentMetrics, () => answerMetrics(sources, scope, week));
  const newest = readParameters('range=today&limit=1', sessionListQuery);
  await expect
    .poll(async () => {
      const sent = sentOf('session-list');
      await answerSessionList(sources, scope, newest);
      return sentOf('session-list') - sent;
    })
    .toBe(0);
}

test('statements over recent hours have the same rows from memory as from the store, while flushes land', async () => {
  const seeded = new SeededRandom(seed);
  const visits = new Visits(2);
  addVisitTraffic(visits, seeded, { ...RECENT, steps: 100 });
  await landAll(visits);
  await rollUpAll(visits, 2);
  await untilHoursHeld(visits);
  const sent = new Map(NAMES.map((name) => [name, sentOf(name)]));
  const comparison = new Comparison();
  const older: HotAnswers[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    addVisitTraffic(visits, seeded, { ...RECENT, steps: 60 });
    // Late events, and sessions that began long before their newest events.
    if (round === ROUNDS - 1) addVisitTraffic(visits, seeded, { ...BEFORE, steps: 20 });
    for (const lane of [0, 1]) {
      visits.cut(lane);
      // Some flushes land unknown to their owner, and some are not in the store yet.
      if (round < 2 || lane === 0) await visits.land(lane, store.store);
      if (seeded.chance(0.6)) visits.complete(lane);
    }
    addVisitTraffic(visits, seeded, { ...RECENT, steps: 15 });
    if (round === 1) await store.store.command('OPTIMIZE TABLE sessions FINAL');
    const hot = await visits.hotView().rows(storedId('site'));
    older.push(hot);
    await askAll(comparison.over(hot));
    await askLists(comparison.over(hot));
  }
  await landAll(visits);
  addVisitTraffic(visits, seeded, { ...RECENT, steps: 60 });
  older.push(await visits.hotView().rows(storedId('site')));
  // Without hot rows.
  await landAll(visits);
  const newest = comparison.over(await visits.hotView().rows(storedId('site')));
  await askAll(newest);
  await askLists(newest);
  // Memory is ahead of these. The last one's hot rows are everything since.
  for (const hot of older.slice(-2)) await askAll(comparison.over(hot));
  for (const hot of older.slice(-1)) await askLists(comparison.over(hot));
  for (const name of NAMES) {
    expect(comparison.recent.get(name), name).toBeGreaterThan(8);
    const sentTo = sentOf(name) - (sent.get(name) ?? 0);
    const [recent = 0, older = 0] = [comparison.recent.get(name), comparison.older.get(name)];
    // The store answers a filter on a session that began long ago, and gives rows with every column the first time.
    if (name.startsWith('event-list')) expect(sentTo, name).toBeLessThan(older + recent / 2);
    // A hot session that began long ago makes the hour of its beginning a row hour.
    else expect(sentTo, name).toBe(older);
  }
  // Loaded anew, with sessions that began long before the hours in memory.
  await rollUpAll(visits, 6);
  store.recent.evict(storedId('site'));
  await untilHoursHeld(visits);
  await askAll(comparison.over(await visits.hotView().rows(storedId('site'))));
});
