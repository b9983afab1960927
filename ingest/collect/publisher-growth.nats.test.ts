import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { type LaneName, ServiceLanes } from '../../infra/process/service-lanes.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../event.ts';
import { connectBus } from '../testing/collector.ts';
import { Publisher } from './publisher.ts';

const BYTES_MAX = 16_777_216;
const BEFORE = { lanes: 1, storeShards: 1, isGrown: false, growingTo: undefined };
const GROWN = { lanes: 3, storeShards: 1, isGrown: true, growingTo: undefined };

let nats: NatsServer;
let bus: Bus;

const streamOf = (lane: number) => `numbers-${lane}`;
const subjectOf = (lane: LaneName) => `numbers.${lane}`;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});
beforeEach(() => bus.ensureStream(streamOf(0), subjectOf(0), BYTES_MAX));
afterEach(async () => {
  for (let lane = 0; lane < GROWN.lanes; lane += 1) await bus.deleteStream(streamOf(lane));
});

type Publish = Bus['publish'];

function publisherOver(publish: Publish, lanes: ServiceLanes, ends?: () => Promise<number | undefined>) {
  return new Publisher<number>({
    cargo: {
      name: 'events',
      encode: (writer, value) => {
        writer.u32(4);
        writer.u32(value);
      },
      bytesMax: 8,
      subjectOf,
    },
    bus: { publish, connected: true } as Bus,
    clock: systemClock,
    log: createLogger('test', 'silent'),
    metrics: new Metrics(),
    crashPoint: () => {},
    lanes,
    ends: {
      lastSequenceOf: (_lane, _kind, publisherId) => ends?.() ?? lastSequenceOf(publisherId),
    },
    collectors: 1,
    messageBytesMax: 1_024,
    inFlightBytesMax: 1_048_576,
    timeoutMs: 10_000,
    isDiskFull: () => false,
  });
}

/** The last sequence, as the processor stores it when the lane has ended. */
async function lastSequenceOf(publisherId: bigint): Promise<number> {
  let last = 0;
  for await (const { bytes } of bus.messages(streamOf(0))) {
    const head = decodeMessageHead(bytes);
    if (head.publisherId === publisherId) last = Math.max(last, head.publisherSequence);
  }
  return last;
}

/** Changes the bus like a growth. */
async function renameStreams(): Promise<void> {
  await bus.renameSubject(streamOf(0), subjectOf('0-of-3'));
  for (let lane = 1; lane < GROWN.lanes; lane += 1)
    await bus.ensureStream(streamOf(lane), subjectOf(`${lane}-of-3`), BYTES_MAX);
}

/** The values of each lane, in their order, with messages that were sent twice counted once. */
async function storedValues(): Promise<number[][]> {
  const stored: number[][] = [];
  for (let lane = 0; lane < GROWN.lanes; lane += 1) {
    const values: number[] = [];
    let lastSequence = 0;
    for await (const { bytes } of bus.messages(streamOf(lane))) {
      const { count, publisherSequence } = decodeMessageHead(bytes);
      if (publisherSequence <= lastSequence) continue;
      lastSequence = publisherSequence;
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      for (let index = 0; index < count; index += 1)
        values.push(view.getUint32(MESSAGE_HEADER_BYTES + 8 * index + 4, true));
    }
    stored.push(values);
  }
  return stored;
}

/** Adds the values from `from` on until it is stopped, and resolves with the outcome of each. */
function adding(publisher: Publisher<number>) {
  const results: Promise<string>[] = [];
  const timer = setInterval(() => {
    for (let index = 0; index < 40; index += 1) {
      const value = results.length;
      results.push(
        new Promise((resolve) => {
          publisher.add(value, value, { published: (reject) => resolve(reject ?? 'stored') });
        }),
      );
    }
  }, 1);
  return async () => {
    clearInterval(timer);
    return Promise.all(results);
  };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('what is on its way when a service grows goes to the new lanes, each value once and in order', async () => {
  const lanes = new ServiceLanes(BEFORE);
  const publisher = publisherOver((...args) => bus.publish(...args), lanes);
  const stop = adding(publisher);
  await wait(100);
  await renameStreams();
  const before = (await storedValues()).flat().length;
  await wait(100);
  // Nothing was stored meanwhile, and nothing was refused.
  expect((await storedValues()).flat()).toHaveLength(before);
  lanes.take(GROWN);
  await wait(100);
  const results = await stop();
  await publisher.drain();
  expect(new Set(results)).toEqual(new Set(['stored']));
  const stored = await storedValues();
  expect(stored.flat().toSorted((a, b) => a - b)).toEqual(results.map((_, value) => value));
  for (const [lane, values] of stored.entries()) {
    expect(values).toEqual(values.toSorted((a, b) => a - b));
    const moved = lane === 0 ? values.slice(before) : values;
    expect(moved.every((value) => value % GROWN.lanes === lane)).toBe(true);
    expect(moved.length).toBeGreaterThan(50);
  }
});

test('a message that the lane took, and whose answer was lost, is not sent to another lane', async () => {
  const lanes = new ServiceLanes(BEFORE);
  let isLosing = false;
  const publisher = publisherOver(async (...args) => {
    const sequence = await bus.publish(...args);
    if (isLosing) throw new BusError('the answer is lost', 'timeout', undefined);
    return sequence;
  }, lanes);
  const stop = adding(publisher);
  await wait(50);
  isLosing = true;
  await wait(50);
  await renameStreams();
  isLosing = false;
  lanes.take(GROWN);
  const results = await stop();
  await publisher.drain();
  expect(new Set(results)).toEqual(new Set(['stored']));
  expect((await storedValues()).flat().toSorted((a, b) => a - b)).toEqual(results.map((_, value) => value));
});

test('only the message is rejected whose fate the end of its lane does not tell', async () => {
  const lanes = new ServiceLanes(BEFORE);
  const publisher = publisherOver(
    (...args) => bus.publish(...args),
    lanes,
    async () => undefined,
  );
  await renameStreams();
  const sent = new Promise((resolve) => publisher.add(1, 1, { published: resolve }));
  await wait(50);
  const waiting = new Promise((resolve) => publisher.add(2, 2, { published: resolve }));
  lanes.take(GROWN);
  expect([await sent, await waiting]).toEqual(['bus-away', undefined]);
  await publisher.drain();
  expect((await storedValues()).flat()).toEqual([2]);
});
