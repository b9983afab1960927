import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../bus/bus.ts';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { agreeOnKey } from './agreed-key.ts';

const KEY = 'ab'.repeat(32);
const OTHER = 'cd'.repeat(32);

let nats: NatsServer;
let running: Bus;
let starting: Bus;
const seen: string[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
  const log = createLogger('test', 'silent');
  running = await Bus.connect({ url: nats.url, name: 'running' }, log);
  starting = await Bus.connect({ url: nats.url, name: 'starting' }, log);
  starting.listen('secrets-key', (bytes) => seen.push(Buffer.from(bytes).toString('hex')));
});
afterAll(async () => {
  await running.close();
  await starting.close();
  await nats.stop();
});

test('a newcomer with another key is refused, one with the same or none is not, and no key is told', async () => {
  await agreeOnKey(running, KEY, 200);
  await agreeOnKey(starting, KEY, 200);
  await agreeOnKey(starting, '', 200);
  await expect(agreeOnKey(starting, OTHER, 200)).rejects.toThrow(/^SECRETS_KEY: a running process/);
  expect(seen.length).toBeGreaterThan(0);
  for (const mark of seen) expect([KEY, OTHER]).not.toContain(mark);
});
