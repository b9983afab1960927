import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { BusError, StreamGapError } from '../../infra/bus/bus-error.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import { createLogger } from '../../infra/log.ts';
import { Counter, Gauge } from '../../infra/metrics.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { StreamConsumer, type StreamConsumerOptions, type StreamWork } from './stream-consumer.ts';

const NEVER_MS = 600_000;
const log = createLogger('consumer-test', 'silent');
let nats: NatsServer;
let bus: Bus;
let streams = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'consumer-test' }, log);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** A consumer of a fresh stream. It keeps applied messages in `memory` until a flush moves them to `stored`. */
async function setup(
  work: (consumer: () => StreamConsumer) => Partial<StreamWork> = () => ({}),
  more: Partial<StreamConsumerOptions> = {},
) {
  streams += 1;
  const stream = `consumed-${streams}`;
  await bus.ensureStream(stream, stream, 67_108_864);
  const memory: number[] = [];
  const stored: number[] = [];
  const flushes: string[] = [];
  const consumer: StreamConsumer = new StreamConsumer({
    bus,
    stream,
    subject: stream,
    lane: 0,
    log,
    random: Math.random,
    messagesPerRead: 16,
    messagesPerApply: 4,
    applyEveryMs: 0,
    readRetries: new Counter(),
    lagMessages: new Gauge(),
    work: {
      apply: async (messages) => apply(messages),
      isFull: () => false,
      flushDueMs: () => performance.now() + NEVER_MS,
      flush: async (cause) => flush(cause),
      ...work(() => consumer),
    },
    ...more,
  });
  const apply = (messages: readonly StreamMessage[]) => {
    memory.push(...messages.map(({ sequence }) => sequence));
    consumer.reached(memory.at(-1) ?? 0);
    return true;
  };
  const flush = (cause: string) => {
    flushes.push(cause);
    stored.push(...memory.splice(0));
  };
  const publish = async (count: number, bytes = 1) => {
    for (let index = 0; index < count; index += 1) await bus.publish(stream, new Uint8Array(bytes), 5_000);
  };
  return { consumer, stream, memory, stored, flushes, apply, flush, publish };
}

/** A bus on which the first reads of each reader fail as if it were unavailable. */
function failingReads(failures: number): Bus {
  return over(bus, 'reader', (open) => (...args: unknown[]) => {
    let left = failures;
    return over(open(...args) as object, 'read', (read) => async (...readArgs: unknown[]) => {
      left -= 1;
      if (left >= 0) throw new BusError('the bus is away', 'timeout', undefined);
      return read(...readArgs);
    });
  });
}

type Method = (...args: unknown[]) => unknown;

/** The same object with another method in the place of `name`. */
function over<T extends object>(target: T, name: string, replace: (method: Method) => Method): T {
  return new Proxy(target, {
    get: (object, key) => {
      const member = Reflect.get(object, key, object);
      if (typeof member !== 'function') return member;
      const method: Method = (...args) => member.apply(object, args);
      return key === name ? replace(method) : method;
    },
  });
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('applies every message once and in order, and flushes the rest when it stops', async () => {
  const { consumer, stored, flushes, publish } = await setup();
  await publish(40);
  const running = consumer.run();
  await publish(10);
  expect(await consumer.catchUp(10_000)).toBe(true);
  expect(consumer.sequence).toBe(50);
  await consumer.stop();
  await running;
  expect(stored).toEqual(upTo(50));
  expect(flushes).toEqual(['last']);
});

test('one call of apply gets half a megabyte and one message more at most', async () => {
  const sizes: number[] = [];
  let allRead = () => {};
  const untilAllRead = new Promise<void>((resolve) => {
    allRead = resolve;
  });
  const own = await setup(
    () => ({
      apply: async (messages) => {
        await untilAllRead;
        sizes.push(messages.reduce((sum, { bytes }) => sum + bytes.length, 0));
        return own.apply(messages);
      },
    }),
    { messagesPerApply: Number.POSITIVE_INFINITY },
  );
  await own.publish(40, 100_000);
  const running = own.consumer.run();
  await expect.poll(() => own.consumer.unapplied.length).toBe(40);
  allRead();
  expect(await own.consumer.catchUp(10_000)).toBe(true);
  expect(own.memory).toEqual(upTo(40));
  expect(Math.max(...sizes)).toBe(600_000);
  expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBe(4_000_000);
  await own.consumer.stop();
  await running;
});

test('where the bus cannot say for certain what the stream has, a write finds out, which callers share', async () => {
  // A server that has lost the others still reports its own state.
  const stale = over(bus, 'streamBounds', () => async () => ({ first: 1, last: 0, isCertain: false }));
  const { consumer, memory, publish } = await setup(undefined, { bus: stale });
  await publish(20);
  const running = consumer.run();
  const callers = Array.from({ length: 50 }, () => consumer.catchUp(10_000));
  expect(new Set(await Promise.all(callers))).toEqual(new Set([true]));
  expect(memory.slice(0, 20)).toEqual(upTo(20));
  expect(memory.length).toBe(21);
  await publish(1);
  expect(await consumer.catchUp(10_000)).toBe(true);
  expect(memory.length).toBe(23);
  await consumer.stop();
  await running;
});

test('begins behind the sequence that it was given', async () => {
  const { consumer, memory, publish } = await setup();
  await publish(5);
  consumer.reached(3);
  const running = consumer.run();
  expect(await consumer.catchUp(10_000)).toBe(true);
  expect(memory).toEqual([4, 5]);
  await consumer.stop();
  await running;
});

test('a requested flush holds everything that was applied before the request, also while another flush runs', async () => {
  const gates: (() => void)[] = [];
  const brought: number[][] = [];
  const { consumer, memory, publish } = await setup(() => ({
    flush: async () => {
      brought.push(memory.splice(0));
      await new Promise<void>((resolve) => gates.push(resolve));
    },
  }));
  const running = consumer.run();
  await publish(2);
  await consumer.catchUp(10_000);
  const first = consumer.flushNow();
  await expect.poll(() => gates.length).toBe(1);
  await publish(1);
  await consumer.catchUp(10_000);
  let isSecondDone = false;
  const second = consumer.flushNow().then(() => {
    isSecondDone = true;
  });
  gates[0]?.();
  await first;
  await expect.poll(() => gates.length).toBe(2);
  expect(isSecondDone).toBe(false);
  gates[1]?.();
  await second;
  expect(brought).toEqual([[1, 2], [3]]);
  const stopped = consumer.stop();
  await expect.poll(() => gates.length).toBe(3);
  gates[2]?.();
  await stopped;
  await running;
});

test('when memory is full, nothing is applied before a flush', async () => {
  const sizes: number[] = [];
  const { consumer, memory, stored, flushes, flush, publish } = await setup(() => ({
    isFull: () => memory.length >= 4,
    flush: async (cause) => {
      sizes.push(memory.length);
      flush(cause);
    },
  }));
  await publish(30);
  const running = consumer.run();
  expect(await consumer.catchUp(10_000)).toBe(true);
  await consumer.stop();
  await running;
  expect(stored).toEqual(upTo(30));
  // Never more than the cap and the messages of one call.
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4 + 3);
  expect(flushes.length).toBeGreaterThan(4);
});

test('reads no further than its cap in bytes while messages wait to be applied', async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { consumer, memory, apply, publish } = await setup(
    () => ({
      apply: async (messages) => {
        await gate;
        return apply(messages);
      },
    }),
    { messagesPerRead: 1_000 },
  );
  await publish(48, 1_000_000);
  const running = consumer.run();
  // One in `apply`, 17 in the queue: the cap is 16 MiB.
  await expect.poll(() => consumer.unapplied.length).toBe(1 + 17);
  expect(memory).toEqual([]);
  expect(await consumer.catchUp(50)).toBe(false);
  open();
  expect(await consumer.catchUp(30_000)).toBe(true);
  expect(memory).toEqual(upTo(48));
  await consumer.stop();
  await running;
});

test('work that stops early leaves the rest to the bus', async () => {
  const { consumer, memory, stored, apply, publish } = await setup((consumer) => ({
    apply: async (messages) => {
      if (memory.length < 4) return apply(messages);
      await consumer().sleep(NEVER_MS);
      return false;
    },
  }));
  await publish(10);
  const running = consumer.run();
  await expect.poll(() => memory.length).toBe(4);
  const isCaughtUp = consumer.catchUp(NEVER_MS);
  await consumer.stop();
  await running;
  expect(await isCaughtUp).toBe(false);
  expect(stored).toEqual([1, 2, 3, 4]);
  expect(consumer.unapplied).toEqual([]);
});

test('a gap in the stream ends it at once, without a retry', async () => {
  const readRetries = new Counter();
  const { consumer, stream, memory, publish } = await setup(undefined, { readRetries });
  await publish(5);
  await bus.trim(stream, 3);
  consumer.reached(1);
  await expect(consumer.run()).rejects.toThrow(StreamGapError);
  expect([memory, readRetries.value]).toEqual([[], 0]);
});

test('a read that fails for the moment is retried and counted, and goes on where it was', async () => {
  const readRetries = new Counter();
  const { consumer, memory, publish } = await setup(undefined, { readRetries, bus: failingReads(3) });
  await publish(3);
  const running = consumer.run();
  expect(await consumer.catchUp(10_000)).toBe(true);
  expect([memory, readRetries.value]).toEqual([[1, 2, 3], 3]);
  await consumer.stop();
  await running;
});

test('an error in apply ends the consumer with it', async () => {
  const broken = new Error('broken');
  const { consumer, flushes, publish } = await setup(() => ({ apply: () => Promise.reject(broken) }));
  await publish(3);
  const running = consumer.run();
  const isCaughtUp = consumer.catchUp(NEVER_MS);
  await expect(running).rejects.toBe(broken);
  expect(await isCaughtUp).toBe(false);
  expect([consumer.failed, consumer.stopping, flushes]).toEqual([true, true, []]);
  expect(await consumer.catchUp(NEVER_MS)).toBe(false);
  await consumer.flushNow();
});

test('an error in flush ends the consumer with it', async () => {
  const broken = new Error('broken');
  const { consumer, publish } = await setup(() => ({ flush: () => Promise.reject(broken) }));
  await publish(3);
  const running = consumer.run();
  expect(await consumer.catchUp(10_000)).toBe(true);
  const flushed = consumer.flushNow();
  await expect(running).rejects.toBe(broken);
  await flushed;
  expect([consumer.failed, consumer.stopping]).toEqual([true, true]);
});
