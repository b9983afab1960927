import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { systemClock } from '../../infra/clock.ts';
import { readConfig } from '../../infra/config.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { projectRoot } from '../../infra/root.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { type EntityUpdate, encodeEntityUpdate } from '../../ingest/entity-update.ts';
import { beginMessage, type Event, endMessage, laneOf, REVENUE, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { identify, orderOf } from '../entities/testing/updates.ts';
import { answering, type LaneWorld, startLaneWorld, until } from '../testing/lane-world.ts';
import { messageOf, TEST_LIMITS } from '../testing/run.ts';
import { earlierKeyOf, earlierNamesOf } from './earlier-partitions.ts';
import { Lane } from './lane.ts';
import { createLaneGauges, createLaneMetrics } from './lane-metrics.ts';
import {
  decodeLaneRecord,
  encodeLaneRecord,
  FIRST_CHECKPOINT,
  freeLaneRecord,
  LANES_BUCKET,
  LANES_BUCKET_OPTIONS,
  laneKeyOf,
} from './lane-record.ts';
import { Ownership } from './ownership.ts';
import { WorkerHandle } from './worker-handle.ts';

// A data folder of a release in which each partition was a pipeline of its own.
const PARTITIONS = 3;
const BYTES_MAX = 67_108_864;
const START_MS = Date.now() - 600_000;

let world: LaneWorld;
let sent = 0;

beforeAll(async () => {
  world = await startLaneWorld('earlier_partitions');
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const { stream, subject, entityStream, entitySubject } = earlierNamesOf(partition);
    await world.bus.ensureStream(stream, subject, BYTES_MAX);
    await world.bus.ensureStream(entityStream, entitySubject, BYTES_MAX);
  }
  await world.open(0);
});

afterAll(() => world.stop());

const devices = Array.from({ length: 9 }, (_, index) => String(index + 1).repeat(32));

function partitionOfDevice(deviceId: string): number {
  return laneOf('demo', deviceId, { lanes: PARTITIONS, storeShards: 1 });
}

function eventOf(deviceId: string, minute: number, overrides: Partial<Event> = {}): Event {
  const atMs = START_MS + minute * 60_000;
  return plainEvent({ deviceId, sessionId: deviceId, occurredAtMs: atMs, receivedAtMs: atMs, ...overrides });
}

/** Publishes to each device's partition, as a collector of that release did. */
async function publishEarlier(events: readonly Event[]): Promise<void> {
  for (const event of events) {
    sent += 1;
    const { subject } = earlierNamesOf(partitionOfDevice(event.deviceId));
    await world.bus.publish(subject, messageOf([event], sent), 5_000);
  }
}

async function publishUpdate(partition: number, update: EntityUpdate): Promise<void> {
  sent += 1;
  const writer = new RowBinaryWriter(BYTES_MAX);
  beginMessage(writer, { publisherId: 9n, publisherSequence: sent, sentAtMs: START_MS });
  encodeEntityUpdate(writer, update);
  endMessage(writer, 1);
  await world.bus.publish(earlierNamesOf(partition).entitySubject, writer.bytes(), 5_000);
}

/** Runs the lane of an earlier partition until it has flushed everything, or until it dies at a crash point. */
async function runEarlier(partition: number, diesInFlush: boolean): Promise<void> {
  const { bus, store, feeds } = world;
  const metrics = new Metrics();
  const records = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
  const thread = new WorkerHandle(join(projectRoot, 'dist/processor/lane/worker.js'));
  const ownership = await Ownership.take({
    records,
    lane: partition,
    key: earlierKeyOf(partition),
    division: { shards: 1, partitions: 1 },
    owner: 'earlier',
    leaseMs: 1_000,
    watch: new LeaseWatch(),
    clock: systemClock,
  });
  const lane = new Lane({
    lane: partition,
    stream: earlierNamesOf(partition).stream,
    subject: earlierNamesOf(partition).subject,
    name: partition,
    ownership: must(ownership, 'nobody else owns it'),
    isAlone: false,
    storeShards: 1,
    threads: [thread],
    config: readConfig({ FLUSH_INTERVAL_MS: '50', LEASE_MS: '1000' }),
    feeds,
    limits: TEST_LIMITS,
    layout: ServiceLanes.fixed(1).layout,
    bus,
    store,
    log: createLogger('earlier', 'silent'),
    clock: systemClock,
    random: Math.random,
    metrics: createLaneMetrics(metrics),
    gauges: createLaneGauges(metrics, partition, () => Date.now()),
    crashPoint: (point) => {
      if (diesInFlush && point === 'flush:after-events') throw new Error('dead in mid-flush');
    },
  });
  await lane.restore();
  const running = lane.run().catch(() => {});
  await lane.catchUp(10_000);
  if (!diesInFlush) await lane.stop();
  await running;
  await thread.stop();
}

async function numbers(query: string): Promise<Record<string, number>> {
  const [row] = await world.store.query<Record<string, number | string>>(query);
  return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]));
}

test('are brought to their end, and the lane goes on with their sessions, ids and revenue, each once', async () => {
  // Flushed; flushed, and a second flush that died between its tables; acknowledged only.
  await publishEarlier(devices.map((device) => eventOf(device, 0, { eventId: `first-${device}` })));
  await runEarlier(0, false);
  await runEarlier(1, false);
  await publishEarlier(devices.map((device) => eventOf(device, 1)));
  await runEarlier(1, true);
  const records = await world.bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
  await records.put(earlierKeyOf(2), encodeLaneRecord(freeLaneRecord(FIRST_CHECKPOINT)), 0);
  const payer = must(
    devices.find((device) => partitionOfDevice(device) === 2),
    'some device is in the last partition',
  );
  const payment = eventOf(payer, 2, { name: REVENUE, revenue: 500n, currency: 'EUR', orderId: 'A-1' });
  await publishUpdate(0, orderOf('A-1', payment, PARTITIONS));
  await publishUpdate(1, identify({ id: 'ada', firstName: 'Ada' }));

  let deaths = 0;
  const crashPoint = (point: CrashPoint) => {
    if (
      !point.endsWith('after-sessions') &&
      !point.endsWith('after-insert') &&
      !point.endsWith('after-checkpoint')
    )
      return;
    deaths += 1;
    if (deaths % 2 === 1 && deaths < 6) throw new Error('dead on the way');
  };
  const lane = await world.start({ lane: 0, instance: 'today', isAlone: true, threads: 2, crashPoint });
  await answering(lane);
  for (const device of devices) {
    sent += 1;
    const events = [eventOf(device, 3), eventOf(device, 0, { eventId: `first-${device}` })];
    await world.bus.publish(subjectOf(0), messageOf(events, sent), 5_000);
  }
  const views = devices.length * 3;
  await until('all views', async () =>
    (await numbers("SELECT count() AS n FROM events WHERE name = 'screen_view'")).n === views
      ? true
      : undefined,
  );
  await lane.stop();

  expect(
    await numbers("SELECT count() AS n, uniqExact(id) AS ids FROM events WHERE name = 'screen_view'"),
  ).toEqual({
    n: views,
    ids: views,
  });
  expect(
    await numbers(
      "SELECT sum(sign) AS n, sum(sign * screenViews) AS views, uniqExact(id) AS ids FROM sessions WHERE projectId != ''",
    ),
  ).toEqual({ n: devices.length, views, ids: devices.length });
  expect(
    await numbers("SELECT count() AS n, sum(revenue) AS sum FROM events WHERE name = 'revenue'"),
  ).toEqual({
    n: 1,
    sum: 2_000,
  });
  expect(await numbers("SELECT count() AS n FROM events WHERE name = 'session_end'")).toEqual({ n: 0 });
  expect(await numbers("SELECT count() AS n FROM profiles FINAL WHERE id = 'ada'")).toEqual({ n: 1 });
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const { stream, entityStream } = earlierNamesOf(partition);
    expect([await world.bus.hasStream(stream), await world.bus.hasStream(entityStream)]).toEqual([
      false,
      false,
    ]);
    const record = await records.get(earlierKeyOf(partition));
    expect(decodeLaneRecord(must(record?.bytes, 'the record stays')).isClosed).toBe(true);
  }

  // A second start finds nothing to do, and numbers its flushes on.
  const before = decodeLaneRecord(must((await records.get(laneKeyOf(0)))?.bytes, 'a lane has a record'));
  const again = await world.start({ lane: 0, instance: 'today', isAlone: true });
  await answering(again);
  await world.bus.publish(subjectOf(0), messageOf([eventOf(payer, 4)], sent + 1), 5_000);
  await until('the last view', async () =>
    (await numbers("SELECT count() AS n FROM events WHERE name = 'screen_view'")).n === views + 1
      ? true
      : undefined,
  );
  await again.stop();
  const after = decodeLaneRecord(must((await records.get(laneKeyOf(0)))?.bytes, 'a lane has a record'));
  expect(after.checkpoint.flushNumber).toBeGreaterThan(before.checkpoint.flushNumber);
});
