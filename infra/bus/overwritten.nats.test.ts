import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { createLogger } from '../log.ts';
import { foundInFiles } from '../testing/found-in-files.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { BucketSweeper } from './bucket-sweeper.ts';
import { Bus } from './bus.ts';
import type { KeyedValue } from './keyed-bytes.ts';
import { startProxy } from './testing/proxy.ts';

const MARKER_AGE_MS = 5_000;
const STREAM_BYTES_MAX = 1024 ** 3;
const log = createLogger('test', 'silent');

let folder: string;
let nats: NatsServer;
let bus: Bus;
let texts = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-overwritten-'));
  nats = await startNatsServer({ dataDir: folder });
  bus = await Bus.connect({ url: nats.url, name: 'overwritten' }, log);
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A text that is in no file yet. */
function freshText(): string {
  texts += 1;
  return `secret-${texts}-of-a-person-${process.pid}`;
}

const keyOf = (text: string) => `key.${Buffer.from(text).toString('base64url')}`;

/** A bucket with a record that stays, so that no file of it is deleted as a whole. */
async function openBucket(name: string) {
  const bucket = await bus.keyed(name);
  if ((await bucket.get('first')) === undefined) await bucket.put('first', Buffer.from('stays'), 0);
  return bucket;
}

test('a replaced value and a removed one leave the files with the write, a removed key with the sweep', async () => {
  const bucket = await openBucket('plain');
  const clock = new ManualClock(0);
  const sweeper = await BucketSweeper.open({ bucket, clock, markerAgeMs: MARKER_AGE_MS });
  const [name, replaced, removed] = [freshText(), freshText(), freshText()];
  const key = keyOf(name);
  const first = await bucket.put(key, Buffer.from(replaced), 0);
  expect(foundInFiles(folder, [name, replaced])).toHaveLength(2);

  await bucket.put(key, Buffer.from(removed), first);
  expect(foundInFiles(folder, [replaced])).toEqual([]);
  expect(foundInFiles(folder, [removed])).toHaveLength(1);

  await bucket.remove(key);
  expect(foundInFiles(folder, [removed])).toEqual([]);
  const neighbour = await bucket.put('neighbour', Buffer.from('stays, too'), 0);

  await sweeper.sweep();
  expect(await bucket.get(key)).toMatchObject({ bytes: undefined });
  await expect
    .poll(async () => {
      clock.advance(MARKER_AGE_MS + 1);
      await sweeper.sweep();
      return foundInFiles(folder, [name]);
    })
    .toEqual([]);
  sweeper.stop();
  expect(await bucket.get(key)).toBeUndefined();
  expect((await bucket.keys()).sort()).toEqual(['first', 'neighbour']);
  expect(await bucket.get('neighbour')).toMatchObject({ revision: neighbour });
});

test('what a process left that ended in the middle of a write is overwritten by a sweep, and by a repeated removal', async () => {
  const bucket = await openBucket('crashed');
  const clock = new ManualClock(0);
  // Simulates a process that writes and then ends: the library's own bucket overwrites nothing.
  const connection = await connect({ servers: `127.0.0.1:${nats.port}` });
  const raw = await connection.jetstream().views.kv('crashed');
  const [replaced, live, removed, again] = [freshText(), freshText(), freshText(), freshText()];
  await raw.put('replaced', replaced);
  await raw.put('replaced', live);
  await raw.put('removed', removed);
  await raw.delete('removed');
  await raw.put('again', again);
  await raw.delete('again');
  await connection.close();
  expect(foundInFiles(folder, [replaced, live, removed, again])).toHaveLength(4);

  await bucket.remove('again');
  expect(foundInFiles(folder, [again])).toEqual([]);
  expect(foundInFiles(folder, [replaced, live, removed])).toHaveLength(3);

  const sweeper = await BucketSweeper.open({ bucket, clock, markerAgeMs: MARKER_AGE_MS });
  await sweeper.sweep();
  sweeper.stop();
  expect(foundInFiles(folder, [replaced, removed])).toEqual([]);
  expect(Buffer.from((await bucket.get('replaced'))?.bytes ?? []).toString()).toBe(live);
  expect((await bucket.keys()).sort()).toEqual(['first', 'replaced']);
});

test('what was overwritten stays so when the server is killed, and what was not is there', async () => {
  const bucket = await openBucket('killed');
  const [replaced, removed, live] = [freshText(), freshText(), freshText()];
  const revision = await bucket.put('changed', Buffer.from(replaced), 0);
  const changed = await bucket.put('changed', Buffer.from(live), revision);
  await bucket.put('removed', Buffer.from(removed), 0);
  await bucket.remove('removed');
  await nats.kill();
  await nats.restart();
  await expect.poll(() => bucket.get('changed').catch(() => undefined)).toMatchObject({ revision: changed });
  expect(await bucket.get('removed')).toMatchObject({ bytes: undefined });
  expect((await bucket.keys()).sort()).toEqual(['changed', 'first']);
  expect(foundInFiles(folder, [replaced, removed])).toEqual([]);
  const last = await bucket.put('changed', Buffer.from('last'), changed);
  expect(foundInFiles(folder, [live])).toEqual([]);
  expect(await bucket.get('changed')).toMatchObject({ revision: last });
});

test('a bucket of before gets room for the value that is to be overwritten', async () => {
  const connection = await connect({ servers: `127.0.0.1:${nats.port}` });
  const raw = await connection.jetstream().views.kv('earlier', { history: 1 });
  const text = freshText();
  const revision = await raw.put('key', text);
  await connection.close();
  const bucket = await openBucket('earlier');
  await bucket.put('key', Buffer.from('next'), revision);
  expect(foundInFiles(folder, [text])).toEqual([]);
});

test('a watch that was cut off learns of keys that were removed and swept meanwhile', async () => {
  const proxy = await startProxy(nats.port);
  const far = await Bus.connect({ url: `nats://127.0.0.1:${proxy.port}`, name: 'far' }, log);
  const bucket = await openBucket('watched');
  await bucket.put('gone', Buffer.from('value'), 0);
  const seen = new Map<string, KeyedValue>();
  const stop = await (await far.keyed('watched')).watch((value) => seen.set(value.key, value));
  expect([...seen.keys()].sort()).toEqual(['first', 'gone']);

  await proxy.cut();
  await expect.poll(() => far.connected).toBe(false);
  const clock = new ManualClock(0);
  const sweeper = await BucketSweeper.open({ bucket, clock, markerAgeMs: 0 });
  await bucket.remove('gone');
  await bucket.put('new', Buffer.from('value'), 0);
  await expect
    .poll(async () => {
      clock.advance(1);
      await sweeper.sweep();
      return bucket.get('gone');
    })
    .toBeUndefined();
  sweeper.stop();
  await proxy.restore();

  await expect.poll(() => seen.get('new')?.bytes).toBeDefined();
  await expect.poll(() => seen.get('gone')?.bytes).toBeUndefined();
  expect(seen.get('first')?.bytes).toBeDefined();
  stop();
  await far.close();
  await proxy.cut();
});

test('a removed message of a stream leaves the files', async () => {
  const text = freshText();
  await bus.ensureStream('removing', 'removing', STREAM_BYTES_MAX);
  await bus.publish('removing', Buffer.from('before'), 5_000);
  const sequence = await bus.publish('removing', Buffer.from(text), 5_000);
  await bus.publish('removing', Buffer.from('after'), 5_000);
  expect(foundInFiles(folder, [text])).toHaveLength(1);
  await bus.remove('removing', sequence);
  expect(foundInFiles(folder, [text])).toEqual([]);
});

test.each([
  ['of a large stream', STREAM_BYTES_MAX],
  ['of a small stream', 1_000_000],
  ['of a tiny stream', 100_000],
])(
  'trimmed messages %s leave the files when it is empty, and while more comes, behind padding',
  async (name, bytesMax) => {
    const stream = name.replaceAll(' ', '-');
    const [first, second] = [freshText(), freshText()];
    await bus.ensureStream(stream, stream, bytesMax);
    const publish = (bytes: Uint8Array) => bus.publish(stream, bytes, 5_000);
    await bus.trim(stream, await publish(Buffer.from(first)));
    await expect.poll(() => foundInFiles(folder, [first])).toEqual([]);

    const trimmed = await publish(Buffer.from(second));
    await publish(Buffer.from('alive'));
    await bus.trim(stream, trimmed);
    expect(foundInFiles(folder, [second])).toHaveLength(1);
    let padding = 0;
    const { bytes, atOnceMax } = await bus.rewriteNeeds(stream);
    for (let left = bytes; left > 0; left -= atOnceMax) {
      padding = await publish(Buffer.alloc(Math.min(left, atOnceMax), ' '));
      for (let live = 0; live < 20; live += 1) await publish(Buffer.alloc(200, 'x'));
      await bus.trim(stream, padding);
    }
    await expect.poll(() => foundInFiles(folder, [second])).toEqual([]);
    const { first: from, last } = await bus.streamBounds(stream);
    expect([from, last]).toEqual([padding + 1, padding + 20]);
  },
);
