import { afterEach, beforeEach, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { storedCounts } from '../cluster/stored.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit, type Outage } from './audit.ts';

let cluster: Cluster;

beforeEach(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { WORKERS: '2', FLUSH_INTERVAL_MS: '100', LEASE_MS: '2000', PUBLISH_TIMEOUT_MS: '1500' },
  });
  await cluster.ready('web');
});

afterEach(() => cluster?.stop());

async function load(seed: number, persistent = true): Promise<Traffic> {
  const traffic = new Traffic(cluster, { seed, hosts: ['web'], persistent, paceMs: 5 });
  await waitFor('load', () => traffic.ledger.acknowledged.length > 300, 30_000);
  return traffic;
}

async function goesOn(traffic: Traffic): Promise<void> {
  const before = traffic.ledger.acknowledged.length;
  await waitFor('load goes on', () => traffic.ledger.acknowledged.length > before + 300, 60_000);
}

test('law 1: the store killed in mid-insert, three times, loses nothing and counts nothing twice', async () => {
  const traffic = await load(1);
  const { projectId } = cluster.credentials;
  for (let times = 0; times < 3; times += 1) {
    const store = cluster.openStore();
    const before = await storedCounts(store, projectId);
    // A flush has just ended and the next is due within 100 ms, so the kill falls at a random moment of an insert.
    await waitFor(
      'a flush',
      async () => (await storedCounts(store, projectId)).events > before.events,
      30_000,
    );
    await store.close();
    await new Promise((resolve) => setTimeout(resolve, 60 + 17 * times));
    await cluster.kill('store');
    expect(cluster.process('store').ending).toBe('SIGKILL');
    // Without the store, events are still accepted, and the bus keeps them.
    await goesOn(traffic);
    await cluster.restart('store');
    await goesOn(traffic);
  }
  const ledger = await traffic.stop();
  await cluster.ready('web');
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web');
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

test('law 1: the bus killed under load, twice, loses nothing that was acknowledged and counts nothing twice', async () => {
  const traffic = await load(2);
  const outages: Outage[] = [];
  for (let times = 0; times < 2; times += 1) {
    const fromMs = Date.now();
    await cluster.kill('bus');
    expect(cluster.process('bus').ending).toBe('SIGKILL');
    const waiting = () =>
      traffic.ledger.entries.filter(({ acknowledgedAtMs }) => acknowledgedAtMs === undefined);
    await waitFor('every device waits', () => waiting().length >= 20, 30_000);
    const resent = traffic.ledger.resent;
    await waitFor('some send again', () => traffic.ledger.resent > resent, 30_000);
    await cluster.restart('bus');
    // Every process reconnects, and the collectors ask the owner again.
    outages.push({ fromMs, untilMs: Date.now() + 4_000 });
    await goesOn(traffic);
  }
  const ledger = await traffic.stop();
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

test('law 1: the collector killed under load keeps what it acknowledged, once; the rest may be there, once', async () => {
  const traffic = await load(3, false);
  for (let times = 0; times < 3; times += 1) {
    await cluster.kill('web');
    expect(cluster.process('web').ending).toBe('SIGKILL');
    await cluster.restart('web');
    await goesOn(traffic);
  }
  const ledger = await traffic.stop();
  await cluster.ready('web');
  expect(ledger.entries.length).toBeGreaterThan(ledger.acknowledged.length);
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web');
  expect(differences).toEqual([]);
  expect(stored).toBeGreaterThanOrEqual(acknowledged);
});
