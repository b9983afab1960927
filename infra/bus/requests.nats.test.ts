import { connect, type Msg, type NatsConnection } from 'nats';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { Requests } from './requests.ts';

const LONG_MS = 60_000;
const log = createLogger('test', 'silent');

let nats: NatsServer;
let connection: NatsConnection;
let requests: Requests;

beforeAll(async () => {
  nats = await startNatsServer();
});
afterAll(() => nats.stop());

beforeEach(async () => {
  connection = await connect({
    servers: `127.0.0.1:${nats.port}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  });
  requests = new Requests(connection);
});
afterEach(() => connection.close());

/** Collects the messages of a subject, without answering them. */
function collect(subject: string): Msg[] {
  const messages: Msg[] = [];
  connection.subscribe(subject, { callback: (_error, message) => messages.push(message) });
  return messages;
}

const textOf = async (answer: Promise<Uint8Array>) => Buffer.from(await answer).toString();

test('answers that come in another order than their requests find them', async () => {
  const asked = collect('questions');
  const answers = Array.from({ length: 1_000 }, (_, index) =>
    textOf(requests.send('ask', 'questions', Buffer.from(`${index}`), LONG_MS)),
  );
  expect(requests.pending).toBe(1_000);
  await expect.poll(() => asked.length).toBe(1_000);
  for (const message of asked.reverse()) message.respond(Buffer.from(`answer to ${message.string()}`));
  expect(await Promise.all(answers)).toEqual(answers.map((_, index) => `answer to ${index}`));
  expect(requests.pending).toBe(0);
});

test('an answer that comes after its request has timed out reaches no other request', async () => {
  const asked = collect('slow');
  const late = requests.send('ask', 'slow', Buffer.from('first'), 20);
  await expect(late).rejects.toMatchObject({ reason: 'timeout', retryable: true });
  expect(requests.pending).toBe(0);
  await expect.poll(() => asked.length).toBe(1);
  const next = textOf(requests.send('ask', 'slow', Buffer.from('second'), LONG_MS));
  await expect.poll(() => asked.length).toBe(2);
  asked[0]?.respond(Buffer.from('to the first'));
  asked[1]?.respond(Buffer.from('to the second'));
  expect(await next).toBe('to the second');
});

test('a request with a short limit times out although one with a long limit was sent before it', async () => {
  collect('silent');
  const long = requests.send('ask', 'silent', Buffer.of(), LONG_MS);
  const closed = expect(long).rejects.toMatchObject({ reason: 'other' });
  for (const timeoutMs of [30, 10, 20])
    await expect(requests.send('ask', 'silent', Buffer.of(), timeoutMs)).rejects.toMatchObject({
      reason: 'timeout',
    });
  expect(requests.pending).toBe(1);
  await connection.close();
  await closed;
});

test('a request to which nothing listens, or that is too large, ends at once and leaves nothing', async () => {
  await expect(requests.send('ask', 'nothing', Buffer.of(), LONG_MS)).rejects.toMatchObject({
    reason: 'no-responders',
  });
  const tooLarge = Buffer.alloc((connection.info?.max_payload ?? 0) + 1);
  await expect(requests.send('ask', 'nothing', tooLarge, LONG_MS)).rejects.toMatchObject({
    reason: 'too-large',
    retryable: false,
  });
  expect(requests.pending).toBe(0);
});

test('a closed connection ends what is pending and takes nothing more', async () => {
  collect('held');
  const held = requests.send('ask', 'held', Buffer.of(), LONG_MS);
  const ended = expect(held).rejects.toMatchObject({ reason: 'other', retryable: true });
  await connection.close();
  await ended;
  await expect(requests.send('ask', 'held', Buffer.of(), LONG_MS)).rejects.toMatchObject({
    name: 'BusError',
    retryable: true,
  });
  expect(requests.pending).toBe(0);
});

test('requests on a subject that is not permitted end, and no others', async () => {
  const asked = collect('open');
  collect('closed');
  const closed = requests.send('publish', 'closed', Buffer.of(), LONG_MS);
  const open = textOf(requests.send('ask', 'open', Buffer.of(), LONG_MS));
  const ended = expect(closed).rejects.toMatchObject({ reason: 'other' });
  requests.forbid('closed');
  await ended;
  await expect.poll(() => asked.length).toBe(1);
  asked[0]?.respond(Buffer.from('yes'));
  expect(await open).toBe('yes');
});

test('many messages in flight are stored once each, and each learns its own sequence', async () => {
  const bus = await Bus.connect({ url: nats.url, name: 'many' }, log);
  try {
    await bus.ensureStream('many', 'many', 10_000_000);
    const sequences = await Promise.all(
      Array.from({ length: 500 }, (_, index) => bus.publish('many', Buffer.from(`${index}`), LONG_MS)),
    );
    expect(sequences).toEqual(Array.from({ length: 500 }, (_, index) => index + 1));
    const stored: string[] = [];
    for await (const { bytes } of bus.messages('many')) stored.push(Buffer.from(bytes).toString());
    expect(stored).toEqual(Array.from({ length: 500 }, (_, index) => `${index}`));
  } finally {
    await bus.close();
  }
});

test('while the server is gone a message times out, and afterwards the same bytes are stored', async () => {
  const bus = await Bus.connect({ url: nats.url, name: 'killed' }, log);
  try {
    await bus.ensureStream('killed', 'killed', 10_000_000);
    expect(await bus.publish('killed', Buffer.from('before'), LONG_MS)).toBe(1);
    await nats.kill();
    await expect.poll(() => bus.connected).toBe(false);
    await expect(bus.publish('killed', Buffer.from('meanwhile'), 50)).rejects.toMatchObject({
      reason: 'timeout',
      retryable: true,
    });
    await nats.restart();
    await expect.poll(() => bus.connected).toBe(true);
    const sequence = await bus.publish('killed', Buffer.from('after'), LONG_MS);
    const stored: string[] = [];
    for await (const { bytes } of bus.messages('killed')) stored.push(Buffer.from(bytes).toString());
    // A message that timed out may have been stored after all: its sender cannot know.
    expect(stored.filter((text) => text !== 'meanwhile')).toEqual(['before', 'after']);
    expect(stored.indexOf('after')).toBe(sequence - 1);
  } finally {
    await bus.close();
  }
}, 60_000);

test('what answers a message and is no stream is an error', async () => {
  const bus = await Bus.connect({ url: nats.url, name: 'impostor' }, log);
  try {
    const answers = [
      '',
      'no JSON',
      '{}',
      '{"error":{"err_code":10077,"description":"maximum bytes exceeded"}}',
    ];
    connection.subscribe('impostor', {
      callback: (_error, message) => message.respond(Buffer.from(answers.shift() ?? '')),
    });
    await connection.flush();
    const reasons: unknown[] = [];
    for (let index = 0; index < 4; index += 1)
      await bus.publish('impostor', Buffer.of(), LONG_MS).catch(({ reason }) => reasons.push(reason));
    expect(reasons).toEqual(['other', 'other', 'other', 'full']);
  } finally {
    await bus.close();
  }
});
