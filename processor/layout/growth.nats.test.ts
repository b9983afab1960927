import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { agreeOnLanes, openLayouts, storedLayout, storeLayout } from '../../infra/process/agreed-lanes.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { ensureLaneStreams, entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import { LANES_BUCKET, LANES_BUCKET_OPTIONS, laneKeyOf, UNDIVIDED } from '../lane/lane-record.ts';
import { Ownership } from '../lane/ownership.ts';
import { type GrowingLane, Growth } from './growth.ts';

// A processor continues to own a lane when the service is to grow from two lanes to four.

const BYTES_MAX = 16_777_216;
const LEASE_MS = 1_000;

let nats: NatsServer;
let bus: Bus;
let laneRecords: KeyedBytes;
let layouts: KeyedBytes;
let owner: Ownership;
let renewing: NodeJS.Timeout;

beforeAll(async () => {
  nats = await startNatsServer();
});
afterAll(() => nats.stop());

beforeEach(async () => {
  bus = await Bus.connect({ url: nats.url, name: 'growth' }, createLogger('test', 'silent'));
  laneRecords = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
  const layout = await agreeOnLanes(bus, { lanes: 2, storeShards: 1 });
  await ensureLaneStreams(bus, layout, BYTES_MAX);
  layouts = await openLayouts(bus);
  owner = await take(1);
  renewing = setInterval(() => void owner.renew(), LEASE_MS / 5);
  const stored = await storedLayout(layouts);
  await storeLayout(layouts, { ...layout, growingTo: 4 }, stored?.revision ?? 0);
});
afterEach(async () => {
  clearInterval(renewing);
  await owner.renew();
  for (const stream of [
    'KV_lanes',
    'KV_layout',
    ...[0, 1].flatMap((lane) => [streamOf(lane), entityStreamOf(lane)]),
  ])
    await bus.deleteStream(stream);
  await bus.close();
});

async function take(lane: number): Promise<Ownership> {
  const taken = await Ownership.take({
    ...{ records: laneRecords, lane, key: laneKeyOf(lane), division: UNDIVIDED, owner: 'holder' },
    ...{ leaseMs: LEASE_MS, watch: new LeaseWatch(), clock: systemClock },
  });
  if (taken === undefined) throw new Error('the lane is not free');
  return taken;
}

/** No lane is worked off here, so its thread does nothing, and it needs no store. */
function growth(): Growth {
  const config = readConfig({ INSTANCE: 'growing', LEASE_MS: String(LEASE_MS) });
  const log = createLogger('test', 'silent');
  const used = { config, log, bus, clock: systemClock, threads: [undefined], crashPoint: () => {} };
  const ofLane = (lane: number) => ({ ...used, lane }) as unknown as GrowingLane;
  return new Growth({ ofLane, laneRecords, layouts, bytesMax: BYTES_MAX, takeMaxMs: 500 });
}

test('is no reason to wait for ever: names that an earlier attempt gave are taken back, and everything goes on', async () => {
  await bus.renameSubject(streamOf(0), subjectOf('0-of-4'));
  await bus.renameSubject(entityStreamOf(1), entitySubjectOf('1-of-4'));
  const before = { lanes: 2, storeShards: 1, isGrown: false, growingTo: undefined };
  expect(await growth().grow()).toEqual(before);
  expect((await storedLayout(layouts))?.layout).toEqual(before);
  for (const lane of [0, 1]) {
    expect(await bus.publish(subjectOf(lane), Buffer.from('event'), 5_000)).toBe(1);
    expect(await bus.publish(entitySubjectOf(lane), Buffer.from('update'), 5_000)).toBe(1);
  }
  // The lane that was free is free again.
  await (await take(0)).giveUp();
});

test('is waited for when a lane has been divided already', async () => {
  await bus.renameSubject(streamOf(0), subjectOf('0-of-4'));
  const divided = await take(0);
  await divided.grow({ lanes: 4, before: [[0, 1]] });
  await divided.giveUp();
  expect((await growth().grow()).growingTo).toBe(4);
  await expect(bus.publish(subjectOf(0), Buffer.from('event'), 1_000)).rejects.toThrow();
});

test('does not begin while a lane waits to take over the rows of a backup', async () => {
  const waiting = await take(0);
  const at = { flushNumber: 7, clockMs: 1 };
  await waiting.beginRestore({ attempt: 'aaaaaaaa', backupId: 'bbbbbbbb', ...at, lanes: 2 });
  await waiting.giveUp();
  clearInterval(renewing);
  await owner.giveUp();
  expect(await growth().grow()).toEqual({ lanes: 2, storeShards: 1, isGrown: false, growingTo: undefined });
  // The next owner of the lane still finds the restore.
  expect((await take(0)).restore?.attempt).toBe('aaaaaaaa');
  owner = await take(1);
});
