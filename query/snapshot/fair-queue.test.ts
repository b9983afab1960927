import { expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { FairQueue } from './fair-queue.ts';

const LIMITS = { runningMax: 3, siteRunningMax: 2, waitingMax: 6, siteWaitingMax: 4 };

/** Things that run until they are told to end, in the order in which they began. */
function stage(turns: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    ask: (name: string): Promise<void> =>
      turns.take(name.slice(0, 1), () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      }),
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('a site has no more running than it may, and what others ask does not wait for it', async () => {
  const { begun, ask, end } = stage(new FairQueue(LIMITS));
  const asked = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map(ask);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
  await end('a1');
  expect(begun.at(-1)).toBe('a3');
  for (const name of ['a2', 'a3', 'b2', 'a4']) await end(name);
  await Promise.all(asked);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4']);
});

test('beyond what may wait it is busy at once, first for the site that asks too much', async () => {
  const { ask, end, begun } = stage(new FairQueue(LIMITS));
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map(ask);
  await expect(ask('a7')).rejects.toMatchObject({ reason: 'busy', status: 503 });
  asked.push(...['b1', 'b2', 'c1'].map(ask));
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await expect(ask('d1')).rejects.toMatchObject({ reason: 'busy', status: 503 });
  while (begun.length < 9) for (const name of begun) await end(name);
  for (const name of begun) await end(name);
  await Promise.all(asked);
});

test('one that fails gives its turn back', async () => {
  const turns = new FairQueue({ ...LIMITS, runningMax: 1 });
  await expect(turns.take('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await turns.take('a', () => Promise.resolve(7))).toBe(7);
});

test('whatever ends when, limits hold and everybody gets a turn', async () => {
  const seeded = new SeededRandom(7);
  const turns = new FairQueue({ runningMax: 4, siteRunningMax: 2, waitingMax: 1_000, siteWaitingMax: 1_000 });
  const running = new Map<string, number>();
  let done = 0;
  const all = Array.from({ length: 400 }, () => {
    const site = 'abcd'[seeded.below(4)] ?? 'a';
    return turns.take(site, async () => {
      running.set(site, (running.get(site) ?? 0) + 1);
      expect(running.get(site)).toBeLessThanOrEqual(2);
      expect([...running.values()].reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(4);
      for (let wait = seeded.below(5); wait > 0; wait -= 1)
        await new Promise((resolve) => setImmediate(resolve));
      running.set(site, (running.get(site) ?? 0) - 1);
      done += 1;
    });
  });
  await Promise.all(all);
  expect(done).toBe(400);
  expect(turns.waiting).toBe(0);
});
