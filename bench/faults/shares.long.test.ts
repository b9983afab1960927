import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { Traffic } from '../traffic/traffic.ts';
import { audit, type Outage } from './audit.ts';
import { Probe } from './probe.ts';

// Three processors share out four lanes. One that joins gets a fair share, one that leaves hands its lanes over.

const LANES = 4;
const WAIT_MAX_MS = 60_000;
/** Collectors' maximum wait for a new owner, however slow this machine makes a hand-over. */
const LOOKUP_MS = 5_000;
/** Maximum wait of questions for it. */
const LANE_WAIT_MS = 25_000;
/** A question on its way to one that dies or hangs waits that long; until then its lane is not asked anything else. */
const SETTLES_MS = LOOKUP_MS + 1_000;
const PROCESSORS = ['one', 'two', 'three'];

let cluster: Cluster;
let traffic: Traffic;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: PROCESSORS,
    withStore: true,
    env: {
      LANES: String(LANES),
      WORKERS: '2',
      FLUSH_INTERVAL_MS: '100',
      QUERY_LIMIT_PER_10_S: '0',
      SESSION_LOOKUP_TIMEOUT_MS: String(LOOKUP_MS),
      LANE_WAIT_MAX_MS: String(LANE_WAIT_MS),
    },
  });
  await cluster.ready('web');
  traffic = new Traffic(cluster, { seed: 17, hosts: ['web'], persistent: true, paceMs: 5 });
});
afterAll(() => cluster?.stop());

/** Number of lanes that each processor answers for; undefined for one that does not report it. */
async function answeringOf(processors: readonly string[]): Promise<(number | undefined)[]> {
  const ask = async (name: string) => (await cluster.processorHealth(name)).answering;
  return Promise.all(processors.map((name) => ask(name).catch(() => undefined)));
}

/** Waits until these processors answer for all lanes, and none for two more than another. */
async function shared(processors: readonly string[]): Promise<void> {
  let seen: (number | undefined)[] = [];
  const isShared = async () => {
    seen = await answeringOf(processors);
    const counts = seen.map((count) => count ?? -1);
    const sum = counts.reduce((total, count) => total + count, 0);
    return sum === LANES && Math.max(...counts) - Math.min(...counts) <= 1;
  };
  await waitFor('the lanes are shared out', isShared, WAIT_MAX_MS).catch((error: unknown) => {
    throw new Error(`${processors.join(', ')} answer for ${seen.join(', ')} lanes`, { cause: error });
  });
  expect(seen.every((count) => count !== undefined && count > 0)).toBe(true);
}

async function goesOn(): Promise<void> {
  const before = traffic.ledger.acknowledged.length;
  await waitFor('load', () => traffic.ledger.acknowledged.length > before + 200, WAIT_MAX_MS);
}

function questions(path: string): Probe {
  const { projectId, clients } = cluster.credentials;
  const url = `${cluster.url('web')}/insights/${projectId}/${path}`;
  const headers = {
    'openpanel-client-id': clients.read.id,
    'openpanel-client-secret': clients.read.secret,
  };
  const ask = async () => {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(30_000) });
    const text = await answer.text();
    return answer.ok ? 'ok' : `${answer.status} ${text}`;
  };
  return new Probe({ name: path, everyMs: 20, ask });
}

test('joining, leaving and restarts one after the other move lanes, and no question and no event fails', async () => {
  await shared(PROCESSORS);
  const probes = [questions('live'), questions('metrics?range=today')];
  await goesOn();

  await cluster.process('three').stop();
  await shared(['one', 'two']);
  await goesOn();
  await cluster.process('two').stop();
  await shared(['one']);
  await goesOn();

  await cluster.restart('two');
  await shared(['one', 'two']);
  await goesOn();
  await cluster.restart('three');
  await shared(PROCESSORS);
  await goesOn();

  for (const name of PROCESSORS) {
    await cluster.restart(name);
    await shared(PROCESSORS);
    await goesOn();
  }

  for (const probe of probes) {
    await probe.stop();
    expect(probe.observations.length).toBeGreaterThan(50);
    expect([...new Set(probe.observations.map(({ saw }) => saw))]).toEqual(['ok']);
  }
  const handOvers = await Promise.all(
    PROCESSORS.map((name) => cluster.metric(name, 'footfall_processor_hand_overs_total')),
  );
  expect(handOvers.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  for (const name of PROCESSORS)
    expect(await cluster.metric(name, 'footfall_processor_fencings_total')).toBe(0);
});

test('the lanes of one that dies or hangs go to the others; everything counts once', async () => {
  const outages: Outage[] = [];
  const without = async (end: () => Promise<void>, others: readonly string[]) => {
    const fromMs = Date.now();
    await end();
    await shared(others);
    outages.push({ fromMs, untilMs: Date.now() + SETTLES_MS });
    await goesOn();
  };
  await without(() => cluster.kill('one'), ['two', 'three']);
  await cluster.restart('one');
  await shared(PROCESSORS);
  await goesOn();

  await without(() => cluster.process('two').freeze(), ['one', 'three']);
  cluster.process('two').resume();
  await shared(PROCESSORS);
  // It found that it had lost its lanes, and wrote nothing more for them.
  expect(await cluster.metric('two', 'footfall_processor_fencings_total')).toBeGreaterThan(0);
  await goesOn();

  const ledger = await traffic.stop();
  expect([...ledger.rejects]).toEqual([]);
  const { acknowledged, stored, differences } = await audit(cluster, ledger, 'web', outages);
  expect(differences).toEqual([]);
  expect(stored).toBe(acknowledged);
});

test('a process that counts other lanes does not start, and says what to do', async () => {
  await cluster.process('three').stop();
  await expect(cluster.restart('three', { LANES: '8' })).rejects.toThrow(
    /LANES: 8 here, but the service on this bus has 4/,
  );
  await cluster.restart('three', { LANES: '' });
  await shared(PROCESSORS);
});
