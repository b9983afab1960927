import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { must } from '../../infra/assert.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ChaosFault } from './fault.ts';
import { BUS, type Ground, leaderOf, PROCESSORS, presentLeader, STORE, until } from './ground.ts';

/**
 * Full disks of one server of the bus, or of the store. Never of two or three servers of the bus together: nats-server 2.10.27
 * then forgets its streams, and deletes them all 30 s after the next start.
 */
export const DISK_FAULTS: readonly ChaosFault[] = [
  {
    name: 'the disk of a server of the bus is full',
    needs: 'disks',
    happen: (ground) => fillBusServer(ground, ground.random.one(BUS)),
  },
  {
    name: 'the disk of the leader of the bus is full, and another one leads',
    needs: 'disks',
    happen: async (ground) => {
      const { cluster } = ground;
      const leader = await presentLeader(cluster);
      const others = BUS.filter((server) => server !== leader);
      await fillBusServer(ground, leader, async () => {
        await until('another one leads the bus', async () => {
          const now = await leaderOf(cluster, others);
          return now !== undefined && now !== leader;
        });
      });
    },
  },
  {
    name: 'the disk of the store is full',
    needs: 'disks',
    happen: async (ground) => {
      const { cluster, random } = ground;
      const before = await retries(cluster);
      await fill(ground, [STORE], async () => {
        await until('the store refuses a write', async () => (await retries(cluster)) > before);
        await wait(random.integer(0, 6_000));
      });
      await untilStoreWrites(cluster);
    },
  },
];

/**
 * Waits until the store writes. Restarts it after it ended, like the start program: it ends when the disk was full in
 * the middle of a write, and repairs its data at its start.
 */
async function untilStoreWrites(cluster: Cluster): Promise<void> {
  const store = cluster.openStore();
  try {
    await until('the store writes again', async () => {
      if (!cluster.process(STORE).running) await cluster.restart(STORE);
      // Answered only by a store of which no write has failed.
      await store.command({ query: 'SET max_threads = 1' });
      return true;
    });
  } finally {
    await store.close();
  }
}

async function fillBusServer(
  ground: Ground,
  server: (typeof BUS)[number],
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const { cluster, random } = ground;
  const failures = () => cluster.process(server).log().split('no space left on device').length;
  const before = failures();
  await fill(ground, [server], async () => {
    await until(`${server} cannot write`, async () => failures() > before);
    await meanwhile?.();
    await wait(random.integer(0, 6_000));
  });
  // A server that could not write stores nothing more until it restarts. Its copy of a stream may then stay behind for good, unnoticed, and
  // replace the others' once it leads. So the server restarts without copies, and gets them from the others (`infra/operations/runbook.md`).
  // Until it has them, the bus cannot do without another server (`calm`).
  await cluster.process(server).stop();
  rmSync(join(cluster.folder, server, 'jetstream'), { recursive: true });
  await cluster.restart(server);
}

async function fill(
  { disks }: Ground,
  names: readonly string[],
  meanwhile: () => Promise<void>,
): Promise<void> {
  const owned = must(disks, 'disks');
  // Refills continuously; otherwise a program would get back the space that it frees.
  const refill = setInterval(() => {
    for (const name of names) owned.fill(name);
  }, 50);
  try {
    for (const name of names) {
      await until(`the disk of ${name} is full`, async () => {
        owned.fill(name);
        return owned.freeBytes(name) < 1_048_576;
      });
    }
    await meanwhile();
  } finally {
    clearInterval(refill);
    for (const name of names) owned.empty(name);
  }
}

/** Number of inserts that the processors retried. */
async function retries(cluster: Cluster): Promise<number> {
  const counts = await Promise.all(
    PROCESSORS.map((processor) => cluster.metric(processor, 'footfall_processor_flush_retries_total')),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
