import { expect, test } from 'vitest';
import { Notify } from '../../infra/concurrency/notify.ts';
import type { BackedLane } from '../backups.ts';
import { type HeldLane, LaneHold, type Standing } from './lane-hold.ts';

const BACKUP = 'aaaaaaaa';
const AT: BackedLane = { flushNumber: 7, clockMs: 1_000 };

/** Entities or events that anyone may stop. */
class StandingPart implements Standing {
  readonly #stop = new Notify();
  isStopping = false;
  /** Amount of its work in progress. */
  standing = 0;

  sleep(ms: number): Promise<void> {
    return this.#stop.sleep(ms);
  }

  stop(): void {
    this.isStopping = true;
    this.#stop.end();
  }

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.isStopping) throw new Error('it stops');
    this.standing += 1;
    return work().finally(() => {
      this.standing -= 1;
    });
  }
}

function laneOf(maxMs = 60_000) {
  const [entities, events] = [new StandingPart(), new StandingPart()];
  const owner = { isLost: false };
  const lane: HeldLane = {
    entitiesAtRest: (work) => entities.during(() => work(entities)),
    eventsAtRest: (work) => events.during(() => work(events, AT)),
    confirm: async () => {
      if (owner.isLost) throw new Error('another process owns the lane');
    },
  };
  return { entities, events, owner, hold: new LaneHold(lane, maxMs) };
}

/** A lane whose entities and events are held. */
async function held(maxMs?: number) {
  const parts = laneOf(maxMs);
  await parts.hold.rest(BACKUP);
  expect(await parts.hold.hold(BACKUP)).toEqual(AT);
  return parts;
}

test('a lane stands still from its rest to its release', async () => {
  const { entities, events, hold } = laneOf();
  expect(await hold.hold(BACKUP)).toBeUndefined();
  await hold.rest(BACKUP);
  expect([entities.standing, events.standing, hold.isHeld(BACKUP)]).toEqual([1, 0, false]);
  expect(await hold.hold(BACKUP)).toEqual(AT);
  expect([entities.standing, events.standing, hold.isHeld(BACKUP)]).toEqual([1, 1, true]);
  expect(hold.isHeld('bbbbbbbb')).toBe(false);
  expect(await hold.release('bbbbbbbb')).toBe(false);
  expect(await hold.release(BACKUP)).toBe(true);
  expect([entities.standing, events.standing, hold.isHeld(BACKUP)]).toEqual([0, 0, false]);
  expect(await hold.release(BACKUP)).toBe(false);
});

test('entities alone are no hold', async () => {
  const { entities, hold } = laneOf();
  await hold.rest(BACKUP);
  expect(await hold.release(BACKUP)).toBe(false);
  expect(entities.standing).toBe(0);
});

test.each(['entities', 'events'] as const)(
  'a lane whose %s stop has not stood still, and stops at once',
  async (which) => {
    const { hold, ...parts } = await held();
    parts[which].stop();
    await expect.poll(() => parts.entities.standing + parts.events.standing).toBe(0);
    expect(hold.isHeld(BACKUP)).toBe(false);
    expect(await hold.release(BACKUP)).toBe(false);
  },
);

test('a lane that stops before it stands says so', async () => {
  const { events, hold } = laneOf();
  await hold.rest(BACKUP);
  events.stop();
  await expect(hold.hold(BACKUP)).rejects.toThrow('it stops');
  expect(await hold.release(BACKUP)).toBe(false);
});

test('a lane that has another owner has not stood still', async () => {
  const { entities, events, owner, hold } = await held();
  owner.isLost = true;
  expect(await hold.release(BACKUP)).toBe(false);
  await expect.poll(() => entities.standing + events.standing).toBe(0);
});

test('a hold ends by itself, and says so', async () => {
  const { entities, events, hold } = await held(30);
  await expect.poll(() => entities.standing + events.standing).toBe(0);
  expect(await hold.release(BACKUP)).toBe(false);
});

test('another backup ends the hold of the one before', async () => {
  const { entities, events, hold } = await held();
  await hold.rest('bbbbbbbb');
  await expect.poll(() => [entities.standing, events.standing]).toEqual([1, 0]);
  expect(await hold.release(BACKUP)).toBe(false);
  await hold.hold('bbbbbbbb');
  expect(await hold.release('bbbbbbbb')).toBe(true);
});
