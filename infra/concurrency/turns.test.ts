import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

/** Steps of a millisecond by a clock of their own; `order` notes each step and other work between turns. */
function stepsBy(turnMs: number) {
  let nowMs = 0;
  const turns = new Turns({ turnMs, nowMs: () => nowMs });
  const order: string[] = [];
  const work = async (name: string, steps: number) => {
    const turn = turns.begin();
    for (let step = 0; step < steps; step += 1) {
      if (turn.isOver()) await turn.next();
      order.push(name);
      nowMs += 1;
    }
  };
  return { turns, order, work };
}

test('work longer than its turn lets the event loop run once for each turn, and keeps the order of its steps', async () => {
  const { order, work } = stepsBy(3);
  const loop = setInterval(() => {}, 1_000);
  const between = () => {
    order.push('|');
    immediate = setImmediate(between);
  };
  let immediate = setImmediate(between);
  await work('a', 8);
  clearImmediate(immediate);
  clearInterval(loop);
  expect(order.join('').replace(/\|+/g, '|')).toBe('aaa|aaa|aa');
});

test('short work stays in its turn', async () => {
  const { order, work } = stepsBy(3);
  const done = work('a', 3);
  expect(order.join('')).toBe('aaa');
  await done;
});

test('only one of several works gets a turn in each round of the event loop, in the order in which they wait', async () => {
  const { order, work, turns } = stepsBy(2);
  const done = [work('a', 6), work('b', 4), work('c', 2)];
  expect(turns.waiting).toBe(2);
  await new Promise((resolve) => setImmediate(resolve));
  // The first round gave one turn; the second work still waits.
  expect(order.join('')).toBe('aabbccaa');
  await Promise.all(done);
  expect(order.join('')).toBe('aabbccaabbaa');
  expect(turns.waiting).toBe(0);
});

test('a work that waited begins a whole turn, however long it waited', async () => {
  let nowMs = 0;
  const turn = new Turns({ turnMs: 3, nowMs: () => nowMs }).begin();
  nowMs = 10;
  expect(turn.isOver()).toBe(true);
  const next = turn.next();
  nowMs = 100;
  await next;
  expect(turn.isOver()).toBe(false);
  nowMs = 103;
  expect(turn.isOver()).toBe(true);
});
