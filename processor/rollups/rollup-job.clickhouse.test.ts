import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { type Event, NO_ENVIRONMENT, NO_SOURCE, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { HOUR_MS } from '../fold/finalized.ts';
import { decodeLaneRecord, LANES_BUCKET, laneKeyOf } from '../lane/lane-record.ts';
import { answering, type LaneWorld, startLaneWorld, until } from '../testing/lane-world.ts';
import { type RollupsByTable, recountRollups } from '../testing/rollups-recount.ts';
import { messageOf } from '../testing/run.ts';
import { announcedRollups, announcedRows, namesOfHashes, storedRows } from '../testing/stored-rollups.ts';
import { RollupJob } from './rollup-job.ts';
import { createRollupMetrics } from './rollup-metrics.ts';
import { SUM_UNITS, type SumUnit, startOfUnit, UNITS } from './units.ts';

const PARTITIONS = 2;
// Hours by page are kept by the clock on the wall, so the traffic is of the weeks before.
const FIRST_MS = startOfUnit('day', Date.now() - 30 * UNITS.day.ms) + 20.3 * HOUR_MS;
const INTERVAL_MS = 100;
const SITES = ['shop', 'blog'];
const STEP_MINUTES = 152;
const LAST_MINUTES = 57 * 60;

let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('roller_test');
  for (let partition = 0; partition < PARTITIONS; partition += 1) await world.open(partition);
  for (let partition = 0; partition < PARTITIONS; partition += 1)
    await answering(await world.start({ partition, instance: 'one' }));
});

afterAll(() => world.stop());

/** Sends an event and waits until its partition's checkpoint holds it, so that each has a flush of its own. */
async function bring(partition: number, event: Event): Promise<void> {
  published += 1;
  const sequence = await world.bus.publish(subjectOf(partition), messageOf([event], published), 5_000);
  const records = await world.bus.keyed(LANES_BUCKET);
  await until('the checkpoint', async () => {
    const stored = await records.get(laneKeyOf(partition));
    const record = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
    return record !== undefined && record.checkpoint.sequence >= sequence ? true : undefined;
  });
}

function eventAt(minutes: number, device: number, overrides: Partial<Event> = {}): Event {
  const deviceId = `${device + 1}`.padStart(2, '0').repeat(16);
  const occurredAtMs = FIRST_MS + minutes * 60_000;
  return plainEvent({
    projectId: SITES[device % 2] ?? '',
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

async function rollupJob(): Promise<RollupJob> {
  return new RollupJob({
    store: world.store,
    records: await world.bus.keyed(LANES_BUCKET),
    partitions: PARTITIONS,
    intervalMs: INTERVAL_MS,
    clock: systemClock,
    log: createLogger('roller', 'silent'),
    metrics: createRollupMetrics(new Metrics()),
    isOurs: () => true,
  });
}

interface Sums {
  /** By site and beginning. */
  readonly blocks: ReadonlyMap<string, number>;
  readonly tables: RollupsByTable;
}

/** What is announced, and its sums. */
async function sums(unit: SumUnit): Promise<Sums> {
  const announced = await announcedRollups(world.store, unit, SITES);
  const rows = await storedRows(world.store);
  const names = await namesOfHashes(world.store, [...rows.events, ...rows.sessions]);
  return {
    blocks: new Map(announced.map(({ projectId, startMs, block }) => [`${projectId} ${startMs}`, block])),
    tables: await announcedRows(world.store, unit, announced, names),
  };
}

/** The same, recounted row by row. */
async function recount(unit: SumUnit, endMs: number): Promise<RollupsByTable> {
  const tables = recountRollups(unit, await storedRows(world.store));
  return Object.fromEntries(
    Object.entries(tables).map(([table, rows]) => [table, rows.filter(({ start }) => Number(start) < endMs)]),
  );
}

test('what is settled is summed up once every partition has passed it, and what is late again', async () => {
  const one = await rollupJob();
  for (let minutes = 0; minutes < LAST_MINUTES; minutes += STEP_MINUTES) {
    const step = minutes / STEP_MINUTES;
    await bring(
      0,
      eventAt(minutes, step % 4, {
        ...(step % 5 === 0
          ? { name: 'purchase', revenue: BigInt(minutes + 1), currency: step % 2 === 0 ? 'EUR' : 'JPY' }
          : {}),
        ...(step % 7 === 0 ? { profileId: 'alice' } : {}),
      }),
    );
  }
  await one.pass();
  for (const unit of SUM_UNITS) expect((await sums(unit)).blocks.size).toBe(0);

  // The other partition's clock stands before the end: what ended three hours before it is settled.
  const clockMinutes = LAST_MINUTES - 100;
  await bring(1, eventAt(clockMinutes, 5));
  await one.pass();
  const finalizedMs = FIRST_MS + clockMinutes * 60_000 - 3 * HOUR_MS;
  const before = { hour: await sums('hour'), day: await sums('day') };
  for (const unit of SUM_UNITS) {
    const [fromMs, endMs] = [startOfUnit(unit, FIRST_MS), startOfUnit(unit, finalizedMs)];
    expect(before[unit].blocks.size).toBe((SITES.length * (endMs - fromMs)) / UNITS[unit].ms);
    expect(before[unit].tables).toEqual(await recount(unit, endMs));
    for (const rows of Object.values(before[unit].tables)) expect(rows.length).toBeGreaterThan(3);
  }

  // One event for a time that is summed up, whose session gets a profile by it, and one for a day before all.
  const receivedAtMs = FIRST_MS + (LAST_MINUTES + 1) * 60_000;
  const lateMinutes = 2 * STEP_MINUTES + 0.5;
  await bring(0, eventAt(lateMinutes, 2, { receivedAtMs, path: '/late', profileId: 'bob' }));
  await bring(0, eventAt(-2_000, 1, { receivedAtMs, path: '/early' }));
  const startAt = (unit: SumUnit, minutes: number) => startOfUnit(unit, FIRST_MS + minutes * 60_000);
  for (const unit of SUM_UNITS) {
    const early = `blog ${startAt(unit, -2_000)}`;
    await until('what is late', async () => {
      await one.pass();
      return (await sums(unit)).blocks.has(early) ? true : undefined;
    });
    const after = await sums(unit);
    expect(after.tables).toEqual(await recount(unit, startOfUnit(unit, finalizedMs)));
    const renewed = [...after.blocks].filter(([key, block]) => before[unit].blocks.get(key) !== block);
    expect(renewed.map(([key]) => key).sort()).toEqual([early, `shop ${startAt(unit, lateMinutes)}`].sort());
    // Nothing is left to do.
    await one.pass();
    expect((await sums(unit)).blocks).toEqual(after.blocks);
  }
}, 60_000);
