import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit, type Outage } from './audit.ts';

// Two processors: one owns the lane, the other one is the standby.

const WAIT_MAX_MS = 60_000;
/** Collectors ask the new owner some time after it answers. */
const SETTLES_MS = 4_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['first', 'second'],
    withStore: true,
    env: { WORKERS: '1', FLUSH_INTERVAL_MS: '100' },
  });
  await cluster.ready('web');
});
afterAll(() => cluster?.stop());

const health = (processor: string) => cluster.processorHealth(processor);

const OWNER = { ready: true, lanes: 1, answering: 1, standby: 0 };
const STANDBY = { ready: true, lanes: 1, answering: 0, standby: 1 };

/** Waits until `owner` answers for the lane and says so in its metrics, as no other one does. */
async function owns(owner: string): Promise<void> {
  await waitFor(`${owner} owns the lane`, async () => (await health(owner)).answering === 1, WAIT_MAX_MS);
  expect(await health(owner)).toEqual(OWNER);
  expect(await cluster.metric(owner, 'footfall_processor_lane_owned')).toBe(1);
}

async function standsBy(processor: string): Promise<void> {
  await waitFor(`${processor} stands by`, async () => (await health(processor)).standby === 1, WAIT_MAX_MS);
  expect(await health(processor)).toEqual(STANDBY);
  expect(await cluster.metric(processor, 'footfall_processor_lane_owned')).toBe(0);
}

test('a standby is ready, and takes the lane over from an owner that dies, hangs or ends; everything counts once', async () => {
  await owns('first');
  await standsBy('second');
  const traffic = new Traffic(cluster, { seed: 5, hosts: ['web'], persistent: true, paceMs: 5 });
  const goesOn = async () => {
    const before = traffic.ledger.acknowledged.length;
    await waitFor('load', () => traffic.ledger.acknowledged.length > before + 300, WAIT_MAX_MS);
  };
  const outages: Outage[] = [];
  const without = async (end: () => Promise<void>, next: string) => {
    const fromMs = Date.now();
    await end();
    await owns(next);
    outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
    await goesOn();
  };
  await goesOn();

  await without(() => cluster.kill('first'), 'second');
  await cluster.restart('first');
  await standsBy('first');

  await without(() => cluster.process('second').freeze(), 'first');
  cluster.process('second').resume();
  // It finds that it has lost the lane, writes nothing more for it, and waits for its turn.
  await standsBy('second');
  expect(await cluster.metric('second', 'footfall_processor_fencings_total')).toBe(1);
  expect(await cluster.metric('second', 'footfall_bus_stream_gaps_total')).toBe(0);
  await goesOn();

  await without(() => cluster.process('first').stop(), 'second');
  expect(cluster.process('first').ending).toBe('0');
  const ledger = await traffic.stop();
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
  await cluster.restart('first');
});

test('without the bus neither owner nor standby is ready', async () => {
  await owns('second');
  await standsBy('first');
  await cluster.kill('bus');
  for (const processor of ['first', 'second'])
    await waitFor(`${processor} is not ready`, async () => !(await health(processor)).ready, WAIT_MAX_MS);
  await cluster.restart('bus');
  for (const processor of ['first', 'second'])
    await waitFor(`${processor} is ready`, async () => (await health(processor)).ready, WAIT_MAX_MS);
});
