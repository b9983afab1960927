import { setTimeout as wait } from 'node:timers/promises';
import { assert, must } from '../../infra/assert.ts';
import { type ChaosFault, pairOf } from './fault.ts';
import {
  BUS,
  busAddress,
  type Ground,
  isReady,
  leaderOf,
  owns,
  PROCESSORS,
  placesOf,
  presentLeader,
  STORE,
  until,
  WEB,
} from './ground.ts';
import type { PrivateNetwork } from './network.ts';

const KILOBITS = [150, 300, 600] as const;

/** Networks that are cut, lose packets in one direction, fall into parts, and are slow. */
export const NETWORK_FAULTS: readonly ChaosFault[] = [
  {
    name: 'a server of the bus is cut off',
    needs: 'network',
    happen: (ground) => cutBusServer(ground, ground.random.one(BUS)),
  },
  {
    name: 'the leader of the bus is cut off, and another one leads',
    needs: 'network',
    happen: async (ground) => {
      const { cluster } = ground;
      const leader = await presentLeader(cluster);
      const others = BUS.filter((server) => server !== leader);
      await cutBusServer(ground, leader, async () => {
        await until('another one leads the bus', async () => {
          const now = await leaderOf(cluster, others);
          return now !== undefined && now !== leader;
        });
      });
    },
  },
  {
    name: 'two servers of the bus lose each other, and the third has both',
    needs: 'network',
    happen: async ({ cluster, random, network }) => {
      const net = must(network, 'a network');
      const [first, second] = pairOf(BUS, random);
      const portOf = (server: typeof first) => Number(busAddress(cluster, server).port);
      net.separate([first, second]);
      try {
        assert(!net.reaches(first, second, portOf(second)), `${first} does not reach ${second}`);
        const third = must(
          BUS.find((server) => server !== first && server !== second),
          'a third server',
        );
        assert(net.reaches(first, third, portOf(third)), `${first} reaches ${third}`);
        await wait(random.integer(2_000, 12_000));
      } finally {
        net.unite([first, second]);
      }
    },
  },
  {
    name: 'all servers of the bus lose each other',
    needs: 'network',
    happen: async ({ cluster, random, network }) => {
      const net = must(network, 'a network');
      net.separate(BUS);
      try {
        const [first, second] = BUS;
        assert(
          !net.reaches(first, second, Number(busAddress(cluster, second).port)),
          `${first} reaches ${second}`,
        );
        await wait(random.integer(2_000, 10_000));
      } finally {
        net.unite(BUS);
      }
    },
  },
  {
    name: 'the owner loses the bus and keeps the store, the other one takes over, and the owner is fenced',
    needs: 'network',
    happen: async ({ cluster, random, network }) => {
      const net = must(network, 'a network');
      const { owner, other } = await placesOf(cluster);
      const before = await cluster.metric(owner, 'footfall_processor_fencings_total');
      // Either way the bus hears no more from it, or it hears no more from the bus: a connection needs both.
      const isDeaf = random.chance(0.5);
      loseBus(net, owner, isDeaf);
      try {
        await until('the other one owns the first lane', () => owns(cluster, other));
        await wait(random.integer(0, 3_000));
      } finally {
        findBus(net, owner, isDeaf);
      }
      const fencings = () => cluster.metric(owner, 'footfall_processor_fencings_total');
      await until('it is fenced', async () => (await fencings()) > before);
    },
  },
  {
    name: 'the owner is cut off from everything, and comes back',
    needs: 'network',
    happen: async ({ cluster, network }) => {
      const net = must(network, 'a network');
      const { owner, other } = await placesOf(cluster);
      const before = await cluster.metric(owner, 'footfall_processor_fencings_total');
      net.cut(owner);
      try {
        await until('the other one owns the first lane', () => owns(cluster, other));
      } finally {
        net.join(owner);
      }
      const fencings = () => cluster.metric(owner, 'footfall_processor_fencings_total');
      await until('it is fenced', async () => (await fencings()) > before);
    },
  },
  {
    name: 'a collector loses the bus, which is its way to the processors, and says so',
    needs: 'network',
    happen: async ({ cluster, random, network }) => {
      const net = must(network, 'a network');
      const host = random.one(WEB);
      const isDeaf = random.chance(0.5);
      loseBus(net, host, isDeaf);
      try {
        await until(`${host} says that it is not ready`, async () => !(await isReady(cluster, host)));
        await wait(random.integer(0, 5_000));
      } finally {
        findBus(net, host, isDeaf);
      }
    },
  },
  {
    name: 'the network of a server of the bus is slow',
    needs: 'network',
    happen: (ground) => slow(ground, [ground.random.one(BUS)], ground.random.one(KILOBITS)),
  },
  {
    name: 'the network of the whole bus is slow',
    needs: 'network',
    happen: (ground) => slow(ground, BUS, 2 * ground.random.one(KILOBITS)),
  },
  {
    name: 'the network of a processor is slow',
    needs: 'network',
    happen: (ground) => slow(ground, [ground.random.one(PROCESSORS)], ground.random.one(KILOBITS)),
  },
  {
    name: 'the store is unreachable',
    needs: 'network',
    happen: async ({ cluster, random, network }) => {
      const net = must(network, 'a network');
      net.cut(STORE);
      try {
        const { port } = new URL(cluster.storeUrl);
        assert(!net.reaches(random.one(PROCESSORS), STORE, Number(port)), 'the store is not reached');
        await wait(random.integer(1_000, 8_000));
      } finally {
        net.join(STORE);
      }
    },
  },
];

async function cutBusServer(
  { cluster, random, network }: Ground,
  server: (typeof BUS)[number],
  meanwhile?: () => Promise<void>,
): Promise<void> {
  const net = must(network, 'a network');
  const port = Number(busAddress(cluster, server).port);
  net.cut(server);
  try {
    for (const from of [random.one(WEB), random.one(PROCESSORS)])
      assert(!net.reaches(from, server, port), `${from} does not reach ${server}`);
    await meanwhile?.();
    await wait(random.integer(0, 8_000));
  } finally {
    net.join(server);
  }
}

/** Deaf: it hears nothing from the bus. Otherwise the bus does not hear it. */
function loseBus(net: PrivateNetwork, name: string, isDeaf: boolean): void {
  if (isDeaf) for (const server of BUS) net.lose(server, [name]);
  else net.lose(name, BUS);
}

function findBus(net: PrivateNetwork, name: string, isDeaf: boolean): void {
  if (isDeaf) for (const server of BUS) net.deliver(server, [name]);
  else net.deliver(name, BUS);
}

async function slow({ random, network }: Ground, names: readonly string[], kilobits: number): Promise<void> {
  const net = must(network, 'a network');
  const queueMs = random.integer(200, 3_000);
  for (const name of names) net.slow(name, { kilobits, queueMs });
  try {
    await wait(random.integer(4_000, 12_000));
    await until('packets have to wait', async () => names.some((name) => net.waited(name) > 0));
  } finally {
    for (const name of names) net.quicken(name);
  }
}
