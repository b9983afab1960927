import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { markLateHours, sumUp } from '../../processor/testing/rollups.ts';
import { metricsQuery } from '../api.ts';
import type { History } from '../history.ts';
import type { HotAnswers } from '../hot-view.ts';
import { listQuery } from '../insights/breakdown-api.ts';
import { historyFigures } from '../insights/history-figures.ts';
import { answerPages } from '../insights/pages.ts';
import { readParameters } from '../parameters.ts';
import { rangeOf } from '../range.ts';
import { seamOf } from '../seam.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-partitions.ts';
import { recountPages } from '../testing/visit-recount.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { Zones } from '../zone.ts';

const HOUR_MS = 3_600_000;
const zones = new Zones();
const NOW_MS = Date.parse('2026-10-25T12:34:56.789Z');
const FROM_MS = NOW_MS - 72 * HOUR_MS;
// What an owner promises to mark, and what is summed up: long before now, so that much of the traffic is late.
const SETTLED_MS = Math.floor((NOW_MS - 5 * HOUR_MS) / HOUR_MS) * HOUR_MS;
const SITE = 'site';
const ROUNDS = 32;

let held: HistoryStore;
let block = 1;
const seed = Number(process.env.SEED ?? 20_261_121);
const seeded = new SeededRandom(seed);
const visits = new Visits(2);

beforeAll(async () => {
  held = await startHistoryStore();
});
afterAll(async () => {
  await held.stop();
});

async function landMarked(partition: number): Promise<void> {
  const flush = visits.nextFlush(partition);
  if (flush === undefined) return;
  const late = flush.changes.filter(({ atMs }) => atMs < SETTLED_MS);
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

/** Sums up some settled hours: at first all for all sites, later some of them again for one. */
async function sumUpSome(): Promise<void> {
  const first = Math.floor(FROM_MS / HOUR_MS);
  const hours = Array.from({ length: SETTLED_MS / HOUR_MS - first }, (_, index) => (first + index) * HOUR_MS);
  const isFirst = block === 1;
  block += 1;
  await sumUp(held.store, {
    projectId: isFirst ? undefined : SITE,
    hoursMs: isFirst ? hours : hours.filter(() => seeded.chance(0.5)),
    block,
    flushed: [visits.known(0), visits.known(1)],
  });
}

/** Asks as the service does, and counts how many hours were read from their sums. */
function counting(): {
  readonly history: Pick<History, 'ask' | 'refuseAway'>;
  readonly summed: () => number;
} {
  let summed = 0;
  const ask: History['ask'] = async (question, parameters, ...rest) => {
    if (question.endsWith('-summed')) summed += (parameters.hours as number[]).length;
    return held.history.ask(question, parameters, ...rest);
  };
  return { history: { ask, refuseAway: () => {} }, summed: () => summed };
}

/** As if nothing were summed up: everything comes from rows. */
const fromRows: Pick<History, 'ask'> = {
  ask: async (question, ...rest) => (question === 'rolled-hours' ? [] : held.history.ask(question, ...rest)),
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
const INTERVALS = ['', '&interval=hour', '&interval=day', '&interval=week'] as const;

function pick<T>(choices: readonly T[]): T {
  return must(choices[seeded.below(choices.length)], 'there is nothing to pick');
}

async function compareMetrics(history: Pick<History, 'ask'>, hot: HotAnswers): Promise<void> {
  const [query, zone] = pick(QUESTIONS);
  const interval = query.includes('1980') || query === 'range=30d' ? '' : pick(INTERVALS);
  const range = rangeOf(readParameters(`${query}${interval}`, metricsQuery), NOW_MS, zones.of(zone));
  if ('kind' in range) throw new Error(range.message);
  const seam = seamOf(hot);
  const about = { projectId: SITE, filters: [] };
  const [summed, rows] = [
    await historyFigures(history, about, range, seam),
    await historyFigures(fromRows, about, range, seam),
  ];
  expect(summed, `seed ${seed}: metrics?${query}${interval} in ${zone}`).toEqual(rows);
}

async function comparePages(history: Pick<History, 'ask' | 'refuseAway'>, hot: HotAnswers): Promise<void> {
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
  const answer = await answerPages({ history, hot: { rows: async () => hot } }, asked, parameters);
  const { span } = range;
  const all = recountPages({
    span,
    currency: 'EUR',
    events: visits.events(SITE),
    visits: visits.visits(SITE),
  });
  expect(answer, `seed ${seed}: pages?${query} in ${zone}, ${limit} from ${cursor}`).toEqual(
    all.slice(cursor, cursor + limit),
  );
}

test('whatever is summed up, marked, hot or landing, sums and rows give what rows alone give', async () => {
  const { history, summed } = counting();
  for (let round = 0; round < ROUNDS; round += 1) {
    addVisitTraffic(visits, seeded, { steps: 25, fromMs: FROM_MS, toMs: NOW_MS });
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
      await compareMetrics(history, before);
      await comparePages(history, before);
      if (seeded.chance(0.5)) addVisitTraffic(visits, seeded, { steps: 4, fromMs: FROM_MS, toMs: NOW_MS });
    }
    const hot = await visits.hotView().rows(SITE);
    await compareMetrics(history, hot);
    await comparePages(history, hot);
  }
  expect(summed()).toBeGreaterThan(ROUNDS * 10);
}, 120_000);
