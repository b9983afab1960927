import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { encodeJson, followBucket, Mirror } from './mirror.ts';
import { startProxy } from './testing/proxy.ts';

// A process whose mirrors together exceed the server's buffer for a connection (64 MiB), beside a restart of the server
// and a cut connection. The server closes a connection that lags, so a mirror that starts over then never ends.

const RECORDS = 20;
const RECORD_BYTES = 4 * 1024 ** 2;
const MIRRORS = 6;
const schema = z.object({ paths: z.array(z.string()) });

const metrics = new Metrics();
const log = createLogger('test', 'silent');
let nats: NatsServer;
let writer: Bus;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let bus: Bus;

beforeAll(async () => {
  nats = await startNatsServer();
  writer = await Bus.connect({ url: nats.url, name: 'writer' }, log);
  const bucket = await writer.keyed('full');
  const paths = Array.from({ length: RECORD_BYTES / 64 }, (_, index) => `/${index}`.padEnd(61, 'x'));
  for (let site = 0; site < RECORDS; site += 1) await bucket.put(`site.${site}`, encodeJson({ paths }), 0);
  proxy = await startProxy(nats.port);
  bus = await Bus.connect({ url: `nats://127.0.0.1:${proxy.port}`, name: 'mirrors', metrics }, log);
}, 120_000);
afterAll(async () => {
  await bus?.close();
  await proxy?.cut();
  await writer?.close();
  await nats?.stop();
});

test('mirrors of a full bucket catch up once, in order, and get nothing again after a restart or a cut', async () => {
  const revisions: number[][] = [];
  const bucket = await bus.keyed('full');
  const mirrors = Array.from({ length: MIRRORS }, () => new Mirror('site.', schema));
  await Promise.all(
    mirrors.map((mirror) => {
      const own: number[] = [];
      revisions.push(own);
      mirror.onChange((after) => own.push(after?.revision ?? 0));
      const counting = {
        prefix: 'site.',
        take: (value: Parameters<typeof mirror.take>[0]) => mirror.take(value),
      };
      return followBucket(bucket, [counting], log);
    }),
  );
  const received = () => metrics.counter('footfall_bus_mirror_messages_total', '').value;
  expect(received()).toBe(MIRRORS * RECORDS);

  await nats.restart();
  await expect.poll(() => writer.connected).toBe(true);
  await expect.poll(() => bus.connected).toBe(true);
  await expect.poll(() => bus.mirrorsBehind, { timeout: 60_000 }).toBe(0);
  await proxy.cut();
  await expect.poll(() => bus.connected).toBe(false);
  const written = await writer.keyed('full');
  const changed = await written.put(
    'site.0',
    encodeJson({ paths: [] }),
    (await written.get('site.0'))?.revision ?? 0,
  );
  await written.remove('site.1');
  await proxy.restore();
  await expect.poll(() => bus.connected).toBe(true);
  await expect.poll(() => bus.mirrorsBehind, { timeout: 60_000 }).toBe(0);

  for (const mirror of mirrors) {
    expect(mirror.entry('site.0')).toMatchObject({ value: { paths: [] }, revision: changed });
    expect(mirror.entry('site.1')).toBeUndefined();
    expect([...mirror.entries()]).toHaveLength(RECORDS - 1);
  }
  // All that there is, and the two changes.
  expect(received()).toBe(MIRRORS * (RECORDS + 2));
  const all = Array.from({ length: RECORDS }, (_, index) => index + 1);
  for (const own of revisions) expect(own).toEqual([...all, changed, 0]);
}, 240_000);
