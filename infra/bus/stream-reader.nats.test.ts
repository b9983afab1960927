import { connect } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';

const STREAM = 'read';
const MESSAGES = 50;

let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'reader' }, createLogger('test', 'silent'));
  await bus.ensureStream(STREAM, STREAM, 1_048_576);
  for (let count = 1; count <= MESSAGES; count += 1)
    await bus.publish(STREAM, Buffer.from(String(count)), 5_000);
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** Reads every message, taking at most `atOnce` in one read; returns them in their order. */
async function readAll(atOnce: number): Promise<string[]> {
  const reader = bus.reader(STREAM, 1);
  const read: string[] = [];
  for (let reads = 0; read.length < MESSAGES && reads < 2 * MESSAGES; reads += 1) {
    let taken = 0;
    await reader.read(MESSAGES, 1_000, ({ bytes }) => {
      read.push(Buffer.from(bytes).toString());
      taken += 1;
      return taken < atOnce;
    });
  }
  await reader.close();
  return read;
}

test.each([1, 7, MESSAGES])(
  'a reader that takes %i at once reads everything once and in order, though nothing new comes',
  async (atOnce) => {
    expect(await readAll(atOnce)).toEqual(Array.from({ length: MESSAGES }, (_, index) => String(index + 1)));
  },
);

test('a reader that is closed twice has its consumer removed once, since a cluster does not answer for one that is gone', async () => {
  const watching = await connect({ servers: nats.url });
  const removals: string[] = [];
  watching.subscribe(`$JS.API.CONSUMER.DELETE.${STREAM}.>`, {
    callback: (_error, { subject }) => removals.push(subject),
  });
  await watching.flush();
  const reader = bus.reader(STREAM, 1);
  await reader.read(1, 1_000, () => true);
  await Promise.all([reader.close(), reader.close()]);
  await reader.close();
  await watching.flush();
  expect(removals).toHaveLength(1);
  await watching.close();
});

test.each([
  ['takes no more of them', false],
  ['would take more of them', true],
])('a reader that is closed between two messages is closed, when its owner %s', async (_, takesMore) => {
  const reader = bus.reader(STREAM, 1);
  const closing: Promise<void>[] = [];
  // All messages are here when the first one is taken: no message of the server ends the read.
  await reader.read(MESSAGES, 5_000, () => {
    closing.push(reader.close());
    return takesMore;
  });
  const late = new Promise((resolve) => setTimeout(() => resolve('late'), 10_000).unref());
  expect(await Promise.race([Promise.all(closing).then(() => 'closed'), late])).toBe('closed');
});
