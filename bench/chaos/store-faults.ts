import { setTimeout as wait } from 'node:timers/promises';
import type { Cluster } from '../cluster/cluster.ts';
import { type ChaosFault, kill } from './fault.ts';
import { type Ground, STORE, until } from './ground.ts';

const RELAY = 'store-relay';
const TRIES_MAX = 5;

/** Failures between an insert and its answer. The relay before the store sees both. */
export const STORE_FAULTS: readonly ChaosFault[] = [
  {
    name: 'the store dies before it has all of an insert',
    happen: async (ground) => {
      if (!(await killAtInsert(ground, 'hold'))) throw new Error('the store answered half an insert');
    },
  },
  {
    name: 'the store dies while it does an insert',
    happen: async (ground) => {
      for (let tries = 0; tries < TRIES_MAX; tries += 1) if (await killAtInsert(ground, 'tell')) return;
      throw new Error(`the store was faster than its end, ${TRIES_MAX} times`);
    },
  },
  {
    name: 'the store does an insert, and its answer is lost',
    isInTest: true,
    happen: async ({ cluster, random }) => {
      const inserts = random.integer(1, 4);
      for (let insert = 0; insert < inserts; insert += 1) {
        const lost = linesOf(cluster, 'lost 200');
        cluster.process(RELAY).tell('lose');
        await until('an answer is lost', async () => linesOf(cluster, 'lost 200') > lost);
      }
    },
  },
];

/** Kills the store at the next insert of events; resolves with whether it died without an answer. */
async function killAtInsert({ cluster, random }: Ground, order: 'hold' | 'tell'): Promise<boolean> {
  const line = `insert ${order}`;
  const [inserts, answers] = [linesOf(cluster, line), linesOf(cluster, 'answered')];
  cluster.process(RELAY).tell(order);
  await until('an insert begins', async () => linesOf(cluster, line) > inserts);
  await kill(cluster, STORE);
  await wait(random.integer(0, 1_000));
  const isUnanswered = linesOf(cluster, 'answered') === answers;
  await cluster.restart(STORE);
  return isUnanswered;
}

/** Number of lines of the relay's log that begin with `start`. */
function linesOf(cluster: Cluster, start: string): number {
  return cluster
    .process(RELAY)
    .log()
    .split('\n')
    .filter((line) => line.startsWith(start)).length;
}
