import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { type Clock, ManualClock, systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { decodeMessageHead, MESSAGE_HEADER_BYTES } from '../event.ts';
import { connectBus } from '../testing/collector.ts';
import type { PublishWaiter } from './lane-queue.ts';
import { Publisher } from './publisher.ts';

const STREAM = 'lane-0-numbers';
const SUBJECT = 'lanes.0.numbers';
/** Interval of messages while few values wait. */
const PACE_MS = 10;
/** With this many waiting values for each collector, but at most four times as many in all, a message leaves immediately. */
const UNPACED_VALUES = 32;
const MESSAGE_BYTES_MAX = 65_536;
let nats: NatsServer;
let bus: Bus;
let publisher: Publisher<number>;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
  await bus.ensureStream(STREAM, SUBJECT, 16_777_216);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

beforeEach(() => {
  publisher = publisherBeside(1);
});

interface TestedPublisher {
  readonly subject?: string;
  readonly clock?: Clock;
  readonly timeoutMs?: number;
  readonly over?: Bus;
  readonly metrics?: Metrics;
}

/** The publisher of one of `collectors` processes. */
function publisherBeside(
  collectors: number,
  {
    subject = SUBJECT,
    clock = systemClock,
    timeoutMs = 10_000,
    over = bus,
    metrics = new Metrics(),
  }: TestedPublisher = {},
): Publisher<number> {
  return new Publisher<number>({
    cargo: {
      name: 'events',
      encode: (writer, value) => writer.u32(value),
      bytesMax: 4,
      subjectOf: () => subject,
    },
    bus: over,
    clock,
    log: createLogger('test', 'silent'),
    metrics,
    crashPoint: () => {},
    lanes: ServiceLanes.fixed(1),
    ends: { lastSequenceOf: async () => 0 },
    collectors,
    messageBytesMax: MESSAGE_BYTES_MAX,
    inFlightBytesMax: 1_048_576,
    timeoutMs,
    isDiskFull: () => false,
  });
}

afterEach(() => {
  vi.useRealTimers();
});

/** Adds a value; resolves when it is durable. */
function add(value: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const waiter: PublishWaiter = {
      published: (failure) => (failure === undefined ? resolve() : reject(new Error(failure))),
    };
    publisher.add(0, value, waiter);
  });
}

/** The number of values in each message of this test's publisher, in their order. */
async function sentCounts(): Promise<readonly number[]> {
  const { last } = await bus.streamBounds(STREAM);
  const counts: number[] = [];
  for await (const { sequence, bytes } of bus.messages(STREAM)) {
    const head = decodeMessageHead(bytes);
    if (head.publisherSequence === 1) counts.length = 0;
    counts.push(head.count);
    if (sequence === last) break;
  }
  return counts;
}

test('values that come one by one share messages, which keep their distance', async () => {
  const startMs = performance.now();
  const adding: Promise<void>[] = [];
  while (performance.now() - startMs < 300) {
    adding.push(add(adding.length));
    await wait(1);
  }
  await Promise.all(adding);
  const counts = await sentCounts();
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(adding.length);
  expect(counts[0]).toBe(1);
  // The first leaves immediately, and the last may leave when the others have been counted.
  expect(counts.length).toBeLessThanOrEqual((performance.now() - startMs) / PACE_MS + 2);
  expect(counts.length).toBeGreaterThan(1);
});

test('where a bus has lost places that it had confirmed, a message is sent again until it is stored behind them', async () => {
  const metrics = new Metrics();
  const sent: number[] = [];
  const sequences = [7, 8, 6, 7, 8, 9, 10];
  const publish = async (_subject: string, bytes: Uint8Array) => {
    sent.push(decodeMessageHead(bytes).publisherSequence);
    return sequences.shift() ?? 0;
  };
  publisher = publisherBeside(1, { over: { publish, connected: true } as unknown as Bus, metrics });
  for (let value = 0; value < 4; value += 1) await add(value);
  expect(sent).toEqual([1, 2, 3, 3, 3, 3, 4]);
  expect(metrics.expose()).toContain('\ningest_bus_losses_total 3\n');
});

test('a stream that was made anew begins anew', async () => {
  const sequences = [7_000, 7_001, 1, 2];
  const publish = async () => sequences.shift() ?? 0;
  publisher = publisherBeside(1, { over: { publish, connected: true } as unknown as Bus });
  for (let value = 0; value < 4; value += 1) await add(value);
  expect(sequences).toEqual([]);
});

test('one value after the other is sent alone', async () => {
  for (let value = 0; value < 5; value += 1) await add(value);
  expect(await sentCounts()).toEqual([1, 1, 1, 1, 1]);
});

test.each([
  [1, UNPACED_VALUES],
  [2, 2 * UNPACED_VALUES],
  [64, 4 * UNPACED_VALUES],
])(
  'few values wait for that distance, and many do not: %i collectors, %i values',
  async (collectors, many) => {
    publisher = publisherBeside(collectors);
    // Time is frozen, so nothing that waits for it leaves.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    await add(0);
    const few = Array.from({ length: many - 1 }, (_, value) => add(value));
    // A message that left would be there after a few questions to the same bus.
    for (let question = 0; question < 5; question += 1) await bus.streamBounds(STREAM);
    expect(await sentCounts()).toEqual([1]);
    vi.advanceTimersByTime(PACE_MS);
    await Promise.all(few);
    expect(await sentCounts()).toEqual([1, many - 1]);
    await Promise.all(Array.from({ length: many }, (_, value) => add(value)));
    expect(await sentCounts()).toEqual([1, many - 1, many]);
  },
);

test('a message that would be too large is divided, and no value is lost or sent twice', async () => {
  const values = 50_000;
  await Promise.all(Array.from({ length: values }, (_, value) => add(value)));
  const counts = await sentCounts();
  expect(counts.length).toBe(Math.ceil(values / Math.floor((MESSAGE_BYTES_MAX - MESSAGE_HEADER_BYTES) / 4)));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(values);
});

test('a clock that is set back does not prolong the wait for a bus that confirms nothing', async () => {
  const clock = new ManualClock(Date.now());
  publisher = publisherBeside(1, { subject: 'nobody.stores.this', clock, timeoutMs: 500 });
  const added = add(0);
  await Promise.all([
    expect(added).rejects.toThrow('bus-away'),
    wait(100).then(() => clock.advance(-600_000)),
  ]);
}, 10_000);
