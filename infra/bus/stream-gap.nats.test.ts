import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { StreamGapError } from './bus-error.ts';
import type { StreamReader } from './stream-reader.ts';

const MESSAGES = 9;
const metrics = new Metrics();
const gaps = metrics.counter('footfall_bus_stream_gaps_total', '');

let nats: NatsServer;
let bus: Bus;
let stream = '';
let streams = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'gaps', metrics }, createLogger('test', 'silent'));
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});
beforeEach(async () => {
  streams += 1;
  stream = `stream-${streams}`;
  await bus.ensureStream(stream, stream, 1_048_576);
  await publish(MESSAGES);
});

async function publish(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await bus.publish(stream, Buffer.from('message'), 5_000);
}

async function readUpTo(reader: StreamReader, last: number): Promise<number[]> {
  const read: number[] = [];
  for (let reads = 0; reads < 10 && read.at(-1) !== last; reads += 1) {
    await reader.read(MESSAGES, 1_000, ({ sequence }) => {
      read.push(sequence);
      return sequence < last;
    });
  }
  return read;
}

async function gapOf(reader: StreamReader, last = MESSAGES): Promise<StreamGapError> {
  const before = gaps.value;
  const error = await readUpTo(reader, last).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(StreamGapError);
  expect(gaps.value).toBe(before + 1);
  await reader.close();
  return error as StreamGapError;
}

test('a message that is missing in the middle stops the reader, which has read all before it', async () => {
  await bus.remove(stream, 4);
  await bus.remove(stream, 5);
  const reader = bus.reader(stream, 1);
  expect(await readUpTo(reader, 3)).toEqual([1, 2, 3]);
  expect(await gapOf(reader)).toMatchObject({ stream, expected: 4, available: 6 });
});

test('a reader that is open when messages disappear stops there, too', async () => {
  const reader = bus.reader(stream, 1);
  expect(await readUpTo(reader, 3)).toEqual([1, 2, 3]);
  await bus.remove(stream, 4);
  expect(await gapOf(reader)).toMatchObject({ stream, expected: 4, available: 5 });
});

test('a stream that begins behind the position stops the reader', async () => {
  await bus.trim(stream, 6);
  expect(await gapOf(bus.reader(stream, 3))).toMatchObject({ stream, expected: 3, available: 7 });
});

test('an empty stream that begins behind the position stops the reader', async () => {
  await bus.trim(stream, MESSAGES);
  expect(await gapOf(bus.reader(stream, 3))).toMatchObject({ expected: 3, available: MESSAGES + 1 });
});

test('a stream that ends before the position stops the reader', async () => {
  const error = await gapOf(bus.reader(stream, MESSAGES + 5));
  expect(error).toMatchObject({ stream, expected: MESSAGES + 5, available: MESSAGES });
  expect(error.message).toBe(`stream ${stream} ends at 9; the reader has read up to 13`);
});

test('a stream that is trimmed behind the reader has no gap, and neither has one whose server starts again', async () => {
  const before = gaps.value;
  const reader = bus.reader(stream, 1);
  expect(await readUpTo(reader, 4)).toEqual([1, 2, 3, 4]);
  await bus.trim(stream, 4);
  expect(await readUpTo(reader, 6)).toEqual([5, 6]);
  await nats.restart();
  await expect.poll(() => bus.connected).toBe(true);
  const rest: number[] = [];
  while (rest.at(-1) !== MESSAGES + 2) {
    await reader
      .read(MESSAGES, 1_000, ({ sequence }) => {
        rest.push(sequence);
        return true;
      })
      .catch((error: unknown) => expect(error).toMatchObject({ retryable: true }));
    if (rest.at(-1) === MESSAGES) await publish(2);
  }
  expect(rest).toEqual([7, 8, 9, 10, 11]);
  expect(gaps.value).toBe(before);
  await reader.close();
});

test('messages that another owner removed are no fault', async () => {
  await bus.trim(stream, 5);
  const before = gaps.value;
  const fenced = new Error('another process owns this stream');
  const reader = bus.reader(stream, 3, () => Promise.reject(fenced));
  await expect(readUpTo(reader, MESSAGES)).rejects.toBe(fenced);
  expect(gaps.value).toBe(before);
  await reader.close();
  // A reader that still owns it has lost messages.
  await gapOf(bus.reader(stream, 3, () => Promise.resolve()));
});
