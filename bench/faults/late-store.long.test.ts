import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit } from './audit.ts';

// Processors that start while the store is unavailable. One owned the lane before, and the other was the standby.

const WAIT_MAX_MS = 60_000;
/** Collectors ask the new owner some time after it answers. */
const SETTLES_MS = 4_000;
const PROCESSORS = ['first', 'second'];

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: PROCESSORS,
    withStore: true,
    env: { WORKERS: '1', FLUSH_INTERVAL_MS: '100' },
  });
  await cluster.ready('web');
});
afterAll(() => cluster?.stop());

const health = (processor: string) => cluster.processorHealth(processor);
const waitedFor = (processor: string) =>
  cluster.metric(processor, 'footfall_processor_store_shards_waited_for');
const WAITING = { ready: false, lanes: 0, answering: 0, standby: 0 };

/** Waits until a processor counts `others` other processors. */
const hearsOf = (processor: string, others: number) =>
  waitFor(
    `${processor} hears of ${others} others`,
    async () => (await cluster.metric(processor, 'footfall_processor_others')) === others,
    WAIT_MAX_MS,
  );

/** The processor that owns the lane, and the other one, once both are ready. */
async function places(): Promise<readonly [string, string]> {
  await waitFor(
    'both are ready',
    async () => (await Promise.all(PROCESSORS.map(health))).every(({ ready }) => ready),
    WAIT_MAX_MS,
  );
  const isFirst = (await health('first')).answering === 1;
  return isFirst ? ['first', 'second'] : ['second', 'first'];
}

test('processors that start while the store is away wait for it and take no part; one has the lane once it is back, and everything counts once', async () => {
  const [owner, standby] = await places();
  const traffic = new Traffic(cluster, { seed: 6, hosts: ['web'], persistent: true, paceMs: 5 });
  const goesOn = async () => {
    const before = traffic.ledger.acknowledged.length;
    await waitFor('load', () => traffic.ledger.acknowledged.length > before + 300, WAIT_MAX_MS);
  };
  await goesOn();
  const fromMs = Date.now();
  await Promise.all([standby, 'store'].map((name) => cluster.kill(name)));
  await cluster.restart(standby);
  expect(await health(standby)).toEqual(WAITING);
  expect(await waitedFor(standby)).toBe(1);
  // The owner does not count it, and so hands no lane over to it.
  await hearsOf(owner, 0);
  expect((await health(owner)).answering).toBe(1);

  await cluster.kill(owner);
  await cluster.restart(owner);
  await goesOn();
  for (const processor of PROCESSORS) {
    expect(await health(processor)).toEqual(WAITING);
    await hearsOf(processor, 0);
  }

  await cluster.restart('store');
  await places();
  for (const processor of PROCESSORS) {
    expect(await waitedFor(processor)).toBe(0);
    await hearsOf(processor, 1);
  }
  const outages = [{ fromMs, untilMs: Date.now() + SETTLES_MS }];
  await goesOn();
  const { acknowledged, stored, differences } = await audit(cluster, await traffic.stop(), 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

test('a processor that waits for the store can be stopped', async () => {
  await cluster.kill('store');
  await cluster.restart('first');
  expect(await health('first')).toEqual(WAITING);
  await cluster.process('first').stop();
  expect(cluster.process('first').ending).toBe('0');
});

test('a processor and its store may start at once', async () => {
  await Promise.all(['first', 'store'].map((name) => cluster.restart(name)));
  await places();
});
