import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../log.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { Bus } from './bus.ts';
import { withLock } from './lock.ts';

const BUCKET = { storage: 'memory', erases: false } as const;
const log = createLogger('test', 'silent');

let nats: NatsServer;
let buses: Bus[];

beforeAll(async () => {
  nats = await startNatsServer();
  const { url } = nats;
  buses = await Promise.all(['one', 'two', 'three'].map((name) => Bus.connect({ url, name }, log)));
});
afterAll(async () => {
  await Promise.all(buses.map((bus) => bus.close()));
  await nats.stop();
});

/** The bucket as each of three processes has it. */
function opened() {
  return Promise.all(buses.map((bus) => bus.keyed('locks', BUCKET)));
}

test('one works at a time, and each in the end', async () => {
  const buckets = await opened();
  let working = 0;
  let most = 0;
  const done: number[] = [];
  await Promise.all(
    Array.from({ length: 9 }, (_, index) =>
      withLock(buckets[index % 3] as (typeof buckets)[0], 'shared', async () => {
        working += 1;
        most = Math.max(most, working);
        await sleep(5);
        working -= 1;
        done.push(index);
      }),
    ),
  );
  expect(most).toBe(1);
  expect(done.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
});

test('the lock of a process that died ends with its lease', async () => {
  const [bucket] = await opened();
  await bucket?.put('left', Buffer.from('process 7 of elsewhere'), 0);
  const told: string[] = [];
  const options = { leaseMs: 600, onWait: (holder: string) => told.push(holder) };
  expect(await withLock(bucket as never, 'left', async () => 'done', options)).toBe('done');
  expect(told).toEqual(['process 7 of elsewhere']);
});

test('work that is longer than a lease keeps the lock', async () => {
  const [first, second] = await opened();
  const order: string[] = [];
  const long = withLock(
    first as never,
    'long',
    async () => {
      await sleep(2_500);
      order.push('long');
    },
    { leaseMs: 900 },
  );
  while ((await second?.get('long'))?.bytes === undefined) await sleep(10);
  await withLock(second as never, 'long', async () => order.push('next'), { leaseMs: 900 });
  await long;
  expect(order).toEqual(['long', 'next']);
});

test('work that fails lets the next one in', async () => {
  const [first, second] = await opened();
  const failed = withLock(first as never, 'failing', async () => Promise.reject(new Error('no')));
  await expect(failed).rejects.toThrow('no');
  expect(await withLock(second as never, 'failing', async () => 1)).toBe(1);
  expect((await first?.get('failing'))?.bytes).toBeUndefined();
});
