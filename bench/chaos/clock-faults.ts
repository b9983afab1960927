import { setTimeout as wait } from 'node:timers/promises';
import { must } from '../../infra/assert.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { ChaosFault } from './fault.ts';
import { calm, FIRST_LANE, type Ground, owns, placesOf, until, untilTaken, WEB } from './ground.ts';

const WRONG_MS = 600_000;
/** Seconds from which a clock counts as wrong: a list of open sessions is some seconds old in any case. */
const SHOWN_S = 500;
const EVENTS_MEANWHILE = 300;

/** Clocks that are ten minutes wrong from the start, or jump while a process runs. */
export const CLOCK_FAULTS: readonly ChaosFault[] = [
  {
    name: "a collector's clock is ten minutes wrong",
    needs: 'clocks',
    happen: async (ground) => {
      const { random } = ground;
      const host = random.one(WEB);
      await withClock(ground, host, aheadOf(ground), async (aheadMs) => {
        await untilShown(ground.cluster, host, aheadMs);
        await untilTaken(ground.traffic, EVENTS_MEANWHILE);
      });
    },
  },
  {
    name: "a collector's clock jumps, and jumps back",
    needs: 'clocks',
    happen: async (ground) => {
      const { cluster, clocks, random, traffic } = ground;
      const host = random.one(WEB);
      const aheadMs = aheadOf(ground);
      await withClock(ground, host, 0, async () => {
        must(clocks, 'clocks').set(host, aheadMs);
        await untilShown(cluster, host, aheadMs);
        await untilTaken(traffic, EVENTS_MEANWHILE);
        must(clocks, 'clocks').set(host, 0);
        await untilShown(cluster, host, 0);
        await untilTaken(traffic, EVENTS_MEANWHILE);
      });
    },
  },
  {
    name: "the owner's clock is ten minutes wrong, and it hands over to one whose clock is right",
    needs: 'clocks',
    happen: async (ground) => {
      const { cluster, traffic } = ground;
      const { owner, other } = await placesOf(cluster);
      const aheadMs = aheadOf(ground);
      await withClock(ground, other, aheadMs, async () => {
        await cluster.process(owner).stop();
        await untilOwnerShown(cluster, aheadMs);
        await untilTaken(traffic, EVENTS_MEANWHILE);
        await cluster.restart(owner);
        await calm(cluster);
      });
      await untilOwnerShown(cluster, 0);
    },
  },
  {
    name: "the owner's clock jumps, and jumps back",
    needs: 'clocks',
    happen: async (ground) => {
      const { cluster, clocks, traffic } = ground;
      const { owner, other } = await placesOf(cluster);
      const aheadMs = aheadOf(ground);
      await withClock(ground, other, 0, async () => {
        await cluster.process(owner).stop();
        await until('the other one owns the first lane', () => owns(cluster, other));
        await cluster.restart(owner);
        await calm(cluster);
        must(clocks, 'clocks').set(other, aheadMs);
        await untilOwnerShown(cluster, aheadMs);
        await untilTaken(traffic, EVENTS_MEANWHILE);
        await wait(ground.random.integer(0, 6_000));
        must(clocks, 'clocks').set(other, 0);
        await untilOwnerShown(cluster, 0);
        await untilTaken(traffic, EVENTS_MEANWHILE);
        // The lane still has its owner: no clock decides about that.
        if ((await placesOf(cluster)).owner !== other) throw new Error(`${other} lost the lane by its clock`);
      });
    },
  },
];

function aheadOf({ random }: Ground): number {
  return random.chance(0.5) ? WRONG_MS : -WRONG_MS;
}

/** Restarts a process with a clock that can be set, and without it in the end. */
async function withClock(
  { cluster, clocks }: Ground,
  name: string,
  aheadMs: number,
  meanwhile: (aheadMs: number) => Promise<void>,
): Promise<void> {
  const owned = must(clocks, 'clocks');
  owned.set(name, aheadMs);
  await cluster.restart(name, owned.env(name));
  await meanwhile(aheadMs);
  await cluster.restart(name);
  owned.forget(name);
}

/** Waits until a host shows by how much its clock differs from the owner's: a list that came just now has that age. */
async function untilShown(cluster: Cluster, host: string, aheadMs: number): Promise<void> {
  const name = 'ingest_open_sessions_age_seconds';
  await until(`the clock of ${host} is ${aheadMs} ms ahead`, async () => {
    const loaded = await cluster.metric(host, 'ingest_open_sessions_loaded');
    return loaded > 0 && Math.sign(aheadMs) === wrongness(await cluster.metric(host, name));
  });
}

/** Waits until the owner, which has just written a checkpoint, shows by how much its clock differs from ours. */
async function untilOwnerShown(cluster: Cluster, aheadMs: number): Promise<void> {
  const name = 'footfall_processor_checkpoint_time_seconds';
  await until(`the owner's clock is ${aheadMs} ms ahead`, async () => {
    const { owner } = await placesOf(cluster);
    return (
      Math.sign(aheadMs) === wrongness((await cluster.metric(owner, name, FIRST_LANE)) - Date.now() / 1_000)
    );
  });
}

/** The sign of a difference between clocks, 0 for one that may be mere delay. */
function wrongness(seconds: number): number {
  return Math.abs(seconds) < SHOWN_S ? 0 : Math.sign(seconds);
}
