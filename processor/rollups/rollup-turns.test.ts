import { expect, test } from 'vitest';
import { RollupTurns } from './rollup-turns.ts';

/** Works that end when a test says so; `order` has their beginnings and ends. */
function world() {
  const turns = new RollupTurns();
  const order: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async () => {
    order.push(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    order.push(`${name}.`);
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { turns, order, work, end };
}

test('an erasure that waits comes before the next step, whatever came first', async () => {
  const { turns, order, work, end } = world();
  const all = [
    turns.step(work('step 1')),
    turns.step(work('step 2')),
    turns.erase(work('erasure 1')),
    turns.erase(work('erasure 2')),
  ];
  for (const name of ['step 1', 'erasure 1', 'erasure 2', 'step 2']) await end(name);
  await Promise.all(all);
  const expected = ['step 1', 'erasure 1', 'erasure 2', 'step 2'];
  expect(order).toEqual(expected.flatMap((name) => [name, `${name}.`]));
});

test('a pass that asks for its next step lets an erasure go first', async () => {
  const { turns, order, work, end } = world();
  const pass = (async () => {
    for (const step of [1, 2, 3]) await turns.step(work(`step ${step}`));
  })();
  const erasure = turns.erase(work('erasure'));
  for (const name of ['step 1', 'erasure', 'step 2', 'step 3']) await end(name);
  await Promise.all([pass, erasure]);
  expect(order.filter((name) => !name.endsWith('.'))).toEqual(['step 1', 'erasure', 'step 2', 'step 3']);
});

test('an error passes the turn on', async () => {
  const { turns } = world();
  const failing = turns.step(async () => {
    throw new Error('the store is away');
  });
  const next = turns.erase(async () => 'erased');
  await expect(failing).rejects.toThrow('the store is away');
  expect(await next).toBe('erased');
  expect(await turns.step(async () => 'rolled up')).toBe('rolled up');
});
