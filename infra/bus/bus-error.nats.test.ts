import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { BusError } from './bus-error.ts';

const FILE_BYTES_MAX = 8_388_608;
const PIECE = Buffer.alloc(400_000, 7);

let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer({ fileBytesMax: FILE_BYTES_MAX });
  bus = await Bus.connect({ url: nats.url, name: 'errors' }, createLogger('test', 'silent'));
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

async function failureOf(call: () => Promise<unknown>): Promise<BusError> {
  const error = await call().catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(BusError);
  return error as BusError;
}

/** Repeats a write until it fails. */
async function fill(write: (index: number) => Promise<unknown>): Promise<never> {
  for (let index = 0; index < 100; index += 1) await write(index);
  throw new Error('a hundred writes fit');
}

test('a stream at its limit is full', async () => {
  await bus.ensureStream('small', 'small', 1_000_000);
  const failure = await failureOf(() => fill(() => bus.publish('small', PIECE, 5_000)));
  expect(failure).toMatchObject({ reason: 'full', retryable: true });
  expect(failure.message).toContain('maximum bytes exceeded');
});

test('a bucket at its limit is full', async () => {
  const bucket = await bus.keyed('small', { storage: 'memory', bytesMax: 1_000_000 });
  const failure = await failureOf(() => fill((index) => bucket.put(`key-${index}`, PIECE, 0)));
  expect(failure).toMatchObject({ reason: 'full', retryable: true });
});

test('a stream or a bucket that asks for more than the server has finds it full', async () => {
  const tooLarge = () => bus.ensureStream('large', 'large', 2 * FILE_BYTES_MAX);
  expect(await failureOf(tooLarge)).toMatchObject({
    reason: 'full',
    message: expect.stringMatching(
      /^bus: stream large: nats-server has no room to reserve \d+ bytes; raise max_file_store .* BUS_BYTES_MAX/,
    ),
  });
  const bucket = () => bus.keyed('large', { storage: 'memory', bytesMax: 1024 ** 3 });
  expect(await failureOf(bucket)).toMatchObject({ reason: 'full' });
});

test('a server whose disk allowance is used up is full', async () => {
  const bucket = await bus.keyed('unbounded');
  const failure = await failureOf(() => fill((index) => bucket.put(`key-${index}`, PIECE, 0)));
  expect(failure).toMatchObject({ reason: 'full', retryable: true });
  expect(failure.message).toContain('insufficient resources');
});

test('a message larger than the server takes will never be taken', async () => {
  await bus.ensureStream('roomy', 'roomy', 1_000_000);
  const tooLarge = Buffer.alloc(bus.messageMaxBytes + 1);
  const failure = await failureOf(() => bus.publish('roomy', tooLarge, 5_000));
  expect(failure).toMatchObject({ reason: 'too-large', retryable: false });
});

test('a write that comes second is a conflict', async () => {
  const bucket = await bus.keyed('contended', { storage: 'memory' });
  const revision = await bucket.put('key', Buffer.from('one'), 0);
  expect(await failureOf(() => bucket.put('key', Buffer.from('two'), 0))).toMatchObject({
    reason: 'conflict',
    retryable: false,
  });
  expect(await failureOf(() => bucket.put('key', Buffer.from('two'), revision + 7))).toMatchObject({
    reason: 'conflict',
  });
});

test('an error of a bucket does not show what may be the name of a person', async () => {
  const bucket = await bus.keyed('names', { storage: 'memory' });
  const key = `site.${Buffer.from('ada@example.org').toString('base64url')}`;
  await bucket.put(key, Buffer.from('one'), 0);
  const error = await failureOf(() => bucket.put(key, Buffer.from('two'), 0));
  expect(error).toMatchObject({ message: expect.stringMatching(/^bus: put site\.…: /) });
});

test('a request without a subscriber and a message without a stream have no responders', async () => {
  expect(await failureOf(() => bus.ask('silence', Buffer.of(), 5_000))).toMatchObject({
    reason: 'no-responders',
  });
  expect(await failureOf(() => bus.publish('silence', Buffer.of(), 5_000))).toMatchObject({
    reason: 'no-responders',
  });
});

test('a server that hangs is a timeout', async () => {
  await nats.pause();
  try {
    expect(await failureOf(() => bus.publish('small', Buffer.of(), 200))).toMatchObject({
      reason: 'timeout',
      retryable: true,
    });
  } finally {
    nats.resume();
  }
});
