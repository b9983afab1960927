import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { agreeOnLanes } from '../../infra/process/agreed-lanes.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { decodeMessageHead, streamOf, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { runDeadLetters } from '../testing/dead-letters.ts';
import { messageOf } from '../testing/run.ts';
import { DEAD_LETTERS_STREAM, deadLetterSubjectOf, encodeDeadLetter } from './dead-letter.ts';

const BYTES_MAX = 67_108_864;
const LANE = 0;
let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'dead-letters-test' }, createLogger('test', 'silent'));
  await agreeOnLanes(bus, { lanes: 0, storeShards: 1 });
  await bus.ensureStream(streamOf(LANE), subjectOf(LANE), BYTES_MAX);
  await bus.ensureStream(DEAD_LETTERS_STREAM, 'dead-letters.*', BYTES_MAX);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

async function messagesOf(stream: string): Promise<Buffer[]> {
  const messages: Buffer[] = [];
  for await (const { bytes } of bus.messages(stream)) messages.push(Buffer.from(bytes));
  return messages;
}

test('a letter that can be read now is replayed once, under a publisher of its own; the others stay', async () => {
  const readable = messageOf([plainEvent({ path: '/late' })], 5);
  const letter = {
    stream: 'events' as const,
    partition: LANE,
    sequence: 17,
    reason: 'message has version 2',
    bytes: readable,
  };
  const letters = [
    letter,
    { ...letter, sequence: 18, reason: 'broken', bytes: Buffer.from('nonsense') },
    letter,
  ];
  for (const published of letters) {
    await bus.publish(deadLetterSubjectOf(LANE), encodeDeadLetter(published), 5_000);
  }
  expect(await runDeadLetters(nats.url, 'list')).toBe(
    `events of lane 0, message 17, ${readable.length} bytes: message has version 2\n` +
      'events of lane 0, message 18, 8 bytes: broken\n' +
      `events of lane 0, message 17, ${readable.length} bytes: message has version 2\n` +
      '3 dead letters\n',
  );
  expect(await runDeadLetters(nats.url, 'replay')).toBe(
    'events of lane 0, message 18, 8 bytes: broken\n2 replayed, 1 left\n',
  );
  expect(await messagesOf(DEAD_LETTERS_STREAM)).toHaveLength(1);
  // Both letters hold the same message, which the fold counts once.
  const [first, second] = await messagesOf(streamOf(LANE));
  expect(first?.equals(second ?? Buffer.of())).toBe(true);
  expect(first?.subarray(17).equals(readable.subarray(17))).toBe(true);
  expect(decodeMessageHead(first ?? Buffer.of()).publisherId).not.toBe(
    decodeMessageHead(readable).publisherId,
  );
  expect(await runDeadLetters(nats.url, 'list')).toBe(
    'events of lane 0, message 18, 8 bytes: broken\n1 dead letters\n',
  );
});
