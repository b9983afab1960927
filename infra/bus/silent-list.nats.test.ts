import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { startProxy } from './testing/proxy.ts';

// A server that falls silent in the middle of a list, on a connection that stays: waits for the list end after a while.

const KEYS = 2_000;
/** The last words of the server: that it has begun a list. */
const BEGUN = 'num_pending';

let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'silent-list' }, createLogger('test', 'silent'));
  const bucket = await bus.keyed('records');
  for (let key = 0; key < KEYS; key += 1) await bucket.put(`key.${key}`, Buffer.alloc(500), 0);
});
afterAll(async () => {
  await bus?.close();
  await nats?.stop();
});

test.each([
  ['keys', (bucket: Awaited<ReturnType<Bus['keyed']>>) => bucket.keys()],
  ['values', (bucket: Awaited<ReturnType<Bus['keyed']>>) => bucket.list('key.*')],
])('a list of %s whose server falls silent ends with an error, and a later one is whole', async (_, list) => {
  const proxy = await startProxy(nats.port);
  const url = `nats://127.0.0.1:${proxy.port}`;
  const far = await Bus.connect({ url, name: 'silent' }, createLogger('test', 'silent'));
  const bucket = await far.keyed('records');
  expect(await list(bucket)).toHaveLength(KEYS);

  proxy.silenceAfter(BEGUN);
  await expect(list(bucket)).rejects.toMatchObject({ reason: 'timeout' });

  await proxy.cut();
  await far.close();
  expect(await list(await bus.keyed('records'))).toHaveLength(KEYS);
});
