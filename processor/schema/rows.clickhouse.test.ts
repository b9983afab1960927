import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { projectRoot } from '../../infra/root.ts';
import { migrate } from '../../infra/store/migrate.ts';
import { Store } from '../../infra/store/store.ts';
import { type StoreServer, startStoreServer } from '../../infra/testing/store-server.ts';
import { EVENTS_TABLE, happenedBetween } from '../rows.ts';

const START_MS = Date.UTC(2026, 0, 1);
const HOURS = 200;
const EVENTS_AN_HOUR = 2_000;

const dataDir = mkdtempSync(join(tmpdir(), 'footfall-rows-'));
let server: StoreServer;
let store: Store;

beforeAll(async () => {
  server = await startStoreServer({ dataDir });
  store = new Store({ url: server.url, database: 'footfall', requestTimeoutMs: 60_000 });
  await migrate(store, join(projectRoot, 'processor/schema'));
  await store.command(`INSERT INTO ${EVENTS_TABLE} (projectId, createdAt, sessionId, id)
    SELECT 'shop', fromUnixTimestamp64Milli(${START_MS} + intDiv(number, ${EVENTS_AN_HOUR}) * ${HOUR_MS} + number % ${EVENTS_AN_HOUR}, 'UTC'),
      unhex(leftPad(hex(sipHash64(number)), 32, '0')), unhex(leftPad(hex(number), 32, '0'))
    FROM numbers(${HOURS * EVENTS_AN_HOUR})`);
  await store.command(`OPTIMIZE TABLE ${EVENTS_TABLE} FINAL`);
});

afterAll(async () => {
  await server.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

/** The events of a span, and how many of how many granules the store would read for them. */
async function read(fromMs: number, toMs: number) {
  const text = `SELECT count() AS events FROM ${EVENTS_TABLE}
    WHERE projectId = {site:String} AND ${happenedBetween('from', 'to')}`;
  const parameters = { site: 'shop', from: fromMs, to: toMs };
  const [counted] = await store.query<{ events: string }>(text, parameters);
  const plan = await store.query<{ explain: string }>(`EXPLAIN indexes = 1 ${text}`, parameters);
  const granules = plan.flatMap(({ explain }) => /Granules: (\d+)\/(\d+)/.exec(explain)?.slice(1, 3) ?? []);
  return { events: Number(counted?.events), granules: Number(granules.at(-2)), of: Number(granules.at(1)) };
}

test('the index finds the hours of a span of events', async () => {
  const two = await read(START_MS + 100.5 * HOUR_MS, START_MS + 102.5 * HOUR_MS);
  expect(two.events).toBe(2 * EVENTS_AN_HOUR);
  expect(two.of).toBeGreaterThan((HOURS * EVENTS_AN_HOUR) / 8_192 - 1);
  expect(two.granules).toBeLessThanOrEqual(3);
});

test.each([
  ['all times', -9_000_000_000_000, 9_000_000_000_000, HOURS],
  ['everything before', -1, START_MS, 0],
  ['half an hour that has no events', START_MS + 0.5 * HOUR_MS, START_MS + HOUR_MS, 0],
  ['an hour', START_MS, START_MS + HOUR_MS, 1],
  ['an hour and a millisecond', START_MS, START_MS + HOUR_MS + 1, 1 + 1 / EVENTS_AN_HOUR],
  [
    'from the last millisecond of an hour on',
    START_MS + (HOURS - 1) * HOUR_MS + EVENTS_AN_HOUR - 1,
    8e12,
    1 / EVENTS_AN_HOUR,
  ],
])('a span of %s', async (_, fromMs, toMs, hours) => {
  expect((await read(fromMs, toMs)).events).toBe(Math.round(hours * EVENTS_AN_HOUR));
});
