import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import {
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  freeLaneRecord,
  LANES_BUCKET,
  laneKeyOf,
} from '../lane/lane-record.ts';
import { testLeader } from '../leader-job/testing/test-leader.ts';
import { EVENTS_COLUMNS, SESSIONS_COLUMNS } from '../rows.ts';
import { type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { keepHourlyPages } from '../testing/rollups.ts';
import { recountRollups } from '../testing/rollups-recount.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import {
  type AnnouncedRollup,
  announcedRollups,
  announcedRows,
  namesOfHashes,
  ROLLUP_TABLES,
} from '../testing/stored-rollups.ts';
import { announceInvalidation, announceRollup, insertRollups, rollUp } from './rollup.ts';
import { RollupJob } from './rollup-job.ts';
import { createRollupMetrics } from './rollup-metrics.ts';
import { ROLLUP_UNITS, type RollupUnit, startOfUnit, UNITS } from './units.ts';

const FIRST_MS = Date.UTC(2026, 4, 10);
const SITES = ['shop', 'blog'];
/**
 * Hours with events up to the lane's clock, which finalizes the first day; after them one hour with events a day.
 */
const HOURS = 28;
const DAYS = 20;
const NOW_MS = FIRST_MS + 3 * DAYS * UNITS.day.ms;
/** The block number of a rollup that began shortly before now, numbered as the job does. */
const BLOCK = (NOW_MS - 5_000) * 2_048;

let world: LaneWorld;
const fold = new FoldRun();

beforeAll(async () => {
  world = await startLaneWorld('announcements_test');
  const { store, bus } = world;
  await keepHourlyPages(store);
  const hours = Array.from({ length: HOURS }, (_, hour) => hour);
  const days = Array.from({ length: DAYS }, (_, day) => (day + 2) * 24);
  [...hours, ...days].forEach((hour, index) => {
    const atMs = FIRST_MS + hour * HOUR_MS;
    const events = SITES.map((projectId, site) =>
      plainEvent({
        projectId: storedId(projectId),
        deviceId: `${(hour % 3) + 1}`.repeat(32),
        sessionId: `${2 * hour + site + 1}`.padStart(32, '0'),
        occurredAtMs: atMs,
        receivedAtMs: atMs,
        path: `/p${hour % 5}`,
      }),
    );
    fold.take(messageOf(events, index + 1));
  });
  fold.flush();
  const bytes = (rows: readonly { readonly bytes: Buffer }[]) => rows.map((row) => row.bytes);
  await store.insertRowBinary('events', EVENTS_COLUMNS, bytes(fold.events), undefined);
  await store.insertRowBinary('sessions', SESSIONS_COLUMNS, bytes(fold.sessions), undefined);
  const clockMs = FIRST_MS + HOURS * HOUR_MS;
  const record = freeLaneRecord({ ...FIRST_CHECKPOINT, flushNumber: 1, clockMs });
  await (await bus.keyed(LANES_BUCKET)).put(laneKeyOf(0), encodeLaneRecord(record), 0);
});

afterAll(() => world.stop());

beforeEach(async () => {
  for (const table of ROLLUP_TABLES) await world.store.command(`TRUNCATE TABLE ${table}`);
});

async function newRollupJob(clock = new ManualClock(NOW_MS)): Promise<RollupJob> {
  return new RollupJob({
    store: world.store,
    laneRecords: await world.bus.keyed(LANES_BUCKET),
    lanes: 1,
    intervalMs: 100,
    metrics: createRollupMetrics(new Metrics()),
    ...testLeader('rollup'),
    clock,
  });
}

/** Expects every announced hour or day to have all of its rows. Returns the announced ones. */
async function announcedInFull(unit: RollupUnit): Promise<readonly AnnouncedRollup[]> {
  const announced = await announcedRollups(world.store, unit, SITES);
  const names = await namesOfHashes(world.store, [...fold.events, ...fold.sessions]);
  const found = await announcedRows(world.store, unit, announced, names);
  const keys = new Set(announced.map(({ projectId, startMs }) => `${projectId} ${startMs}`));
  for (const [table, rows] of Object.entries(recountRollups(unit, fold)))
    expect(found[table]).toEqual(rows.filter(({ projectId, start }) => keys.has(`${projectId} ${start}`)));
  return announced;
}

const finalizedMs = FIRST_MS + (HOURS - 3) * HOUR_MS;
const finalizedCount = (unit: RollupUnit) =>
  (SITES.length * (startOfUnit(unit, finalizedMs) - FIRST_MS)) / UNITS[unit].ms;

test('a rollup without its rows or its announcement does not count, and is made again', async () => {
  const job = await newRollupJob();
  await job.pass();
  let block = (NOW_MS + 1_000) * 2_048;
  for (const unit of ROLLUP_UNITS) {
    expect(await announcedInFull(unit)).toHaveLength(finalizedCount(unit));
    for (const projectId of [undefined, storedId('shop')]) {
      for (const hasRollups of [false, true]) {
        // A crash of another process: nothing is marked as late.
        block += 20 * 2_048;
        const died = { projectId, unit, startsMs: [FIRST_MS], block, flushed: [1], nowMs: NOW_MS };
        await announceInvalidation(world.store, died);
        if (hasRollups) await insertRollups(world.store, died);
        const lost = (projectId === undefined ? SITES : [projectId]).map((site) => `${site} ${FIRST_MS}`);
        expect(await announcedInFull(unit)).toHaveLength(finalizedCount(unit) - lost.length);
        await job.pass();
        const again = await announcedInFull(unit);
        expect(again).toHaveLength(finalizedCount(unit));
        const renewed = again.filter((announced) => announced.block > block);
        expect(renewed.map((announced) => `${announced.projectId} ${announced.startMs}`).sort()).toEqual(
          lost.sort(),
        );
      }
    }
  }
});

test.each([
  ['hour', 'hourly_pages'],
  ['day', 'daily_devices'],
] as const)(
  'a rollup of a %s does not count when some of its rows cannot be written',
  async (unit, table) => {
    const job = await newRollupJob();
    await job.pass();
    const block = (NOW_MS + 1_000) * 2_048;
    const run = {
      projectId: storedId('shop'),
      unit,
      startsMs: [FIRST_MS],
      block,
      flushed: [1],
      nowMs: NOW_MS,
    };
    await world.store.command(`RENAME TABLE ${table} TO away`);
    await expect(rollUp(world.store, run)).rejects.toThrow(table);
    await world.store.command(`RENAME TABLE away TO ${table}`);
    expect(await announcedInFull(unit)).toHaveLength(finalizedCount(unit) - 1);
    await job.pass();
    expect(await announcedInFull(unit)).toHaveLength(finalizedCount(unit));
  },
);

test('a crash in the first rollup leaves nothing that counts, and the next pass covers the same hours', async () => {
  for (const unit of ROLLUP_UNITS) {
    const died = {
      projectId: undefined,
      unit,
      startsMs: [FIRST_MS],
      block: BLOCK,
      flushed: [1],
      nowMs: NOW_MS,
    };
    await announceInvalidation(world.store, died);
    if (unit === 'hour') await insertRollups(world.store, died);
    expect(await announcedInFull(unit)).toEqual([]);
  }
  await (await newRollupJob()).pass();
  for (const unit of ROLLUP_UNITS) expect(await announcedInFull(unit)).toHaveLength(finalizedCount(unit));
});

test('block numbers rise although the clock is behind', async () => {
  await (await newRollupJob()).pass();
  const before = await announcedRollups(world.store, 'hour', SITES);
  const behind = await newRollupJob(new ManualClock(NOW_MS - HOUR_MS));
  const died = {
    projectId: storedId('shop'),
    unit: 'hour',
    startsMs: [FIRST_MS],
    flushed: [1],
    nowMs: NOW_MS,
  } as const;
  await announceInvalidation(world.store, { ...died, block: (NOW_MS + HOUR_MS) * 2_048 });
  expect(await announcedInFull('hour')).toHaveLength(before.length - 1);
  await behind.pass();
  expect(await announcedInFull('hour')).toHaveLength(before.length);
});

/** Every order in which the steps of two runs can interleave. */
function interleavings<Step>(one: readonly Step[], other: readonly Step[]): Step[][] {
  const [first, ...rest] = one;
  const [second, ...others] = other;
  if (first === undefined || second === undefined) return [[...one, ...other]];
  return [
    ...interleavings(rest, other).map((steps) => [first, ...steps]),
    ...interleavings(one, others).map((steps) => [second, ...steps]),
  ];
}

test.each(ROLLUP_UNITS)(
  'two rollups at once never leave an announced %s without its rows, whenever the store merges',
  async (unit) => {
    const { store } = world;
    const steps = [announceInvalidation, insertRollups, announceRollup];
    const runs = [
      { projectId: undefined, block: BLOCK },
      { projectId: storedId('shop'), block: BLOCK + 2 },
    ];
    const [one, other] = runs.map((numbers) => steps.map((step) => ({ step, numbers })));
    // Each order has an hour or day of its own, so one pass over the steps covers all of them.
    const orders = interleavings(one ?? [], other ?? []);
    expect(orders).toHaveLength(20);
    const startOf = (index: number) => FIRST_MS + index * UNITS[unit].ms;
    let lower = 0;
    for (let round = 0; round < 6; round += 1) {
      for (const step of steps) {
        for (const numbers of runs) {
          const startsMs = orders.flatMap((order, index) =>
            order[round]?.step === step && order[round]?.numbers === numbers ? [startOf(index)] : [],
          );
          if (startsMs.length > 0)
            await step(store, { ...numbers, unit, startsMs, flushed: [1], nowMs: NOW_MS });
        }
      }
      for (const table of ROLLUP_TABLES) await store.command(`OPTIMIZE TABLE ${table} FINAL`);
      const announced = await announcedInFull(unit);
      lower += announced.filter(({ projectId, block }) => projectId === 'shop' && block === BLOCK).length;
    }
    // In some orders the lower block counts for a while, and in the end the higher one counts in all.
    expect(lower).toBeGreaterThan(0);
    const last = (await announcedInFull(unit)).filter(({ projectId }) => projectId === 'shop');
    expect(
      last.map(({ startMs, block }) => ({ startMs, block })).sort((a, b) => a.startMs - b.startMs),
    ).toEqual(orders.map((_, index) => ({ startMs: startOf(index), block: BLOCK + 2 })));
  },
);
