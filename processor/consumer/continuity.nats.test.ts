import { connect, type JetStreamManager, type NatsConnection } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { createLogger } from '../../infra/log.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { Continuity } from './continuity.ts';

let nats: NatsServer;
let bus: Bus;
let connection: NatsConnection;
let manager: JetStreamManager;
let streams = 0;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'continuity' }, createLogger('test', 'silent'));
  connection = await connect({ servers: nats.url.replace('nats://', '') });
  manager = await connection.jetstreamManager();
});
afterAll(async () => {
  await connection.close();
  await bus.close();
  await nats.stop();
});

const NEVER_MS = 600_000;

/** A stream of five messages that were read. */
async function scene() {
  streams += 1;
  const stream = `continuous-${streams}`;
  const publish = async (...texts: readonly string[]) => {
    for (const text of texts) await bus.publish(stream, Buffer.from(text), 5_000);
  };
  await bus.ensureStream(stream, stream, 1_000_000);
  await publish('a', 'b', 'c', 'd', 'e');
  const continuity = new Continuity({ bus, stream });
  continuity.begin(0, 0);
  const reader = bus.reader(stream, 1);
  await reader.read(5, NEVER_MS, (message) => {
    continuity.note(message);
    return true;
  });
  await reader.close();
  /** Makes the stream anew, from `first` on. */
  const beginAnew = async (first: number) => {
    const { config } = await manager.streams.info(stream);
    await manager.streams.delete(stream);
    await manager.streams.add({ ...config, first_seq: first });
  };
  return { stream, publish, continuity, beginAnew };
}

test('a stream that goes on, and is trimmed, has what was read', async () => {
  const { stream, publish, continuity } = await scene();
  expect(await continuity.holds()).toBe(true);
  await publish('f');
  expect(await continuity.holds(true)).toBe(true);
  await bus.trim(stream, 3);
  continuity.trimmed(3);
  expect(await continuity.holds(true)).toBe(true);
  await bus.trim(stream, 5);
  continuity.trimmed(5);
  expect(await continuity.holds(true)).toBe(true);
});

test('a stream that ends before what was read does not have it', async () => {
  const { publish, continuity, beginAnew } = await scene();
  expect(await continuity.holds()).toBe(true);
  await beginAnew(1);
  await publish('a', 'b', 'c');
  expect(await continuity.holds()).toBe(false);
});

test('a stream whose places were filled again does not have what was read, whatever came behind them', async () => {
  const { publish, continuity, beginAnew } = await scene();
  expect(await continuity.holds()).toBe(true);
  await beginAnew(5);
  await publish('e', 'f', 'g');
  expect(await continuity.holds()).toBe(false);
});

test('what was trimmed does not come back, unless the stream was set back', async () => {
  const { stream, publish, continuity, beginAnew } = await scene();
  await bus.trim(stream, 5);
  continuity.trimmed(5);
  expect(await continuity.holds()).toBe(true);
  await beginAnew(4);
  await publish('d', 'e', 'f');
  expect(await continuity.holds()).toBe(false);
});

test('the last place alone tells that it holds another message', async () => {
  const { stream, publish, continuity, beginAnew } = await scene();
  const { position } = continuity;
  expect(continuity.isDoubtedBy(await bus.streamBounds(stream), position)).toBe(false);
  await beginAnew(5);
  await publish('e');
  expect(continuity.isDoubtedBy(await bus.streamBounds(stream), position)).toBe(true);
});

test('a stream has what was read when its server has started again', async () => {
  const { continuity } = await scene();
  expect(await continuity.holds()).toBe(true);
  const before = bus.disconnections;
  await nats.restart();
  await expect.poll(() => bus.disconnections > before && bus.connected).toBe(true);
  expect(await continuity.holds()).toBe(true);
});
