import { setTimeout as wait } from 'node:timers/promises';
import { must } from '../../infra/assert.ts';
import { CRASH_POINTS } from '../../infra/process/crashpoint.ts';
import { admin } from '../faults/admin-command.ts';
import { type ChaosFault, expectEnding, kill } from './fault.ts';
import { BUS, type Ground, lanesOf, owns, PROCESSORS, placesOf, until, WEB } from './ground.ts';

const FLUSH_POINTS = CRASH_POINTS.filter((point) => point.startsWith('flush:'));

/** Processes that are killed, hang, and restart. */
export const PROCESS_FAULTS: readonly ChaosFault[] = [
  {
    name: 'the owner is killed',
    happen: async ({ cluster, random }) => {
      const { owner, other } = await placesOf(cluster);
      await kill(cluster, owner);
      if (random.chance(0.5)) await until('the other one owns the first lane', () => owns(cluster, other));
      await cluster.restart(owner);
    },
  },
  {
    name: 'the other processor is killed',
    happen: async ({ cluster, random }) => {
      const { other } = await placesOf(cluster);
      await kill(cluster, other);
      await wait(random.integer(0, 2_000));
      await cluster.restart(other);
    },
  },
  {
    name: 'the owner hangs for longer than its lease, and goes on',
    isInTest: true,
    happen: async ({ cluster }) => {
      const { owner, other } = await placesOf(cluster);
      const before = await cluster.metric(owner, 'footfall_processor_fencings_total');
      await cluster.process(owner).freeze();
      await until('the other one owns the first lane', () => owns(cluster, other));
      cluster.process(owner).resume();
      const fencings = () => cluster.metric(owner, 'footfall_processor_fencings_total');
      await until('it is fenced', async () => (await fencings()) > before);
    },
  },
  {
    name: 'the owner hands over and is restarted',
    happen: async ({ cluster }) => {
      const { owner, other } = await placesOf(cluster);
      await cluster.process(owner).stop();
      expectEnding(cluster.process(owner).ending, '0');
      await until('the other one owns the first lane', () => owns(cluster, other));
      await cluster.restart(owner);
    },
  },
  {
    name: 'who takes over dies at a step of a flush',
    isInTest: true,
    happen: async ({ cluster, random }) => {
      const { owner, other } = await placesOf(cluster);
      const point = must(FLUSH_POINTS[random.below(FLUSH_POINTS.length)], 'a point');
      await cluster.restart(other, { CRASH_POINT: point });
      await cluster.process(owner).stop();
      await cluster.process(other).gone();
      expectEnding(cluster.process(other).ending, 'SIGKILL');
      await Promise.all(PROCESSORS.map((processor) => cluster.restart(processor)));
    },
  },
  {
    name: 'the service grows to twice as many lanes, and a processor may die of it',
    isInTest: true,
    // Each lane has flushes of its own.
    timesMax: 2,
    happen: async ({ cluster, random }) => {
      const lanes = 2 * (await lanesOf(cluster));
      const growing = admin(cluster, ['lane', 'grow', String(lanes)]);
      growing.catch(() => undefined); // It is awaited below.
      const victim = random.chance(0.5) ? random.one(PROCESSORS) : undefined;
      await wait(random.integer(0, 800));
      if (victim !== undefined) {
        await kill(cluster, victim);
        await cluster.restart(victim);
      }
      await growing;
      await until('it has grown', async () => (await lanesOf(cluster)) === lanes);
    },
  },
  {
    name: 'a collector is killed',
    happen: async ({ cluster, random }) => {
      const host = random.one(WEB);
      await kill(cluster, host);
      await wait(random.integer(0, 1_500));
      await cluster.restart(host);
    },
  },
  {
    name: 'a collector hangs',
    happen: async (ground) => hang(ground, ground.random.one(WEB), 4_000),
  },
  {
    name: 'the store is killed',
    happen: async ({ cluster, random }) => {
      await wait(random.integer(0, 150));
      await kill(cluster, 'store');
      await wait(random.integer(0, 3_000));
      await cluster.restart('store');
    },
  },
  {
    name: 'the store hangs',
    happen: async (ground) => hang(ground, 'store', 6_000),
  },
  {
    name: 'a server of the bus is killed',
    happen: async ({ cluster, random }) => {
      const server = random.one(BUS);
      await kill(cluster, server);
      await wait(random.integer(0, 3_000));
      await cluster.restart(server);
    },
  },
  {
    name: 'a server of the bus hangs',
    happen: async (ground) => hang(ground, ground.random.one(BUS), 5_000),
  },
  {
    name: 'the whole bus is killed',
    isInTest: true,
    happen: async ({ cluster, random }) => {
      await Promise.all(BUS.map((server) => kill(cluster, server)));
      await wait(random.integer(0, 2_000));
      await Promise.all(BUS.map((server) => cluster.restart(server)));
    },
  },
  {
    name: 'owner and store are killed at once',
    happen: async ({ cluster, random }) => {
      const { owner } = await placesOf(cluster);
      await Promise.all([kill(cluster, owner), kill(cluster, 'store')]);
      await wait(random.integer(0, 1_500));
      await Promise.all([cluster.restart(owner), cluster.restart('store')]);
    },
  },
];

/** `freeze` waits until every thread has stopped. */
async function hang({ cluster, random }: Ground, name: string, maxMs: number): Promise<void> {
  await cluster.process(name).freeze();
  await wait(random.integer(200, maxMs));
  cluster.process(name).resume();
}
