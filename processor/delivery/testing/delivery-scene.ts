import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { must } from '../../../infra/assert.ts';
import type { KeyedBytes } from '../../../infra/bus/keyed-bytes.ts';
import { DAY_MS, HOUR_MS } from '../../../infra/durations.ts';
import { BucketError } from '../../../infra/object-store/object-store.ts';
import { CRASH_POINTS, type CrashPoint } from '../../../infra/process/crashpoint.ts';
import type { Delivery, Integration } from '../../integration.ts';
import { advance, type DeliveryDeps, type Moved, type Tries } from '../advance.ts';
import { OvertakenError, readDelivery } from '../delivery-records.ts';
import type { DeliveryLimits } from '../limits.ts';
import { type FoundInBucket, readBucket } from './bucket-reader.ts';
import { type DeliveryWorld, depsOf, integrationOf, LANES, openBucket } from './delivery-world.ts';
import { eventOf, purgeEvents, storeEvents, type WrittenEvent, writeCheckpoint } from './stored-events.ts';

export const FIRST_DAY_MS: number = Date.UTC(2026, 1, 27);
export const MOVES_MAX = 400;
export const POINTS: readonly CrashPoint[] = CRASH_POINTS.filter((point) => point.startsWith('delivery:'));

/** Thrown where a process crashes. */
class CrashError extends Error {}

/** A process that delivers the events of one integration, move by move, and crashes on demand. */
export interface Process {
  readonly deps: DeliveryDeps;
  tries: Tries;
  dieAt: { readonly point: CrashPoint; left: number } | undefined;
}

/** A site with an integration and lanes of its own. */
export interface Scene {
  readonly world: DeliveryWorld;
  integration: Integration;
  readonly laneRecords: KeyedBytes;
  readonly written: WrittenEvent[];
  readonly purged: Set<number>;
  /** The last flush of each lane. */
  readonly flushes: number[];
}

export async function sceneOf(world: DeliveryWorld, fields: Partial<Integration> = {}): Promise<Scene> {
  const integration = integrationOf(world, fields);
  const laneRecords = await world.lane.bus.keyed(`lanes-${integration.id}`);
  const flushes = Array.from({ length: LANES }, () => 0);
  return { world, integration, laneRecords, written: [], purged: new Set(), flushes };
}

export function processOf(
  scene: Scene,
  { limits, timeoutMs }: { readonly limits?: DeliveryLimits; readonly timeoutMs?: number } = {},
): Process {
  const crashPoint = (point: CrashPoint) => {
    const { dieAt } = process;
    if (dieAt?.point !== point) return;
    dieAt.left -= 1;
    if (dieAt.left >= 0) return;
    process.dieAt = undefined;
    throw new CrashError(point);
  };
  const deps = depsOf(scene.world, {
    laneRecords: scene.laneRecords,
    crashPoint,
    ...(limits === undefined ? {} : { limits }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  const process: Process = { deps, tries: { clean: undefined }, dieAt: undefined };
  return process;
}

/** The same process, with a wait before each write to the bucket. */
export function slowed(process: Process, beforePut: (key: string) => Promise<void>): Process {
  const open = (integration: Integration) => {
    const bucket = must(openBucket(integration), 'the secret is known');
    return {
      put: async (key: string, bytes: Uint8Array, about: { readonly contentType: string }) => {
        await beforePut(key);
        await bucket.put(key, bytes, about);
      },
      get: (key: string, maxBytes: number) => bucket.get(key, maxBytes),
      list: (prefix: string, max: number) => bucket.list(prefix, max),
      remove: (key: string) => bucket.remove(key),
      close: () => bucket.close(),
    };
  };
  return { ...process, deps: { ...process.deps, openBucket: open } };
}

/** A flush of events at these times. Unless it is complete, no checkpoint names it. */
export async function flush(
  scene: Scene,
  lane: number,
  times: readonly number[],
  isComplete = true,
): Promise<void> {
  const flushNumber = (scene.flushes[lane] ?? 0) + 1;
  scene.flushes[lane] = flushNumber;
  const events = times.map((createdAtMs, index) => {
    return { number: scene.written.length + index + 1, lane, flushNumber, createdAtMs };
  });
  scene.written.push(...events);
  if (events.length > 0) await storeEvents(scene.world.lane.store, scene.integration.storedId, events);
  if (isComplete) await writeCheckpoint(scene.laneRecords, lane, flushNumber);
}

/** Times in that hour since the first day, the same for every second event. */
export function timesIn(hour: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => FIRST_DAY_MS + hour * HOUR_MS + (index % 2) * 59_999);
}

export async function move(scene: Scene, process: Process, isDue: boolean): Promise<Moved | 'failed'> {
  try {
    return await advance(process.deps, scene.integration, process.tries, isDue);
  } catch (error) {
    if (error instanceof CrashError) process.tries = { clean: undefined };
    else if (!(error instanceof BucketError) && !(error instanceof OvertakenError)) throw error;
    return 'failed';
  }
}

/** Makes moves until everything is delivered, backfills as well. */
export async function deliverAll(scene: Scene, process = processOf(scene)): Promise<void> {
  let isCaughtUp = false;
  for (let moves = 0; moves < MOVES_MAX; moves += 1) {
    const moved = await move(scene, process, !isCaughtUp);
    if (moved === 'caught-up') isCaughtUp = true;
    if (moved === 'idle' && isCaughtUp) return;
  }
  throw new Error('the delivery does not come to an end');
}

export function backfill(scene: Scene, fromDay: number, days: number): void {
  const dayOf = (day: number) => new Date(FIRST_DAY_MS + day * DAY_MS).toISOString().slice(0, 10);
  const requested = {
    id: randomUUID(),
    from: dayOf(fromDay),
    to: dayOf(fromDay + days - 1),
    requestedAt: new Date(FIRST_DAY_MS + scene.integration.backfills.length).toISOString(),
  };
  scene.integration = { ...scene.integration, backfills: [...scene.integration.backfills, requested] };
}

export async function purge(scene: Scene, isMeant: (number: number) => boolean): Promise<void> {
  const numbers = scene.written.map(({ number }) => number).filter((number) => isMeant(number));
  const ids = scene.written.filter(({ number }) => isMeant(number)).map((event) => eventOf(event, '').id);
  for (const number of numbers) scene.purged.add(number);
  await purgeEvents(scene.world.lane.store, scene.integration.storedId, ids);
}

export async function deliveryOf({ world, integration }: Scene): Promise<Delivery> {
  const { delivery } = await readDelivery(world.deliveries, integration.id);
  if (delivery === undefined) throw new Error('nothing was begun');
  return delivery;
}

export async function found({ world, integration }: Scene): Promise<FoundInBucket> {
  return readBucket(await world.s3.objects(), integration);
}

/** Compares the bucket with the events that were written, once everything is delivered. */
export async function expectAllOnce(scene: Scene): Promise<FoundInBucket> {
  const { first, flushed, backfilledDays, ...delivery } = await deliveryOf(scene);
  const isRequested = (atMs: number) =>
    scene.integration.backfills.some(
      ({ from, to }) => Date.parse(from) <= atMs && atMs < Date.parse(to) + DAY_MS,
    );
  const isMeant = ({ lane, flushNumber, createdAtMs }: WrittenEvent) =>
    flushNumber > (first[lane] ?? 0) ? flushNumber <= (flushed[lane] ?? 0) : isRequested(createdAtMs);
  const bucket = await found(scene);
  const ids = bucket.events.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const { projectId } = scene.integration;
  const meant = scene.written.filter(isMeant);
  // Purged events may have been delivered before.
  const expected = meant
    .map((event) => ({ event: eventOf(event, projectId), isPurged: scene.purged.has(event.number) }))
    .filter(({ event, isPurged }) => !isPurged || ids.includes(event.id))
    .map(({ event }) => event);
  const byId = <Event extends { readonly id: string }>(events: readonly Event[]) =>
    [...events].sort((a, b) => a.id.localeCompare(b.id));
  expect(byId(bucket.events)).toEqual(byId(expected));
  const files = bucket.manifests.flatMap((manifest) => manifest.files);
  expect(delivery).toMatchObject({
    step: null,
    failure: null,
    sequence: bucket.manifests.length,
    files: files.length,
    rows: bucket.events.length,
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  });
  expect(delivery.partial).toBeUndefined();
  expect(delivery.deliveredUntil).not.toBeNull();
  expect(new Set(backfilledDays).size).toBe(backfilledDays.length);
  return bucket;
}
