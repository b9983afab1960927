import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Fault } from '../../infra/testing/fault-proxy.ts';
import { INTEGRATION_FORMATS } from '../integration.ts';
import {
  backfill,
  deliverAll,
  expectAllOnce,
  flush,
  move,
  POINTS,
  type Process,
  processOf,
  purge,
  sceneOf,
  timesIn,
} from './testing/delivery-scene.ts';
import { type DeliveryWorld, LANES, startDeliveryWorld } from './testing/delivery-world.ts';
import { writeCheckpoint } from './testing/stored-events.ts';

/** Timeout of a request while requests are made to hang. */
const HASTY_MS = 500;

let world: DeliveryWorld;

beforeAll(async () => {
  world = await startDeliveryWorld('delivery_law');
});

afterAll(() => world.stop());

const FAULTS: readonly Fault[] = [
  { kind: 'answer', status: 500 },
  { kind: 'answer', status: 503, code: 'SlowDown' },
  { kind: 'hang' },
  { kind: 'drop' },
  { kind: 'lose' },
  { kind: 'stall' },
  { kind: 'cut' },
  { kind: 'slow', ms: 100 },
  { kind: 'slow', ms: 700 },
];

const who = fc.nat(1);
const moves = fc.integer({ min: 2, max: 8 });
const action = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('move' as const), who, moves, isDue: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('both' as const), moves }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('die' as const),
      who,
      moves,
      point: fc.constantFrom(...POINTS),
      after: fc.nat(1),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      who,
      moves,
      fault: fc.constantFrom(...FAULTS),
      after: fc.nat(5),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('backfill' as const),
      fromDay: fc.nat(3),
      days: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('purge' as const), each: fc.integer({ min: 2, max: 5 }) }),
  },
);
/** Events arrive, and then one action follows. */
const step = fc.record({
  lane: fc.nat(LANES - 1),
  // Some events are late, and some come from a device whose clock is ahead.
  hours: fc.array(fc.record({ hour: fc.nat(72), count: fc.integer({ min: 1, max: 5 }) }), { maxLength: 2 }),
  isComplete: fc.boolean(),
  action,
});

/** Steps that every run takes first, so that the counts at the end do not depend on chance. */
const FIXED_STEPS = [
  { kind: 'backfill' as const, fromDay: 0, days: 1 },
  { kind: 'move' as const, who: 0, moves: 8, isDue: false },
  { kind: 'backfill' as const, fromDay: 1, days: 2 },
  ...POINTS.map((point, index) => ({ kind: 'die' as const, who: index % 2, moves: 8, point, after: 0 })),
  ...FAULTS.map((fault, index) => ({ kind: 'fail' as const, who: index % 2, moves: 6, fault, after: 0 })),
].map((next, index) => ({
  lane: index % LANES,
  hours: [{ hour: 5 * index, count: 3 }],
  isComplete: index % 3 !== 0,
  action: next,
}));

test('a reader of manifests sees every event once, whatever crashes, fails, is late or runs at the same time', async () => {
  const seen = { deaths: 0, faults: 0, partial: 0, backfilled: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...INTEGRATION_FORMATS),
      fc.array(step, { minLength: 6, maxLength: 12 }),
      async (format, steps) => {
        await world.lane.store.command('TRUNCATE TABLE events');
        const scene = await sceneOf(world, { format });
        const hasty = () => processOf(scene, { timeoutMs: HASTY_MS });
        const clearFaults: (() => void)[] = [];
        const processes = [hasty(), hasty()] as const;
        await flush(scene, 0, [...timesIn(3, 8), ...timesIn(30, 2)]);
        await flush(scene, 1, timesIn(4, 2));
        await move(scene, processes[0], true);
        const run = async (process: Process, moves: number, isDue: boolean) => {
          for (let made = 0; made < moves; made += 1) {
            const hadToDie = process.dieAt !== undefined;
            const moved = await move(scene, process, isDue);
            if (moved !== 'failed') continue;
            if (hadToDie && process.dieAt === undefined) seen.deaths += 1;
          }
        };
        for (const { lane, hours, isComplete, action: next } of steps) {
          const times = hours.flatMap(({ hour, count }) => timesIn(hour, count));
          await flush(scene, lane, times, isComplete);
          switch (next.kind) {
            case 'move':
              await run(processes[next.who === 0 ? 0 : 1], next.moves, next.isDue);
              break;
            case 'both':
              await Promise.all(processes.map((process) => run(process, next.moves, true)));
              break;
            case 'die': {
              const process = processes[next.who === 0 ? 0 : 1];
              process.dieAt = { point: next.point, left: next.after };
              await run(process, next.moves, true);
              break;
            }
            case 'fail': {
              const from = world.proxy.log.length + next.after;
              const when = ({ number }: { readonly number: number }) => number >= from;
              clearFaults.push(world.proxy.fail({ when, times: 1, fault: next.fault }));
              await run(processes[next.who === 0 ? 0 : 1], next.moves, true);
              break;
            }
            case 'backfill':
              backfill(scene, next.fromDay, next.days);
              break;
            case 'purge':
              await purge(scene, (number) => number % next.each === 0);
              break;
          }
        }
        for (const clear of clearFaults.splice(0)) clear();
        for (const [lane, number] of scene.flushes.entries())
          await writeCheckpoint(scene.laneRecords, lane, number);
        await deliverAll(scene);
        const bucket = await expectAllOnce(scene);
        // The same rows give the same bytes: without a purge a repeated step writes the same names.
        if (scene.purged.size === 0) expect(bucket.orphans).toEqual([]);
        seen.partial += bucket.manifests.filter(({ until }) => until === null).length;
        seen.backfilled += bucket.manifests.filter(({ kind }) => kind === 'backfill').length;
      },
    ),
    { numRuns: 10, examples: [[INTEGRATION_FORMATS[0], FIXED_STEPS]] },
  );
  seen.faults = world.proxy.log.filter(({ fault }) => fault !== undefined).length;
  expect(seen.deaths).toBeGreaterThan(2);
  expect(seen.faults).toBeGreaterThan(4);
  expect(seen.partial).toBeGreaterThan(0);
  expect(seen.backfilled).toBeGreaterThan(1);
});
