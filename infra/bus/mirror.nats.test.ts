import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { GARBAGE } from '../testing/garbage.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import type { KeyedBytes } from './keyed-bytes.ts';
import { encodeJson, followBucket, Mirror } from './mirror.ts';

const metrics = new Metrics();
const log = createLogger('test', 'silent');

let nats: NatsServer;
let bus: Bus;
let bucket: KeyedBytes;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'mirrors', metrics }, log);
  bucket = await bus.keyed('mirrored', { storage: 'memory' });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

const counted = (reason: string) =>
  metrics.counter('footfall_bus_bad_records_total', '', { bucket: 'mirrored', reason }).value;

async function write(key: string, bytes: Uint8Array): Promise<void> {
  await bucket.put(key, bytes, (await bucket.get(key))?.revision ?? 0);
}

test('a mirror outlives garbage and a listener that throws, counts both, and follows what comes next', async () => {
  await write('thing.before', Buffer.from('no JSON'));
  await write('thing.a', encodeJson({ size: 1 }));
  const mirror = new Mirror('thing.', z.object({ size: z.number() }));
  const stop = await followBucket(bucket, [mirror], log);
  expect([mirror.get('thing.before'), mirror.get('thing.a')]).toEqual([undefined, { size: 1 }]);
  expect(counted('malformed')).toBe(1);

  // A bucket keeps the newest value of a key, so one that is overwritten before it is delivered is never seen.
  for (const [index, bytes] of GARBAGE.entries()) {
    await write('thing.a', bytes);
    await expect.poll(() => counted('malformed')).toBe(2 + index);
  }
  expect(mirror.get('thing.a')).toEqual({ size: 1 });

  const stopListening = mirror.onChange(() => {
    throw new Error('the listener is broken');
  });
  await write('thing.a', encodeJson({ size: 2 }));
  await expect.poll(() => counted('failed')).toBe(1);
  expect(mirror.get('thing.a')).toEqual({ size: 2 });
  stopListening();

  await write('thing.a', encodeJson({ size: 3 }));
  await expect.poll(() => mirror.get('thing.a')).toEqual({ size: 3 });
  stop();
});
