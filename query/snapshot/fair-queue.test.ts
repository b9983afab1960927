import { expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { FairQueue } from './fair-queue.ts';

const LIMITS = { runningMax: 3, siteRunningMax: 2, waitingMax: 6, siteWaitingMax: 4 };

/** Tasks that run until the test ends them, in the order in which they began. */
function tasksOn(queue: FairQueue) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    begun,
    ask: (name: string): Promise<void> =>
      queue.run(name.slice(0, 1), () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      }),
    end: async (name: string): Promise<void> => {
      ends.get(name)?.();
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('a site runs at most its share, and other sites do not wait for it', async () => {
  const { begun, ask, end } = tasksOn(new FairQueue(LIMITS));
  const tasks = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map(ask);
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('b1');
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2']);
  await end('a1');
  expect(begun.at(-1)).toBe('a3');
  for (const name of ['a2', 'a3', 'b2', 'a4']) await end(name);
  await Promise.all(tasks);
  expect(begun).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'a4']);
});

test('a full queue rejects at once, first the site that asks too much', async () => {
  const { ask, end, begun } = tasksOn(new FairQueue(LIMITS));
  const tasks = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map(ask);
  await expect(ask('a7')).rejects.toMatchObject({ reason: 'busy', status: 503 });
  tasks.push(...['b1', 'b2', 'c1'].map(ask));
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await expect(ask('d1')).rejects.toMatchObject({ reason: 'busy', status: 503 });
  while (begun.length < 9) for (const name of begun) await end(name);
  for (const name of begun) await end(name);
  await Promise.all(tasks);
});

test('a task that fails releases its capacity', async () => {
  const queue = new FairQueue({ ...LIMITS, runningMax: 1 });
  await expect(queue.run('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await queue.run('a', () => Promise.resolve(7))).toBe(7);
});

test('limits hold and every task runs, in whatever order tasks end', async () => {
  const seeded = new SeededRandom(7);
  const queue = new FairQueue({ runningMax: 4, siteRunningMax: 2, waitingMax: 1_000, siteWaitingMax: 1_000 });
  const running = new Map<string, number>();
  let done = 0;
  const all = Array.from({ length: 400 }, () => {
    const site = 'abcd'[seeded.below(4)] ?? 'a';
    return queue.run(site, async () => {
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
  expect(queue.waiting).toBe(0);
});
