import { afterAll, beforeAll, expect, test } from 'vitest';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit, type Outage } from './audit.ts';

let cluster: Cluster;
let seed = 0;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { WORKERS: '2', FLUSH_INTERVAL_MS: '150', LEASE_MS: '2000', LOG_LEVEL: 'info' },
  });
  await cluster.ready('web');
});

afterAll(() => cluster?.stop());

const traffics: Traffic[] = [];
const outages: Outage[] = [];
// Maximum time until collectors ask a silent owner again, while its lanes restore.
const RECOVERY_MS = 4_000;

/**
 * Load, deaths of `name` at the armed points one after the other, load meanwhile, a complete start, more load. Each start but the
 * last is armed with the next point. The caller audits afterwards.
 */
async function dieAt(name: string, points: readonly string[]): Promise<void> {
  seed += 1;
  const traffic = new Traffic(cluster, { seed, hosts: ['web'], persistent: true, paceMs: 40 });
  traffics.push(traffic);
  const dying = cluster.process(name);
  await waitFor('load', () => traffic.ledger.acknowledged.length > 100, 30_000);
  const fromMs = Date.now();
  await dying.stop();
  // It exits by itself also while it restores, not because its time is over.
  expect(dying.ending).toBe('0');
  for (const armed of points) {
    const [point = ''] = armed.split(':after=');
    const reachedBefore = timesReached(dying.log(), point);
    dying.launch({ CRASH_POINT: armed });
    await waitFor(`${name} dies at ${armed}`, () => !dying.running, 30_000);
    expect(dying.ending).toBe('SIGKILL');
    expect(timesReached(dying.log(), point)).toBe(reachedBefore + 1);
  }
  await dying.start();
  if (name === 'processor') outages.push({ fromMs, untilMs: Date.now() + RECOVERY_MS });
  const atReturn = traffic.ledger.acknowledged.length;
  await waitFor('load continues', () => traffic.ledger.acknowledged.length > atReturn + 100, 60_000);
  await traffic.stop();
  // A killed collector costs its senders connections; no other failure is allowed, and none at all without such a kill.
  const failures = [...traffic.ledger.rejects.keys()];
  const lostConnections = failures.filter((text) => text.startsWith('connection: '));
  expect(failures).toEqual(name === 'web' ? lostConnections : []);
  expect(lostConnections.length > 0).toBe(name === 'web');
}

function timesReached(log: string, point: string): number {
  return log.split(`crash point ${point} reached`).length - 1;
}

// Crash points of entities, deliveries, backups, restores and refusals need traffic of their own: entities.fault.test.ts and others have it.
const processorPoints = CRASH_POINTS.filter(
  (point) => !/^(publish|entities|delivery|growth|backup|restore|refusal):/.test(point),
);

test.each(processorPoints)(
  'law 1: a processor killed at %s loses nothing and counts nothing twice',
  async (point) => {
    // A few flushes pass first.
    await dieAt('processor', [`${point}:after=${point.startsWith('lane:') ? 0 : 5}`]);
    const ledger = mergedLedger();
    const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web', outages);
    expect(differences).toEqual([]);
    expect(stored).toBe(acknowledged);
  },
);

test('law 1: a collector killed between the bus and its answer counts nothing twice', async () => {
  await dieAt('web', ['publish:before-ack:after=40']);
  await cluster.ready('web');
  const { acknowledged, stored, differences } = await audit(cluster, mergedLedger(), 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

test('law 1: a processor killed again and again while it recovers loses nothing', async () => {
  await dieAt(
    'processor',
    processorPoints.map((point) => `${point}:after=0`),
  );
  const { acknowledged, stored, differences } = await audit(cluster, mergedLedger(), 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

/** The store holds the traffic of all tests so far, so their ledgers are audited together. */
function mergedLedger() {
  const [first, ...others] = traffics.map(({ ledger }) => ledger);
  if (first === undefined) throw new Error('there was no traffic');
  return first.with(others);
}
