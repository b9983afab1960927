import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { ADDED_ROLLUP_TABLES, ROLLUP_DIMENSIONS } from '../../processor/rows.ts';
import { announceInvalidation, rollUp } from '../../processor/testing/rollups.ts';
import { readParameters } from '../http/parameters.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { type BreakdownAnswer, listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES, type DimensionName, dimensionOf, rollupTableOf } from '../insights/dimensions.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';

const DAY_MS = 86_400_000;
const TO_MS = Date.parse('2026-10-08T00:00:00Z');
const FROM_MS = TO_MS - 7 * DAY_MS;
const DAYS_MS = Array.from({ length: 7 }, (_, index) => FROM_MS + index * DAY_MS);
const SITE = 'site';
const QUERY = 'startDate=2026-10-01&endDate=2026-10-07&limit=1000';
const TABLE = 'daily_locales';
const ADDED = DIMENSION_NAMES.filter((name) => rollupTableOf(dimensionOf(name)) === TABLE);

let fixture: HistoryStore;
const visits = new Visits(1);
let block = 0;

beforeAll(async () => {
  fixture = await startHistoryStore();
  // The last day has no sessions.
  const traffic = { steps: 600, fromMs: FROM_MS, toMs: TO_MS - 1.5 * DAY_MS, isCoherent: true };
  addVisitTraffic(visits, new SeededRandom(12), traffic);
  visits.cut(0);
  await visits.land(0, fixture.store);
  visits.complete(0);
});
afterAll(async () => {
  await fixture.stop();
});

async function rollUpDays(startsMs: readonly number[], projectId?: string): Promise<number> {
  block += 2;
  const run = { projectId, unit: 'day', startsMs, block, flushed: [1], nowMs: TO_MS } as const;
  await rollUp(fixture.store, run);
  return block;
}

/** What a release leaves that does not know the table: announced days without rows in it. */
async function forget(condition: string): Promise<void> {
  await fixture.store.command(`ALTER TABLE ${TABLE} DELETE WHERE ${condition}`, {}, { mutations_sync: 1 });
}

/** The answer, and how many days of it came from rollups. */
async function ask(name: DimensionName): Promise<{ readonly rows: BreakdownAnswer; readonly days: number }> {
  let days = 0;
  const runner: StatementRunner['ask'] = (statement, seam) => {
    if (statement.name === 'breakdown-rollup') days += (statement.parameters.dayKeys as unknown[]).length;
    return fixture.history.ask(statement, seam);
  };
  const hot = await visits.hotView().rows(SITE);
  const sources = { history: { ask: runner, rejectAway: () => {} }, hot: { rows: async () => hot } };
  const scope = { site: modelSite(SITE), zone: new Zones().of('UTC'), nowMs: TO_MS };
  return { rows: await answerBreakdown(sources, scope, readParameters(QUERY, listQuery), name), days };
}

test('the table that was added last is known as such', () => {
  expect(Object.keys(ROLLUP_DIMENSIONS)).toEqual(expect.arrayContaining([...ADDED_ROLLUP_TABLES]));
  expect(ADDED_ROLLUP_TABLES).toContain(TABLE);
  expect(ADDED).toEqual(['language', 'timezone', 'screen']);
});

test('days without rows in an added table are read from the rows of sessions, and the answer is the same', async () => {
  const fromRows = new Map<DimensionName, BreakdownAnswer>();
  for (const name of [...ADDED, 'browser' as const]) {
    const { rows, days } = await ask(name);
    expect(days).toBe(0);
    expect(rows.length).toBeGreaterThan(3);
    fromRows.set(name, rows);
  }
  const compare = async (added: number, others: number) => {
    for (const [name, rows] of fromRows) {
      const answer = await ask(name);
      expect(answer.rows).toEqual(rows);
      expect([name, answer.days]).toEqual([name, name === 'browser' ? others : added]);
    }
  };
  // A day without sessions has no rollups of its own.
  await rollUpDays(DAYS_MS);
  await compare(6, 7);
  await forget('1');
  await compare(0, 7);
  const made = await rollUpDays(DAYS_MS.slice(1, 4), SITE);
  await compare(3, 7);
  // An older release rolled up one of these days again: the rows of the block before do not count.
  await rollUpDays(DAYS_MS.slice(2, 3), SITE);
  await forget(`block > ${made}`);
  await compare(2, 7);
  const again = {
    projectId: SITE,
    unit: 'day',
    startsMs: DAYS_MS.slice(1, 2),
    flushed: [],
    nowMs: TO_MS,
  } as const;
  await announceInvalidation(fixture.store, { ...again, block: block + 2 });
  await compare(1, 6);
  expect(must(fromRows.get('screen'), 'asked').some(({ name }) => name !== null)).toBe(true);
});
