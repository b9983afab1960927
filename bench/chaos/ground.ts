import { connect, type JetStreamManager } from 'nats';
import { must } from '../../infra/assert.ts';
import { streamOf } from '../../ingest/event.ts';
import type { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import type { Clocks } from '../cluster/clocks.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Traffic } from '../traffic/traffic.ts';
import type { Disks } from './disks.ts';
import type { PrivateNetwork } from './network.ts';

export const WEB = ['web-1', 'web-2'] as const;
export const PROCESSORS = ['processor-1', 'processor-2'] as const;
export const BUS = ['bus-1', 'bus-2', 'bus-3'] as const;
export const STORE = 'store';
/** Number of lanes that the processors share: one for each of them, so each has one when everything is calm. */
export const LANES_FIRST = 2;
/** Series of the first lane; its owner also runs the leader's jobs. Faults on "the owner" hit this owner. */
export const FIRST_LANE = 'lane="0"';
const WAIT_MAX_MS = 90_000;
const WHOLE_MAX_MS = 30_000;
const STARTS_MAX = 3;
const ANSWER_MAX_MS = 2_000;

export type BusServer = (typeof BUS)[number];

/** Parts of the machine that a run can change. Only root may, so each may be missing. */
export interface Powers {
  readonly network: PrivateNetwork | undefined;
  readonly disks: Disks | undefined;
  readonly clocks: Clocks | undefined;
}

/** The environment of the faults: a bus of three servers, a store, and two processes of each of our tiers, under load. */
export interface Ground extends Powers {
  readonly cluster: Cluster;
  readonly traffic: Traffic;
  readonly random: SeededRandom;
}

/** Waits for the effect of a fault, or for the service to recover from it. */
export function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const quiet = () => condition().catch(() => false);
  return waitFor(what, quiet, WAIT_MAX_MS);
}

/** Returns a processor's health report; undefined while it does not answer. */
export async function healthOf(cluster: Cluster, processor: string) {
  return cluster.process(processor).running
    ? cluster.processorHealth(processor).catch(() => undefined)
    : undefined;
}

/** True if a processor reports that it owns the first lane, and answers for all lanes that it owns. */
export async function owns(cluster: Cluster, processor: string): Promise<boolean> {
  const health = await healthOf(cluster, processor);
  if (health === undefined || health.answering + health.standby !== health.lanes) return false;
  return (await cluster.metric(processor, 'footfall_processor_lane_owned', FIRST_LANE)) === 1;
}

/** Number of lanes of the service; rejects while no processor reports it, or while it grows. */
export async function lanesOf(cluster: Cluster): Promise<number> {
  const all = await Promise.all(PROCESSORS.map((processor) => healthOf(cluster, processor)));
  return Math.max(...all.map((health) => must(health, 'a processor that answers').lanes));
}

/** The processor that answers for the first lane; undefined while none does. */
async function ownerOf(cluster: Cluster): Promise<(typeof PROCESSORS)[number] | undefined> {
  for (const processor of PROCESSORS) if (await owns(cluster, processor)) return processor;
  return undefined;
}

/** Waits until one processor owns the first lane, and returns it and the other one. */
export async function placesOf(cluster: Cluster) {
  let owner: (typeof PROCESSORS)[number] | undefined;
  await until('a processor owns the first lane', async () => {
    owner = await ownerOf(cluster);
    return owner !== undefined;
  });
  const [first, second] = PROCESSORS;
  return owner === first ? { owner: first, other: second } : { owner: second, other: first };
}

/** True if a host reports that it is ready, without its details. */
export async function isReady(cluster: Cluster, host: string): Promise<boolean> {
  const url = `${cluster.url(host)}/healthz/ready`;
  return (await fetch(url, { signal: AbortSignal.timeout(ANSWER_MAX_MS) })).ok;
}

/**
 * Waits until everything is as it was before a fault: each server of the bus has all copies, both hosts are ready, and the processors have
 * shared out the lanes.
 */
export async function calm(cluster: Cluster): Promise<void> {
  await untilBusIsWhole(cluster);
  for (const host of WEB) await until(`${host} is ready`, () => isReady(cluster, host));
  // Looked at together: after a cut, a lane may change hands once more.
  await until('the lanes are shared out', async () => {
    const all = await Promise.all(PROCESSORS.map((processor) => healthOf(cluster, processor)));
    const lanes = await lanesOf(cluster);
    return all.every((health) => health?.lanes === lanes && health.answering === lanes / PROCESSORS.length);
  });
}

/**
 * Waits until every server of the bus has all copies: otherwise the next fault could leave a bus without a majority. One that does not get
 * there is started once more, since after a start no leader may hear a server (`infra/bus/README.md`).
 */
async function untilBusIsWhole(cluster: Cluster): Promise<void> {
  const lacking = async (): Promise<readonly BusServer[]> => {
    const whole = await Promise.all(BUS.map((server) => isWhole(cluster, server).catch(() => false)));
    return BUS.filter((_, index) => whole[index] !== true);
  };
  for (let starts = 0; ; starts += 1) {
    try {
      return await waitFor(
        'all servers of the bus have all copies',
        async () => (await lacking()).length === 0,
        WHOLE_MAX_MS,
      );
    } catch (error) {
      if (starts === STARTS_MAX) throw error;
      for (const server of await lacking()) await cluster.restart(server);
    }
  }
}

/** Waits until more than `more` further events were acknowledged. */
export function untilTaken(traffic: Traffic, more: number): Promise<void> {
  const before = traffic.ledger.taken;
  return until('events are taken', async () => traffic.ledger.taken > before + more);
}

/** The server of the bus that leads the stream of events, as the others see it; undefined while there is none. */
export function leaderOf(
  cluster: Cluster,
  asked: readonly BusServer[] = BUS,
): Promise<BusServer | undefined> {
  return askBus(cluster, asked, async (manager) => {
    const leader = (await manager.streams.info(streamOf(0))).cluster?.leader ?? '';
    return BUS.find((_, index) => leader === nameInBus(index));
  });
}

/** True if a server of the bus has everything that its leaders have, of every stream. */
function isWhole(cluster: Cluster, server: BusServer): Promise<boolean> {
  const name = nameInBus(BUS.indexOf(server));
  return askBus(cluster, BUS, async (manager) => {
    const streams = await manager.streams.list().next();
    return streams.every(({ cluster: copies }) => {
      const copy = copies?.replicas?.find((replica) => replica.name === name);
      return copies?.leader === name || (copy?.current === true && copy.offline !== true);
    });
  });
}

async function askBus<Told>(
  cluster: Cluster,
  asked: readonly BusServer[],
  ask: (manager: JetStreamManager) => Promise<Told>,
): Promise<Told> {
  const connection = await connect({
    servers: asked.map((server) => busAddress(cluster, server).host),
    reconnect: false,
    timeout: ANSWER_MAX_MS,
  });
  try {
    return await ask(await connection.jetstreamManager({ checkAPI: false, timeout: ANSWER_MAX_MS }));
  } finally {
    await connection.close();
  }
}

/** The server's name in `clusterConfig`. */
function nameInBus(index: number): string {
  return `footfall-${index}`;
}

/** Waits until the bus has a leader. */
export async function presentLeader(cluster: Cluster): Promise<BusServer> {
  let leader: BusServer | undefined;
  await until('the bus has a leader', async () => {
    leader = await leaderOf(cluster);
    return leader !== undefined;
  });
  return leader ?? BUS[0];
}

/** The listening address of a server of the bus. */
export function busAddress(cluster: Cluster, server: BusServer): URL {
  return new URL(cluster.busUrl.split(',')[BUS.indexOf(server)] ?? '');
}
