import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { keepHourlyPages, markLateHours, rollUp } from '../../processor/testing/rollups.ts';
import { metricsQuery } from '../api.ts';
import { readParameters } from '../http/parameters.ts';
import { answerActiveUsers } from '../insights/active-users.ts';
import { activeUsersQuery } from '../insights/active-users-api.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES } from '../insights/dimensions.ts';
import { historyFigures } from '../insights/history-figures.ts';
import { answerPages } from '../insights/pages.ts';
import type { History } from '../snapshot/history.ts';
import type { HotAnswers } from '../snapshot/hot-view.ts';
import { seamOf } from '../snapshot/seam.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-partitions.ts';
import { recountPages } from '../testing/visit-recount.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { rangeOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import { FiguresCache } from './rollup-figures.ts';
import { RollupPages } from './rollup-pages.ts';

const HOUR_MS = 3_600_000;
const UNITS = [
  ['hour', HOUR_MS],
  ['day', 24 * HOUR_MS],
] as const;
const zones = new Zones();
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FROM_MS = NOW_MS - 110 * HOUR_MS;
// What an owner promises to mark, and what is summed up: long before now, so that much of the traffic is late.
const FINALIZED_MS = Math.floor((NOW_MS - 5 * HOUR_MS) / HOUR_MS) * HOUR_MS;
/** Summed up, too, though nothing happened then: spans before those that are asked for. */
const BEFORE_MS = 96 * HOUR_MS;
const SPAN = { fromMs: FROM_MS, toMs: NOW_MS, isCoherent: true };
const SITE = 'site';
const ROUNDS = 16;

let held: HistoryStore;
let block = 0;
const seed = Number(process.env.SEED ?? 20_261_121);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);

beforeAll(async () => {
  held = await startHistoryStore();
  await keepHourlyPages(held.store);
});
afterAll(async () => {
  await held.stop();
});

async function landMarked(partition: number): Promise<void> {
  const flush = visits.nextFlush(partition);
  if (flush === undefined) return;
  const late = flush.changes.filter(({ atMs }) => atMs < FINALIZED_MS);
  const hours = new Map(
    late.map(({ projectId, atMs }) => {
      const hourMs = Math.floor(atMs / HOUR_MS) * HOUR_MS;
      return [`${projectId} ${hourMs}`, { projectId, hourMs }];
    }),
  );
  const { flushNumber } = flush;
  await markLateHours(held.store, { partition, flushNumber, lateHours: [...hours.values()], nowMs: NOW_MS });
  await visits.land(partition, held.store);
}

/** Sums up settled hours and days: at first all for all sites, later some of them, or all, again for one. */
async function sumUpSome(): Promise<void> {
  const isFirst = block === 0;
  const share = pick([0.5, 0.8, 1]);
  for (const [unit, lengthMs] of UNITS) {
    const first = Math.ceil((FROM_MS - BEFORE_MS) / lengthMs);
    const count = Math.floor(FINALIZED_MS / lengthMs) - first;
    const startsMs = Array.from({ length: count }, (_, index) => (first + index) * lengthMs);
    const some = startsMs.filter(() => seeded.chance(share));
    block += 2;
    await rollUp(held.store, {
      projectId: isFirst ? undefined : SITE,
      unit,
      startsMs: isFirst ? startsMs : some,
      block,
      flushed: [visits.known(0), visits.known(1)],
      nowMs: NOW_MS,
    });
  }
}

type Asks = Pick<History, 'ask' | 'rejectAway'>;

/** Asks as the service does, and counts for each statement how many hours and days were read from their sums. */
function counting(): {
  readonly history: Asks;
  readonly summed: (question: string, unit: SumUnit) => number;
} {
  const summed = new Map<string, number>();
  const ask: History['ask'] = async (question, parameters, ...rest) => {
    for (const [unit] of UNITS) {
      const { length = 0 } = (parameters[`${unit}Keys`] ?? []) as unknown[];
      summed.set(`${question} ${unit}`, (summed.get(`${question} ${unit}`) ?? 0) + length);
    }
    return held.history.ask(question, parameters, ...rest);
  };
  return {
    history: { ask, rejectAway: () => {} },
    summed: (question, unit) => summed.get(`${question} ${unit}`) ?? 0,
  };
}

type SumUnit = (typeof UNITS)[number][0];

/** As if nothing were summed up: everything comes from rows. */
const fromRows: Asks = {
  ask: async (question, ...rest) => (question === 'rollup-spans' ? [] : held.history.ask(question, ...rest)),
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
/** All of it, and of the span before, is summed up at times. */
const SETTLED_QUESTION = ['startDate=2026-10-23&endDate=2026-10-24', 'UTC'] as const;
const INTERVALS = ['', '&interval=hour', '&interval=day', '&interval=week'] as const;

function pick<T>(choices: readonly T[]): T {
  return must(choices[seeded.below(choices.length)], 'there is nothing to pick');
}

/** For all visitors there are, and such that are soon too small for them. */
const kept = [new FiguresCache(), new FiguresCache(12)] as const;
const keptPages = [new RollupPages(), new RollupPages(30)] as const;

async function compareAnyMetrics(history: Asks, hot: HotAnswers): Promise<void> {
  const question = pick(QUESTIONS);
  const [query] = question;
  const interval = query.includes('1980') || query === 'range=30d' ? '' : pick(INTERVALS);
  await compareMetrics(history, hot, question, interval);
}

async function compareMetrics(
  history: Asks,
  hot: HotAnswers,
  [query, zone]: readonly [query: string, zone: string],
  interval: string,
): Promise<void> {
  const range = rangeOf(readParameters(`${query}${interval}`, metricsQuery), NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const seam = seamOf(hot);
  const about = { projectId: SITE, filters: [] };
  const rows = await historyFigures(fromRows, about, range, seam);
  // The second time, the span before may be known already, and the third time, what the sums say of this one.
  for (const [time, figures] of [kept[0], kept[0], kept[1], kept[1]].entries()) {
    const summed = await historyFigures(history, about, range, seam, figures);
    expect(summed, `seed ${seed}: metrics?${query}${interval} in ${zone}, ${time}`).toEqual(rows);
  }
}

async function compareBreakdown(history: Asks, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const name = pick(DIMENSION_NAMES);
  const parameters = readParameters(`${query}&limit=20&cursor=${pick([0, 3])}`, listQuery);
  const asked = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const [summed, rows] = await Promise.all(
    [history, fromRows].map((from) =>
      answerBreakdown({ history: from, hot: { rows: async () => hot } }, asked, parameters, name),
    ),
  );
  expect(summed, `seed ${seed}: ${name}?${query} in ${zone}`).toEqual(rows);
}

async function compareActiveUsers(history: Asks, hot: HotAnswers): Promise<void> {
  const zone = pick(['UTC', 'Europe/Berlin', 'Asia/Kathmandu']);
  const parameters = readParameters(pick(['days=3', 'days=1', 'range=7d']), activeUsersQuery);
  const asked = { site: modelSite(SITE, zone), zone: zones.of(zone), nowMs: NOW_MS };
  const [summed, rows] = await Promise.all(
    [history, fromRows].map((from) =>
      answerActiveUsers({ history: from, hot: { rows: async () => hot } }, asked, parameters),
    ),
  );
  expect(summed, `seed ${seed}: active users in ${zone}`).toEqual(rows);
}

async function comparePages(history: Asks, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const [limit, cursor] = pick([
    [1_000, 0],
    [3, 0],
    [5, 4],
    [10, 10],
  ] as const);
  const parameters = readParameters(`${query}&limit=${limit}&cursor=${cursor}`, listQuery);
  const range = rangeOf(parameters, NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const asked = { site: modelSite(SITE, zone, 'EUR'), zone: zones.of(zone), nowMs: NOW_MS };
  const { span } = range;
  const all = recountPages({
    span,
    currency: 'EUR',
    events: visits.events(SITE),
    visits: visits.visits(SITE),
  });
  // The second time, what the sums say of these pages is known.
  for (const pages of [keptPages[0], keptPages[0], keptPages[1]]) {
    const answer = await answerPages({ history, hot: { rows: async () => hot } }, asked, parameters, pages);
    expect(answer, `seed ${seed}: pages?${query} in ${zone}, ${limit} from ${cursor}`).toEqual(
      all.slice(cursor, cursor + limit),
    );
  }
}

async function compareAll(history: Asks, hot: HotAnswers): Promise<void> {
  await compareAnyMetrics(history, hot);
  await comparePages(history, hot);
  await compareBreakdown(history, hot);
  await compareActiveUsers(history, hot);
}

/** How much was summed up is asserted below: a comparison of rows with rows shows nothing. */
test('whatever is summed up, marked, hot or landing, sums and rows give what rows alone give', async () => {
  const { history, summed } = counting();
  for (let round = 0; round < ROUNDS; round += 1) {
    addVisitTraffic(visits, seeded, { ...SPAN, steps: 25 });
    const partition = seeded.below(2);
    const before = await visits.hotView().rows(SITE);
    if (seeded.chance(0.5)) visits.cut(partition);
    if (seeded.chance(0.6)) await landMarked(partition);
    if (seeded.chance(0.5)) visits.complete(partition);
    if (round % 4 === 3) {
      // A quiet moment, without which there would always be something hot in every hour.
      for (const each of [0, 1]) {
        visits.cut(each);
        while (visits.nextFlush(each) !== undefined) await landMarked(each);
        visits.complete(each);
      }
      await sumUpSome();
      // A question that began before all that: what was hot then is in the sums now.
      await compareAll(history, before);
      const quiet = await visits.hotView().rows(SITE);
      for (let time = 0; time < 2; time += 1) await compareAll(history, quiet);
      // By the same sums, and by none of the same buckets.
      for (const interval of INTERVALS.slice(1))
        await compareMetrics(history, quiet, SETTLED_QUESTION, interval);
      if (seeded.chance(0.5)) addVisitTraffic(visits, seeded, { ...SPAN, steps: 4 });
    }
    const hot = await visits.hotView().rows(SITE);
    await compareAll(history, hot);
  }
  expect(kept[0].spans.size).toBeGreaterThan(0);
  expect(summed('metrics-events-rollup', 'hour')).toBeGreaterThan(ROUNDS * 5);
  expect(summed('metrics-finalized', 'hour')).toBeGreaterThan(ROUNDS);
  expect(summed('metrics-events-rows', 'hour')).toBeGreaterThan(ROUNDS * 5);
  expect(summed('pages-finalized', 'hour')).toBeGreaterThan(ROUNDS / 2);
  expect(summed('pages-rollup', 'hour')).toBeGreaterThan(ROUNDS);
  expect(summed('pages-rollup', 'day')).toBeGreaterThan(ROUNDS / 4);
  expect(summed('active-users-rollup', 'hour')).toBeGreaterThan(ROUNDS);
  expect(summed('breakdown-rollup', 'day')).toBeGreaterThan(ROUNDS / 4);
}, 120_000);
