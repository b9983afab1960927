import { afterAll, beforeAll, expect, test } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { ADDED_ROLLUP_TABLES, NAMES_ROLLUP, ROLLUP_DIMENSIONS } from '../../processor/rows.ts';
import { announceInvalidation, rollUp } from '../../processor/testing/rollups.ts';
import { exportQuery } from '../api.ts';
import { answerExport } from '../export/events.ts';
import { readParameters } from '../http/parameters.ts';
import { answerBreakdown } from '../insights/breakdown.ts';
import { type BreakdownAnswer, listQuery } from '../insights/breakdown-api.ts';
import { DIMENSION_NAMES, type DimensionName, dimensionOf, rollupTableOf } from '../insights/dimensions.ts';
import { answerEventNames } from '../insights/vocabulary.ts';
import { eventNamesQuery, type NamesAnswer } from '../insights/vocabulary-api.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { modelSite } from '../testing/owned-lanes.ts';
import { ownerOfProfiles } from '../testing/stored-profiles.ts';
import { addVisitTraffic } from '../testing/visit-traffic.ts';
import { Visits } from '../testing/visits.ts';
import { Zones } from '../time/zone.ts';

const TO_MS = Date.parse('2026-10-08T00:00:00Z');
const FROM_MS = TO_MS - 7 * DAY_MS;
const DAYS_MS = Array.from({ length: 7 }, (_, index) => FROM_MS + index * DAY_MS);
const SITE = storedId('site');
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

async function rollUpDays(startsMs: readonly number[], projectId?: StoredId): Promise<number> {
  block += 2;
  const run = { projectId, unit: 'day', startsMs, block, flushed: [1], nowMs: TO_MS } as const;
  await rollUp(fixture.store, run);
  return block;
}

/** The state that a release without the table leaves: announced days without rows in it. */
async function forget(condition: string, table = TABLE): Promise<void> {
  await fixture.store.command(`ALTER TABLE ${table} DELETE WHERE ${condition}`, {}, { mutations_sync: 1 });
}

/** Sources that count the days which `statement` read from rollups. */
async function counting(statement: string) {
  const read = { days: 0 };
  const runner: StatementRunner['ask'] = (asked, seam) => {
    if (asked.name === statement) read.days += (asked.parameters.dayKeys as unknown[]).length;
    return fixture.history.ask(asked, seam);
  };
  const hot = await visits.hotView().rows(SITE);
  const sources = { history: { ask: runner, rejectAway: () => {} }, hot: { rows: async () => hot } };
  return { sources, read };
}

const SCOPE = { site: modelSite(SITE), zone: new Zones().of('UTC'), nowMs: TO_MS };

/** The answer, and the number of its days from rollups. */
async function ask(name: DimensionName): Promise<{ readonly rows: BreakdownAnswer; readonly days: number }> {
  const { sources, read } = await counting('breakdown-rollup');
  const rows = await answerBreakdown(sources, SCOPE, readParameters(QUERY, listQuery), name);
  return { rows, days: read.days };
}

/** The names of events, and the number of days from rollups. */
async function askNames(): Promise<{ readonly rows: NamesAnswer; readonly days: number }> {
  const { sources, read } = await counting('event-names-rollup');
  const rows = await answerEventNames(sources, SCOPE, readParameters(QUERY, eventNamesQuery));
  return { rows, days: read.days };
}

/** The number of all events and of those with one name, and the number of days from rollups. */
async function askTotals(): Promise<{ readonly totals: readonly number[]; readonly days: number }> {
  const { sources, read } = await counting('event-total-rollup');
  const totals: number[] = [];
  for (const query of ['', 'event=click']) {
    const parameters = readParameters(query, exportQuery);
    const { meta } = await answerExport({ ...sources, records: ownerOfProfiles() }, SCOPE, parameters);
    totals.push(meta.totalCount);
  }
  return { totals, days: read.days };
}

test('the tables that were added are known as such', () => {
  const tables = [...Object.keys(ROLLUP_DIMENSIONS), NAMES_ROLLUP];
  expect(tables).toEqual(expect.arrayContaining([...ADDED_ROLLUP_TABLES]));
  expect(ADDED_ROLLUP_TABLES).toEqual([TABLE, NAMES_ROLLUP]);
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
  // A release without the table rolled up one of these days again: the rows of the block before do not count.
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

test('the same holds for days without rows in the table of names, for names and for totals', async () => {
  await fixture.store.command('TRUNCATE TABLE rollup_days');
  await fixture.store.command(`TRUNCATE TABLE ${NAMES_ROLLUP}`);
  const names = await askNames();
  const totals = await askTotals();
  expect([names.days, totals.days]).toEqual([0, 0]);
  expect(names.rows.length).toBeGreaterThan(2);
  const compare = async (days: number) => {
    expect(await askNames()).toEqual({ rows: names.rows, days });
    expect(await askTotals()).toEqual({ totals: totals.totals, days: 2 * days });
  };
  await rollUpDays(DAYS_MS);
  // The last day has no events, and so no rollup of its own.
  await compare(6);
  await forget(`day = toDateTime(${must(DAYS_MS[2], 'a day') / 1000}, 'UTC')`, NAMES_ROLLUP);
  await compare(5);
  await rollUpDays(DAYS_MS.slice(4, 5), SITE);
  await forget(`block = ${block}`, NAMES_ROLLUP);
  await compare(4);
  await forget('1', NAMES_ROLLUP);
  await compare(0);
});
