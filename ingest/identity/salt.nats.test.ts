import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import { must } from '../../infra/assert.ts';
import { BucketSweeper } from '../../infra/bus/bucket-sweeper.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { foundInFiles } from '../../infra/testing/found-in-files.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { connectBus } from '../testing/collector.ts';
import { Salts } from './salt.ts';

const NOON_MS = Date.UTC(2024, 4, 10, 12);
const log = createLogger('test', 'silent');
let folder: string;
let nats: NatsServer;
let bus: Bus;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'footfall-salts-'));
  nats = await startNatsServer({ dataDir: folder });
  bus = await connectBus(nats.url);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('all nodes agree on the salts, have tomorrow’s before midnight, and remove those older than yesterday’s', async () => {
  const bucket = await bus.keyed(CONTROL_BUCKET);
  const clock = new ManualClock(NOON_MS);
  const nodes = await Promise.all(
    Array.from({ length: 5 }, () => Salts.open({ bucket, clock, log, metrics: new Metrics() })),
  );
  const first = nodes[0]?.at(NOON_MS);
  expect(first?.today).toHaveLength(16);
  expect(first?.yesterday).toBeUndefined();
  for (const node of nodes) expect(node.at(NOON_MS)).toEqual(first);
  expect(nodes[0]?.at(NOON_MS + DAY_MS)).toBeUndefined();

  clock.advance(12 * HOUR_MS - 60_000);
  await Promise.all(nodes.map((node) => node.prepare()));
  const next = nodes[1]?.at(NOON_MS + DAY_MS);
  expect(next?.yesterday).toEqual(first?.today);
  expect(next?.today).not.toEqual(first?.today);
  for (const node of nodes) expect(node.at(NOON_MS + DAY_MS)).toEqual(next);

  clock.advance(2 * DAY_MS);
  await Promise.all(nodes.map((node) => node.prepare()));
  expect((await bucket.keys()).sort()).toEqual(['salt.2024-05-11', 'salt.2024-05-12', 'salt.2024-05-13']);
  for (const node of nodes) node.stop();
});

test('a salt that is older than yesterday’s is in no file of the bus', async () => {
  const bucket = await bus.keyed('rotated');
  const clock = new ManualClock(NOON_MS);
  const nodes = await Promise.all(
    Array.from({ length: 2 }, () => Salts.open({ bucket, clock, log, metrics: new Metrics() })),
  );
  const first = must(nodes[0]?.at(NOON_MS), 'the salts of the first day').today;
  clock.advance(DAY_MS);
  for (const node of nodes) await node.prepare();
  const second = must(nodes[0]?.at(NOON_MS + DAY_MS), 'the salts of the second day').today;
  expect(foundInFiles(folder, [first, second])).toHaveLength(2);

  clock.advance(DAY_MS);
  for (const node of nodes) await node.prepare();
  expect(foundInFiles(folder, [first])).toEqual([]);
  expect(foundInFiles(folder, [second])).toHaveLength(1);
  clock.advance(DAY_MS);
  for (const node of nodes) await node.prepare();
  expect(foundInFiles(folder, [first, second])).toEqual([]);
  for (const node of nodes) node.stop();
});

test('a collector that may overwrite nothing removes an old salt, and the sweeper of the bucket overwrites it', async () => {
  const clock = new ManualClock(NOON_MS);
  const sweeper = await BucketSweeper.open({ bucket: await bus.keyed('swept'), clock });
  const bucket = await bus.keyed('swept', { storage: 'file', erases: false });
  const node = await Salts.open({ bucket, clock, log, metrics: new Metrics() });
  const first = must(node.at(NOON_MS), 'the salts of the first day').today;
  clock.advance(2 * DAY_MS);
  await node.prepare();
  expect(foundInFiles(folder, [first])).toHaveLength(1);
  // The sweeper looks for replaced values only after it has heard of a write.
  await expect.poll(() => sweeper.sweep().then(() => foundInFiles(folder, [first]))).toEqual([]);
  sweeper.stop();
  node.stop();
});
