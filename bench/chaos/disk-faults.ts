import { setTimeout as wait } from 'node:timers/promises';
import { assert, must } from '../../infra/assert.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ChaosFault } from './fault.ts';
import { BUS, type Ground, PROCESSORS, STORE, until, WEB } from './ground.ts';

/** Disks that are full: of one server of the bus, of the whole bus, of the store. */
export const DISK_FAULTS: readonly ChaosFault[] = [
  {
    name: 'the disk of a server of the bus is full',
    needs: 'disks',
    happen: async (ground) => {
      const server = ground.random.one(BUS);
      await fill(ground, [server], () => wait(ground.random.integer(1_000, 6_000)));
      // As the start program does on each machine: a server that could not write stores nothing more until it is started again.
      await ground.cluster.restart(server);
    },
  },
  {
    name: 'the disks of the whole bus are full, and collectors say so',
    needs: 'disks',
    isInTest: true,
    happen: async (ground) => {
      const { cluster, random } = ground;
      const before = await rejects(cluster);
      await fill(ground, BUS, async () => {
        await until('collectors reject events', async () => (await rejects(cluster)) > before);
        await wait(random.integer(0, 4_000));
      });
      await Promise.all(BUS.map((server) => cluster.restart(server)));
    },
  },
  {
    name: 'the disk of the store is full',
    needs: 'disks',
    isInTest: true,
    happen: async (ground) => {
      const { cluster, random } = ground;
      const before = await retries(cluster);
      await fill(ground, [STORE], async () => {
        await until('the store refuses a write', async () => (await retries(cluster)) > before);
        await wait(random.integer(0, 6_000));
      });
    },
  },
];

async function fill(
  { disks }: Ground,
  names: readonly string[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  const owned = must(disks, 'disks');
  // What a program gives back it would get again.
  const refill = setInterval(() => {
    for (const name of names) owned.fill(name);
  }, 50);
  try {
    for (const name of names) {
      owned.fill(name);
      assert(owned.freeBytes(name) < 1_048_576, `the disk of ${name} is full`);
    }
    await meanwhile();
  } finally {
    clearInterval(refill);
    for (const name of names) owned.empty(name);
  }
}

/** How many events both hosts rejected with a reason that is the bus's. */
async function rejects(cluster: Cluster): Promise<number> {
  const counts = await Promise.all(
    WEB.map((host) =>
      cluster.metric(host, 'ingest_rejects_total', 'reason="(?:bus-away|bus-full|disk-full)"'),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How many inserts the processors tried again. */
async function retries(cluster: Cluster): Promise<number> {
  const counts = await Promise.all(
    PROCESSORS.map((processor) => cluster.metric(processor, 'footfall_processor_flush_retries_total')),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
