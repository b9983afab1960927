import type { SeededRandom } from '../../ingest/testing/random.ts';
import { waitFor } from '../cluster/child-process.ts';
import type { Cluster } from '../cluster/cluster.ts';

export const WEB = ['web-1', 'web-2'] as const;
export const PROCESSORS = ['processor-1', 'processor-2'] as const;
export const BUS = ['bus-1', 'bus-2', 'bus-3'] as const;
const WAIT_MAX_MS = 90_000;

/** Where faults happen: a bus of three servers, a store, and two processes of each of our tiers. */
export interface Ground {
  readonly cluster: Cluster;
  readonly random: SeededRandom;
}

/** Waits for what a fault has to bring about, or for the service to recover from it. */
export function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const quiet = () => condition().catch(() => false);
  return waitFor(what, quiet, WAIT_MAX_MS);
}

/** What a processor says of itself; undefined while it does not answer. */
async function healthOf(cluster: Cluster, processor: string) {
  return cluster.process(processor).running
    ? cluster.processorHealth(processor).catch(() => undefined)
    : undefined;
}

/** The processor that answers for the lane; undefined while none does. */
export async function ownerOf(cluster: Cluster): Promise<(typeof PROCESSORS)[number] | undefined> {
  for (const processor of PROCESSORS)
    if ((await healthOf(cluster, processor))?.answering === 1) return processor;
  return undefined;
}

/** Waits until one processor owns the lane, and returns it and the other one. */
export async function placesOf(cluster: Cluster) {
  let owner: (typeof PROCESSORS)[number] | undefined;
  await until('a processor owns the lane', async () => {
    owner = await ownerOf(cluster);
    return owner !== undefined;
  });
  const [first, second] = PROCESSORS;
  return owner === first ? { owner: first, other: second } : { owner: second, other: first };
}

/** Waits until everything is as it was before a fault: both hosts and both processors are ready. */
export async function calm(cluster: Cluster): Promise<void> {
  for (const host of WEB)
    await until(`${host} is ready`, async () => (await fetch(`${cluster.url(host)}/healthz/ready`)).ok);
  const { other } = await placesOf(cluster);
  await until(`${other} stands by`, async () => (await healthOf(cluster, other))?.standby === 1);
}
