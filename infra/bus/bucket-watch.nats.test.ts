import { connect } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { BucketSweeper } from './bucket-sweeper.ts';
import { Bus } from './bus.ts';
import type { KeyedBytes, KeyedValue } from './keyed-bytes.ts';
import { startProxy } from './testing/proxy.ts';

const KEYS = 200;
const log = createLogger('test', 'silent');

let nats: NatsServer;
let near: Bus;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let far: Bus;
const metrics = new Metrics();

beforeAll(async () => {
  nats = await startNatsServer();
  near = await Bus.connect({ url: nats.url, name: 'near' }, log);
  proxy = await startProxy(nats.port);
  far = await Bus.connect({ url: `nats://127.0.0.1:${proxy.port}`, name: 'far', metrics }, log);
});
afterAll(async () => {
  await far?.close();
  await proxy?.cut();
  await near?.close();
  await nats?.stop();
});

/** Records of a watch: all changes in order, and the final state. */
class Seen {
  readonly changes: KeyedValue[] = [];
  readonly present = new Map<string, string>();

  readonly take = (value: KeyedValue): void => {
    this.changes.push(value);
    if (value.bytes === undefined) this.present.delete(value.key);
    else this.present.set(value.key, Buffer.from(value.bytes).toString());
  };

  get names(): string[] {
    return this.changes.map(({ key, bytes }) => (bytes === undefined ? `-${key}` : key));
  }
}

async function filled(name: string): Promise<KeyedBytes> {
  const bucket = await near.keyed(name);
  for (let key = 0; key < KEYS; key += 1) await bucket.put(`key.${key}`, Buffer.from(`first ${key}`), 0);
  return bucket;
}

async function cutOffDuring(change: () => Promise<void>): Promise<void> {
  await proxy.cut();
  await expect.poll(() => far.connected).toBe(false);
  await change();
  await proxy.restore();
  await expect.poll(() => far.connected).toBe(true);
  await expect.poll(() => far.mirrorsBehind).toBe(0);
}

test('a watch that was cut off continues behind what it has, and says meanwhile that it is behind', async () => {
  const bucket = await filled('continued');
  const seen = new Seen();
  const stop = await (await far.keyed('continued')).watch(seen.take);
  expect(seen.changes).toHaveLength(KEYS);
  expect(far.mirrorsBehind).toBe(0);

  await cutOffDuring(async () => {
    expect(far.mirrorsBehind).toBe(1);
    expect(metrics.expose()).toContain('footfall_bus_mirrors_behind 1');
    await bucket.put('key.7', Buffer.from('second'), (await bucket.get('key.7'))?.revision ?? 0);
    await bucket.remove('key.8');
    await bucket.put('key.new', Buffer.from('third'), 0);
  });
  expect(seen.names.slice(KEYS)).toEqual(['key.7', '-key.8', 'key.new']);
  expect(seen.present.get('key.7')).toBe('second');
  expect(metrics.expose()).toContain(`footfall_bus_mirror_messages_total ${KEYS + 3}`);

  // It follows as before.
  await bucket.remove('key.new');
  await expect.poll(() => seen.present.has('key.new')).toBe(false);
  expect(seen.changes).toHaveLength(KEYS + 4);
  stop();
  expect(far.mirrorsBehind).toBe(0);
});

test('keys whose markers are gone are removed, and one that was written again stays', async () => {
  const bucket = await filled('swept');
  const seen = new Seen();
  const stop = await (await far.keyed('swept')).watch(seen.take);
  await cutOffDuring(async () => {
    const sweeper = await BucketSweeper.open({ bucket, clock: new ManualClock(0), markerAgeMs: -1 });
    for (const key of ['key.1', 'key.2', 'key.3']) await bucket.remove(key);
    await expect
      .poll(async () => {
        await sweeper.sweep();
        return [await bucket.get('key.1'), await bucket.get('key.2'), await bucket.get('key.3')];
      })
      .toEqual([undefined, undefined, undefined]);
    sweeper.stop();
    await bucket.put('key.2', Buffer.from('again'), 0);
  });
  expect(seen.names.slice(KEYS).sort()).toEqual(['-key.1', '-key.3', 'key.2']);
  expect(seen.present.size).toBe(KEYS - 2);
  expect(seen.present.get('key.2')).toBe('again');
  stop();
});

test('a bucket that was made anew replaces what a watch has, also under lower revisions', async () => {
  const bucket = await filled('anew');
  await bucket.put('key.5', Buffer.from('late'), (await bucket.get('key.5'))?.revision ?? 0);
  const seen = new Seen();
  const stop = await (await far.keyed('anew')).watch(seen.take);
  await cutOffDuring(async () => {
    await near.deleteStream('KV_anew');
    const again = await near.keyed('anew');
    await again.put('key.5', Buffer.from('other'), 0);
  });
  expect([...seen.present]).toEqual([['key.5', 'other']]);
  expect(seen.changes.at(-1)?.revision ?? -1).toBeGreaterThanOrEqual(0);
  stop();
});

test('many watches of one connection catch up one after the other', async () => {
  await filled('turns');
  const bucket = await far.keyed('turns');
  const order: number[] = [];
  const stops = await Promise.all(
    Array.from({ length: 5 }, (_, index) => bucket.watch(() => order.push(index))),
  );
  const turns = order.filter((index, place) => order[place - 1] !== index);
  expect(turns).toEqual([0, 1, 2, 3, 4]);
  for (const stop of stops) stop();
});

test('a watch of keys brings no values', async () => {
  const bucket = await filled('keys');
  const seen = new Seen();
  const stop = await bucket.watchKeys(seen.take);
  await bucket.remove('key.0');
  await expect.poll(() => seen.present.size).toBe(KEYS - 1);
  expect(new Set(seen.present.values())).toEqual(new Set(['']));
  stop();
});

test('a consumer that the server removes is replaced behind the last change', async () => {
  const bucket = await filled('removed');
  const seen = new Seen();
  const stop = await (await far.keyed('removed')).watch(seen.take);
  const connection = await connect({ servers: `127.0.0.1:${nats.port}` });
  const manager = await connection.jetstreamManager();
  const consumers = await manager.consumers.list('KV_removed').next();
  expect(consumers).toHaveLength(1);
  for (const { name } of consumers) await manager.consumers.delete('KV_removed', name);
  await connection.close();
  await bucket.put('key.after', Buffer.from('after'), 0);
  await expect.poll(() => seen.present.get('key.after')).toBe('after');
  expect(seen.changes).toHaveLength(KEYS + 1);
  stop();
}, 60_000);
