import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, encodeEvent, endMessage, streamOf, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { answering, type LaneStart, type LaneWorld, startLaneWorld, until } from '../testing/lane-world.ts';

// A stream loses its newest places, though it had confirmed them, and gives them to other messages.

const ONE = 101n;
const OTHER = 202n;
/** As revenue of orders is numbered: upwards, and not one by one. */
const REVENUE = 0x7ec0n << 48n;

let world: LaneWorld;
let connection: NatsConnection;
let manager: JetStreamManager;
let lane = -1;

beforeAll(async () => {
  world = await startLaneWorld('set_back_test');
  connection = await connect({ servers: world.busUrl.replace('nats://', '') });
  manager = await connection.jetstreamManager();
});
afterEach(() => world.stopLanes());
afterAll(async () => {
  await connection.close();
  await world.stop();
});

async function start(more: Partial<LaneStart> = {}) {
  const running = await world.start({ lane, instance: 'one', ...more });
  await answering(running);
  return running;
}

/** What each message of this test says, in the order in which it was sent. */
const sent: string[] = [];

/** Publishes a message of one event, and returns its place. */
async function send(publisherId: bigint, publisherSequence: number): Promise<number> {
  const path = `/${lane}/${publisherId}/${publisherSequence}`;
  sent.push(path);
  return world.bus.publish(subjectOf(lane), messageOf(publisherId, publisherSequence, path), 5_000);
}

function messageOf(publisherId: bigint, publisherSequence: number, path: string): Uint8Array {
  const nowMs = Date.now();
  const writer = new RowBinaryWriter(65_536);
  beginMessage(writer, { publisherId, publisherSequence, sentAtMs: nowMs });
  const deviceId = String(publisherSequence).padStart(32, '0');
  const times = { occurredAtMs: nowMs, receivedAtMs: nowMs };
  encodeEvent(writer, plainEvent({ deviceId, sessionId: deviceId, path, ...times }));
  endMessage(writer, 1);
  return writer.take();
}

/** How often each event of this lane is in the store. */
async function stored(): Promise<Readonly<Record<string, number>>> {
  const rows = await world.store.query<{ path: string; n: number }>(
    "SELECT path, count() AS n FROM events WHERE name = 'screen_view' AND startsWith(path, {start:String}) GROUP BY path",
    { start: `/${lane}/` },
  );
  return Object.fromEntries(rows.map(({ path, n }) => [path, Number(n)]));
}

const eachOnce = () =>
  Object.fromEntries(sent.filter((path) => path.startsWith(`/${lane}/`)).map((path) => [path, 1]));

async function untilStored(): Promise<void> {
  const wanted = Object.keys(eachOnce()).length;
  await until('all events', async () => Object.keys(await stored()).length >= wanted || undefined);
  expect(await stored()).toEqual(eachOnce());
}

/** The stream forgets its newest places, as a cluster does that chooses a leader without them. */
async function lose(count: number): Promise<void> {
  const stream = streamOf(lane);
  const { config, state } = await manager.streams.info(stream);
  const kept: Uint8Array[] = [];
  const first = Math.min(state.first_seq, state.last_seq - count + 1);
  for (let sequence = state.first_seq; sequence <= state.last_seq - count; sequence += 1)
    kept.push((await manager.streams.getMessage(stream, { seq: sequence })).data);
  await manager.streams.delete(stream);
  await manager.streams.add({ ...config, first_seq: first });
  for (const bytes of kept) await world.bus.publish(subjectOf(lane), bytes, 5_000);
}

async function scene(more: Partial<LaneStart> = {}) {
  lane += 1;
  await world.open(lane);
  const running = await start(more);
  await send(OTHER, 1);
  for (let number = 1; number <= 4; number += 1) await send(ONE, number);
  await untilStored();
  await until('the trim', async () => {
    const { first, last } = await world.bus.streamBounds(streamOf(lane));
    return first > last || undefined;
  });
  return running;
}

test.each([1, 2])(
  'places that are filled again are read again, before a later message of their publisher (%i threads)',
  async (threads) => {
    await scene({ threads });
    await lose(3);
    expect(await send(OTHER, 2)).toBe(3);
    for (let number = 3; number <= 6; number += 1) await send(OTHER, number);
    await untilStored();
  },
);

test('what fills lost places is stored, though its publisher falls silent', async () => {
  await scene();
  await lose(3);
  for (let number = 2; number <= 4; number += 1) await send(OTHER, number);
  await send(ONE, 5);
  await untilStored();
});

test('what fills some of the lost places is stored, though nothing comes behind it', async () => {
  await scene();
  await lose(3);
  for (let number = 2; number <= 3; number += 1) await send(OTHER, number);
  await untilStored();
});

test('revenue in lost places is stored, though its numbers do not follow each other', async () => {
  await scene();
  await lose(3);
  for (let number = 1; number <= 5; number += 1) await send(REVENUE, number * 64);
  await untilStored();
});

test('places that were filled again while the lane had no owner are read', async () => {
  const running = await scene();
  await running.stop();
  await lose(3);
  for (let number = 2; number <= 6; number += 1) await send(OTHER, number);
  await start();
  await untilStored();
});

test('numbers that were given up cost a look at the stream, and the lane goes on', async () => {
  const running = await scene();
  await send(OTHER, 3);
  await send(OTHER, 4);
  await send(ONE, 9);
  await untilStored();
  expect(running.metrics.looks.value).toBeGreaterThan(0);
  expect([running.metrics.setBacks.value, running.metrics.failures.value]).toEqual([0, 0]);
});
