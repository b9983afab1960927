import { afterAll, beforeAll, expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import type { Store } from '../../infra/store/store.ts';
import { INTEGRATION_FORMATS, integrationKeyOf } from '../integration.ts';
import { makeFile } from './event-file.ts';
import {
  backfill,
  deliverAll,
  deliveryOf,
  expectAllOnce,
  FIRST_DAY_MS,
  flush,
  found,
  MOVES_MAX,
  move,
  POINTS,
  processOf,
  purge,
  sceneOf,
  slowed,
  timesIn,
} from './testing/delivery-scene.ts';
import { type DeliveryWorld, LOW_LIMITS, startDeliveryWorld } from './testing/delivery-world.ts';

let world: DeliveryWorld;

beforeAll(async () => {
  world = await startDeliveryWorld('delivery_test');
});

afterAll(() => world.stop());

test.each(POINTS)(
  'a crash at %s changes nothing, even when rows are purged before the step is repeated',
  async (point) => {
    for (const isPurged of [false, true]) {
      const scene = await sceneOf(world);
      const first = processOf(scene);
      await move(scene, first, true);
      await flush(scene, 0, [...timesIn(1, 5), ...timesIn(2, 1)]);
      await flush(scene, 2, timesIn(1, 1));
      first.dieAt = { point, left: 0 };
      for (let moves = 0; moves < MOVES_MAX && first.dieAt !== undefined; moves += 1)
        await move(scene, first, true);
      const before = await world.s3.objects();
      if (isPurged) await purge(scene, (number) => number === 1 || number === 7);
      await deliverAll(scene);
      const bucket = await expectAllOnce(scene);
      expect(bucket.orphans).toEqual([]);
      // An existing manifest stays as it was, with all of its files.
      for (const [key, bytes] of before)
        if (key.includes(`manifests/${scene.integration.id}`))
          expect((await world.s3.objects()).get(key)).toEqual(bytes);
      const isDecided = !['delivery:after-declare', 'delivery:after-file'].includes(point);
      expect(bucket.events).toHaveLength(isPurged && !isDecided ? 5 : 7);
    }
  },
);

test('a late process writes the manifest that another committed, even when rows were purged in between', async () => {
  const scene = await sceneOf(world);
  const [slow, quick] = [processOf(scene), processOf(scene)];
  await move(scene, slow, true);
  await flush(scene, 0, timesIn(1, 6));
  // Declared by one process, and decided with all six events.
  for (let moves = 0; moves < 2; moves += 1) await move(scene, slow, true);
  let isReached = false;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const late = move(
    scene,
    slowed(slow, async (key) => {
      isReached = key.includes('manifests/');
      await released;
    }),
    true,
  );
  await expect.poll(() => isReached).toBe(true);
  await purge(scene, (number) => number < 3);
  await deliverAll(scene, quick);
  await flush(scene, 1, timesIn(1, 2));
  await deliverAll(scene, quick);
  const committed = await found(scene);
  release();
  expect(await late).toBe('failed');
  const bucket = await expectAllOnce(scene);
  expect(bucket.manifests).toEqual(committed.manifests);
  expect(bucket.events).toHaveLength(8);
});

test.each(['before a file is read', 'after a file is read', 'before the first file is sent'] as const)(
  'rows purged %s do not affect other rows, and the counts match the files',
  async (when) => {
    const scene = await sceneOf(world, { format: 'ndjson_gzip' });
    const process = processOf(scene);
    await move(scene, process, true);
    await flush(scene, 0, timesIn(1, 12));
    let isPurged = false;
    const purgeOnce = async () => {
      if (isPurged) return;
      isPurged = true;
      // They come first in the first file: their visits have no session.
      await purge(scene, (number) => number % 3 === 0);
    };
    const { store } = process.deps;
    const purging = new Proxy(store, {
      get: (target, name) => {
        if (name !== 'bytes') {
          const member = Reflect.get(target, name, target);
          return typeof member === 'function' ? member.bind(target) : member;
        }
        return async function* (...query: Parameters<Store['bytes']>) {
          if (when === 'before a file is read') await purgeOnce();
          yield* target.bytes(...query);
          if (when === 'after a file is read') await purgeOnce();
        };
      },
    });
    const watched = slowed({ ...process, deps: { ...process.deps, store: purging } }, async () => {
      if (when === 'before the first file is sent') await purgeOnce();
    });
    for (let moves = 0; moves < 3; moves += 1) expect(await move(scene, watched, true)).not.toBe('failed');
    expect(isPurged).toBe(true);
    const { events } = await expectAllOnce(scene);
    // Rows that were already read are delivered, as they would have been a moment before the purge.
    expect(events).toHaveLength(when === 'before the first file is sent' ? 11 : 8);
  },
);

test('rows of an incomplete flush wait, and late ones go to a file of their own hour', async () => {
  const scene = await sceneOf(world, { format: 'ndjson_gzip', prefix: '' });
  await deliverAll(scene);
  await flush(scene, 0, timesIn(5, 2));
  await flush(scene, 1, timesIn(5, 2), false);
  await deliverAll(scene);
  expect((await expectAllOnce(scene)).events).toHaveLength(2);
  await flush(scene, 1, timesIn(0, 1));
  await deliverAll(scene);
  const { manifests, events } = await expectAllOnce(scene);
  expect(events).toHaveLength(5);
  expect(manifests.map(({ files }) => files.map(({ hour }) => hour))).toEqual([
    ['2026-02-27T05'],
    ['2026-02-27T00', '2026-02-27T05'],
  ]);
  expect(manifests.map(({ flushed }) => flushed)).toEqual([
    { from: [0, 0, 0], to: [1, 0, 0] },
    { from: [1, 0, 0], to: [1, 2, 0] },
  ]);
});

test('overlapping backfills deliver each day once, beside new events', async () => {
  const scene = await sceneOf(world);
  await flush(scene, 0, [...timesIn(1, 4), ...timesIn(25, 2), ...timesIn(26, 2), ...timesIn(49, 1)]);
  await flush(scene, 1, timesIn(1, 1));
  await deliverAll(scene);
  expect((await expectAllOnce(scene)).events).toEqual([]);
  backfill(scene, -400, 402);
  await flush(scene, 0, timesIn(2, 2));
  await deliverAll(scene);
  backfill(scene, 1, 3);
  backfill(scene, 10, 2);
  await flush(scene, 2, timesIn(26, 1));
  await deliverAll(scene);
  const { manifests, events } = await expectAllOnce(scene);
  expect(events).toHaveLength(13);
  expect(manifests.map(({ kind, day }) => day ?? kind)).toEqual([
    'new',
    '2026-02-27',
    '2026-02-28',
    'new',
    '2026-03-01',
  ]);
  const { backfills, backfilledDays } = await deliveryOf(scene);
  expect(backfilledDays).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  const done = { finishedAt: expect.any(String) };
  expect(backfills).toMatchObject([
    { ...done, daysDone: 402, daysTotal: 402, rows: 9 },
    { ...done, daysDone: 3, daysTotal: 3, rows: 1 },
    { ...done, daysDone: 2, daysTotal: 2, rows: 0 },
  ]);
});

test('a delivery whose record is lost continues after the existing manifests', async () => {
  const scene = await sceneOf(world);
  await deliverAll(scene);
  for (let hour = 1; hour < 8; hour += 1) {
    await flush(scene, 0, timesIn(hour, 1));
    await deliverAll(scene);
  }
  const before = await found(scene);
  expect(before.manifests).toHaveLength(7);
  await world.deliveries.remove(integrationKeyOf(scene.integration.id));
  await deliverAll(scene);
  await flush(scene, 1, timesIn(9, 2));
  await deliverAll(scene);
  const { manifests, events } = await found(scene);
  expect(manifests.slice(0, 7)).toEqual(before.manifests);
  expect(manifests).toHaveLength(8);
  expect(new Set(events.map(({ id }) => id)).size).toBe(9);
  expect(events).toHaveLength(9);
});

test('an hour that is too large for one file is split', async () => {
  const limits = { stepRows: 1_000, stepHours: 100, fileRows: 1_000, fileBytes: 1_500 };
  const scene = await sceneOf(world, { format: 'ndjson_gzip' });
  await move(scene, processOf(scene), true);
  await flush(scene, 0, timesIn(1, 200));
  await deliverAll(scene, processOf(scene, { limits }));
  const { manifests } = await expectAllOnce(scene);
  expect(manifests).toHaveLength(1);
  expect(manifests[0]?.files.length).toBeGreaterThan(1);
  for (const { bytes } of manifests[0]?.files ?? []) expect(bytes).toBeLessThanOrEqual(limits.fileBytes);
});

test.each(INTEGRATION_FORMATS)(
  'the same rows give the same bytes, whatever the parts of the store: %s',
  async (format) => {
    const scene = await sceneOf(world, { format });
    for (let flushes = 0; flushes < 8; flushes += 1) await flush(scene, flushes % 2, timesIn(1, 300));
    const rows = { storedId: scene.integration.storedId, after: [], upTo: scene.flushes };
    const hour = FIRST_DAY_MS / HOUR_MS + 1;
    const make = () =>
      makeFile(
        world.lane.store,
        { rows, hour, lower: undefined, upper: undefined },
        scene.integration,
        LOW_LIMITS.fileBytes,
      );
    const before = await make();
    expect(before?.bytes.length).toBeGreaterThan(1_000);
    for (let again = 0; again < 3; again += 1) expect((await make())?.sha256).toBe(before?.sha256);
    await world.lane.store.command('OPTIMIZE TABLE events FINAL');
    expect((await make())?.sha256).toBe(before?.sha256);
  },
);
