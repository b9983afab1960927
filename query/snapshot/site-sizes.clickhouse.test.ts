import { afterAll, beforeAll, expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type HistoryStore, startHistoryStore } from '../testing/history-store.ts';
import { NO_SEAM } from './seam.ts';
import { SiteSizes } from './site-sizes.ts';

const FIRST_MS = Date.parse('2026-05-01T00:00:00Z');
const SPANS = [0, 1, 2].map((day) => ({
  fromMs: FIRST_MS + day * DAY_MS,
  toMs: FIRST_MS + (day + 1) * DAY_MS,
}));

let store: HistoryStore;
beforeAll(async () => {
  store = await startHistoryStore();
  await addEvents('shop', 0, 30);
  await addEvents('shop', 1, 5);
  await addEvents('other', 0, 7);
});
afterAll(() => store.stop());

/** Adds events in the first hours of a day. */
async function addEvents(site: string, day: number, events: number): Promise<void> {
  await store.store.command(
    `INSERT INTO events (projectId, createdAt)
     SELECT {site:String}, fromUnixTimestamp64Milli(toInt64({day:Int64} + number * 600000)) FROM numbers({events:UInt32})`,
    { site, day: FIRST_MS + day * DAY_MS, events },
  );
}

async function rollUp(site: string, day: number, name: string, block: number, events: number): Promise<void> {
  await store.store.command(
    `INSERT INTO daily_names (projectId, day, block, name, events)
     SELECT {site:String}, toDateTime({day:UInt32}, 'UTC'), {block:UInt64}, {name:String}, {events:UInt64}`,
    { site, day: (FIRST_MS + day * DAY_MS) / 1000, block, name, events },
  );
}

async function eventsByDay(site: string): Promise<number[]> {
  const sizes = new SiteSizes((asked) =>
    store.history.ask({ name: 'site-days', parameters: { site: asked } }, NO_SEAM),
  );
  return Promise.all(SPANS.map((span) => sizes.eventsIn(storedId(site), [span])));
}

test('a site that was never rolled up has as many events as it has rows', async () => {
  expect(await eventsByDay('shop')).toEqual([30, 5, 18]); // Later days count as average days.
  expect(await eventsByDay('other')).toEqual([7, 7, 7]);
  expect(await eventsByDay('nobody')).toEqual([0, 0, 0]);
});

test('one that was has those of its days that were, counted once', async () => {
  await rollUp('shop', 0, 'screen_view', 2, 20);
  await rollUp('shop', 0, 'session_start', 2, 9);
  // Rolled up again, while the rows of the first time are still there.
  await rollUp('shop', 0, 'screen_view', 4, 21);
  await rollUp('shop', 0, 'session_start', 4, 9);
  expect(await eventsByDay('shop')).toEqual([30, 30, 30]);
  expect(await eventsByDay('other')).toEqual([7, 7, 7]);
});
