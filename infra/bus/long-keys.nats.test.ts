import { expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { KEY_MAX_BYTES } from './keyed-bytes.ts';

test('a key that is too long does not exist, cannot be written, and costs the connection nothing', async () => {
  const nats = await startNatsServer();
  const bus = await Bus.connect({ url: nats.url, name: 'long-keys' }, createLogger('test', 'silent'));
  const bucket = await bus.keyed('long-keys', { storage: 'memory' });
  const longest = 'k'.repeat(KEY_MAX_BYTES);
  await bucket.put(longest, Buffer.from('kept'), 0);
  for (const length of [KEY_MAX_BYTES + 1, 5_000, 60_000]) {
    const key = 'k'.repeat(length);
    expect(await bucket.get(key)).toBeUndefined();
    await bucket.remove(key);
    const error = { reason: 'too-large', retryable: false };
    await expect(bucket.put(key, Buffer.from('x'), 0)).rejects.toMatchObject(error);
    await expect(bucket.putFirst(key, Buffer.from('x'))).rejects.toMatchObject(error);
  }
  // The same connection, which the server would have closed.
  expect(bus.connected).toBe(true);
  expect(Buffer.from((await bucket.get(longest))?.bytes ?? []).toString()).toBe('kept');
  await bus.close();
  await nats.stop();
});
