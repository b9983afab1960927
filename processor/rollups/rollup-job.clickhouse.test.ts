import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, NO_ENVIRONMENT, NO_SOURCE, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { decodeLaneRecord, LANES_BUCKET, laneKeyOf } from '../lane/lane-record.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { ADDED_ROLLUP_TABLES } from '../rows.ts';
import { answering, type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { type RollupsByTable, recountRollups } from '../testing/rollups-recount.ts';
import { messageOf } from '../testing/run.ts';
import { announcedRollups, announcedRows, namesOfHashes, storedRows } from '../testing/stored-rollups.ts';
import { RollupJob, type RollupJobOptions } from './rollup-job.ts';
import { createRollupMetrics } from './rollup-metrics.ts';
import { ROLLUP_UNITS, type RollupUnit, startOfUnit, UNITS } from './units.ts';

const LANES = 2;
// The store drops hours by page by the wall clock, so the traffic lies in the weeks before now.
const FIRST_MS = startOfUnit('day', Date.now() - 30 * UNITS.day.ms) + 20.3 * HOUR_MS;
const INTERVAL_MS = 100;
const SITES = ['shop', 'blog'];
const STEP_MINUTES = 152;
const LAST_MINUTES = 57 * 60;

let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('rollup_job_test');
  for (let lane = 0; lane < LANES; lane += 1) await world.open(lane);
  for (let lane = 0; lane < LANES; lane += 1) await answering(await world.start({ lane, instance: 'one' }));
});

afterAll(() => world.stop());

/** Sends an event and waits until its lane's checkpoint contains it, so that each event has a flush of its own. */
async function record(lane: number, event: Event): Promise<void> {
  published += 1;
  const sequence = await world.bus.publish(subjectOf(lane), messageOf([event], published), 5_000);
  const records = await world.bus.keyed(LANES_BUCKET);
  await until('the checkpoint', async () => {
    const stored = await records.get(laneKeyOf(lane));
    const record = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
    return record !== undefined && record.checkpoint.sequence >= sequence ? true : undefined;
  });
}

function eventAt(minutes: number, device: number, overrides: Partial<Event> = {}): Event {
  const deviceId = `${device + 1}`.padStart(2, '0').repeat(16);
  const occurredAtMs = FIRST_MS + minutes * 60_000;
  return plainEvent({
    projectId: storedId(SITES[device % 2] ?? ''),
    deviceId,
    sessionId: `${Math.floor(minutes) + 10_000}`.padStart(5, '0') + deviceId.slice(5),
    occurredAtMs,
    receivedAtMs: occurredAtMs,
    path: `/p${(minutes * 7) % 3}`,
    source: { ...NO_SOURCE, referrerName: `r${device % 3}` },
    environment: { ...NO_ENVIRONMENT, country: device % 2 === 0 ? 'DE' : '', browser: `b${device}` },
    ...overrides,
  });
}

async function rollupJob(options: Partial<RollupJobOptions> = {}): Promise<RollupJob> {
  return new RollupJob({
    store: world.store,
    laneRecords: await world.bus.keyed(LANES_BUCKET),
    lanes: LANES,
    intervalMs: INTERVAL_MS,
    metrics: createRollupMetrics(new Metrics()),
    ...testLeader('rollup'),
    ...options,
  });
}

interface FoundRollups {
  /** Block numbers by site and beginning. */
  readonly blocks: ReadonlyMap<string, number>;
  readonly tables: RollupsByTable;
}

/** The announced rollups and their rows. */
async function foundRollups(unit: RollupUnit): Promise<FoundRollups> {
  const announced = await announcedRollups(world.store, unit, SITES);
  const rows = await storedRows(world.store);
  const names = await namesOfHashes(world.store, [...rows.events, ...rows.sessions]);
  return {
    blocks: new Map(announced.map(({ projectId, startMs, block }) => [`${projectId} ${startMs}`, block])),
    tables: await announcedRows(world.store, unit, announced, names),
  };
}

/** The same rollups, recounted row by row. */
async function recount(unit: RollupUnit, endMs: number): Promise<RollupsByTable> {
  const tables = recountRollups(unit, await storedRows(world.store));
  return Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [table, rows.filter(({ start }) => Number(start) < endMs)]),
  );
}

test('finalized hours and days are rolled up once every lane has passed them, and late ones again', async () => {
  const job = await rollupJob();
  for (let minutes = 0; minutes < LAST_MINUTES; minutes += STEP_MINUTES) {
    const step = minutes / STEP_MINUTES;
    await record(
      0,
      eventAt(minutes, step % 4, {
        ...(step % 5 === 0
          ? { name: 'purchase', revenue: BigInt(minutes + 1), currency: step % 2 === 0 ? 'EUR' : 'JPY' }
          : {}),
        ...(step % 7 === 0 ? { profileId: 'alice' } : {}),
      }),
    );
  }
  await job.pass();
  for (const unit of ROLLUP_UNITS) expect((await foundRollups(unit)).blocks.size).toBe(0);

  // The other lane's clock is before the end: everything that ended three hours before that clock is finalized.
  const clockMinutes = LAST_MINUTES - 100;
  await record(1, eventAt(clockMinutes, 5));
  await job.pass();
  const finalizedMs = FIRST_MS + clockMinutes * 60_000 - 3 * HOUR_MS;
  const before = { hour: await foundRollups('hour'), day: await foundRollups('day') };
  for (const unit of ROLLUP_UNITS) {
    const [fromMs, endMs] = [startOfUnit(unit, FIRST_MS), startOfUnit(unit, finalizedMs)];
    expect(before[unit].blocks.size).toBe((SITES.length * (endMs - fromMs)) / UNITS[unit].ms);
    expect(before[unit].tables).toEqual(await recount(unit, endMs));
    for (const rows of Object.values(before[unit].tables)) expect(rows.length).toBeGreaterThan(3);
  }

  // One late event in a rolled-up hour, with a profile, and one on a day before all others.
  const receivedAtMs = FIRST_MS + (LAST_MINUTES + 1) * 60_000;
  const lateMinutes = 2 * STEP_MINUTES + 0.5;
  const sessionId = 'bb'.repeat(16);
  await record(0, eventAt(lateMinutes, 2, { receivedAtMs, sessionId, path: '/late', profileId: 'bob' }));
  await record(0, eventAt(-2_000, 1, { receivedAtMs, path: '/early' }));
  const startAt = (unit: RollupUnit, minutes: number) => startOfUnit(unit, FIRST_MS + minutes * 60_000);
  for (const unit of ROLLUP_UNITS) {
    const early = `blog ${startAt(unit, -2_000)}`;
    await until('what is late', async () => {
      await job.pass();
      return (await foundRollups(unit)).blocks.has(early) ? true : undefined;
    });
    const after = await foundRollups(unit);
    expect(after.tables).toEqual(await recount(unit, startOfUnit(unit, finalizedMs)));
    const renewed = [...after.blocks].filter(([key, block]) => before[unit].blocks.get(key) !== block);
    expect(renewed.map(([key]) => key).sort()).toEqual([early, `shop ${startAt(unit, lateMinutes)}`].sort());
    // A further pass finds nothing to do.
    await job.pass();
    expect((await foundRollups(unit)).blocks).toEqual(after.blocks);
  }
});

test.each(ADDED_ROLLUP_TABLES)(
  'days that a release without %s rolled up are rolled up once more, when a process begins to lead',
  async (table) => {
    await (await rollupJob()).pass();
    const before = await foundRollups('day');
    const starts = [...new Set([...before.blocks.keys()].map((key) => Number(key.split(' ')[1])))].sort();
    const [first, second] = [must(starts[0], 'a day'), must(starts[1], 'a second day')];
    const condition = `day = toDateTime(${first / 1000}, 'UTC') OR projectId = 'shop' AND day = toDateTime(${second / 1000}, 'UTC')`;
    await world.store.command(`ALTER TABLE ${table} DELETE WHERE ${condition}`, {}, { mutations_sync: 1 });
    expect((await foundRollups('day')).tables).not.toEqual(before.tables);

    const job = await rollupJob();
    await job.pass();
    const after = await foundRollups('day');
    expect(after.tables).toEqual(before.tables);
    const renewed = [...after.blocks].filter(([key, block]) => before.blocks.get(key) !== block);
    const days = [...new Set(renewed.map(([key]) => Number(key.split(' ')[1])))].sort();
    expect(days).toEqual([first, second].sort());
    await job.pass();
    expect((await foundRollups('day')).blocks).toEqual(after.blocks);
  },
  60_000,
);

test('a login at the end of a long visit counts in every hour of it, though most were rolled up before', async () => {
  const job = await rollupJob();
  const beganMinutes = LAST_MINUTES + 60;
  const visit = (minutes: number, profileId = '') =>
    eventAt(beganMinutes + minutes, 9, { sessionId: 'ca'.repeat(16), profileId });
  for (let minutes = 0; minutes < 480; minutes += 24) await record(0, visit(minutes));
  await record(1, eventAt(beganMinutes + 480, 5));
  await job.pass();
  const before = (await foundRollups('hour')).blocks;
  await record(0, visit(481, 'carol'));

  const startOf = (minutes: number) => startOfUnit('hour', FIRST_MS + (beganMinutes + minutes) * 60_000);
  const finalized = Array.from({ length: 4 }, (_, hour) => `blog ${startOf(hour * 60)}`);
  for (const key of finalized) expect(before.has(key)).toBe(true);
  await until('the hours of the visit', async () => {
    await job.pass();
    const { blocks } = await foundRollups('hour');
    return finalized.every((key) => blocks.get(key) !== before.get(key)) ? true : undefined;
  });
  const { tables } = await foundRollups('hour');
  const visitors = (tables.hourly_totals ?? [])
    .filter(({ projectId, start }) => finalized.includes(`${projectId} ${start}`))
    .map((row) => row.visitors);
  expect(visitors).toEqual(finalized.map(() => ['carol']));
});

test('a pass asks the store nothing after a long time without a flush, until there is one, or an erasure', async () => {
  let [queries, laterMs] = [0, 0];
  const counted = new Proxy(world.store, {
    get: (store, name) => {
      if (name === 'query') queries += 1;
      const value: unknown = Reflect.get(store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
  const clock = { nowMs: () => Date.now() + laterMs };
  const job = await rollupJob({ store: counted, clock });
  const queriesOfPass = async () => {
    queries = 0;
    await job.pass();
    return queries;
  };
  for (const work of [
    () => record(0, eventAt(LAST_MINUTES + 800, 3)),
    () =>
      job.withoutRollups(
        storedId('shop'),
        { hour: [startOfUnit('hour', FIRST_MS)], day: [] },
        async () => {},
      ),
  ]) {
    await work();
    expect(await queriesOfPass()).toBeGreaterThan(0);
    expect(await queriesOfPass()).toBeGreaterThan(0);
    laterMs += HOUR_MS;
    expect(await queriesOfPass()).toBeGreaterThan(0);
    expect(await queriesOfPass()).toBe(0);
    laterMs += HOUR_MS;
    expect(await queriesOfPass()).toBe(0);
  }
  // The hours that the erasure invalidated were rolled up again before the job came to rest.
  const { blocks } = await foundRollups('hour');
  expect(blocks.has(`shop ${startOfUnit('hour', FIRST_MS)}`)).toBe(true);
});

test('an erasure that comes during a pass is carried out before the next step, and the pass then continues', async () => {
  const order: string[] = [];
  let erasure: Promise<void> | undefined;
  const watched = new Proxy(world.store, {
    get: (store, name) => {
      const value: unknown = Reflect.get(store, name);
      if (typeof value !== 'function') return value;
      if (name !== 'command') return value.bind(store);
      return async (sql: string, ...rest: unknown[]) => {
        const [, table = ''] = /INSERT INTO (\w+)/.exec(sql) ?? [];
        if (table === 'hourly_totals') {
          order.push('step');
          // It comes while a step runs, and further steps are due.
          erasure ??= job.withoutRollups(
            storedId('shop'),
            { hour: [startOfUnit('hour', FIRST_MS)], day: [] },
            async () => {
              order.push('erasure');
            },
          );
        }
        return value.call(store, sql, ...rest);
      };
    },
  });
  const job = await rollupJob({ store: watched });
  for (const unit of ROLLUP_UNITS) await world.store.command(`TRUNCATE TABLE ${UNITS[unit].announced}`);
  await job.pass();
  await erasure;
  expect(order.slice(0, 3)).toEqual(['step', 'erasure', 'step']);
  expect(order.filter((one) => one === 'erasure')).toHaveLength(1);
  await job.pass();
  const { blocks } = await foundRollups('hour');
  expect(blocks.has(`shop ${startOfUnit('hour', FIRST_MS)}`)).toBe(true);
});
