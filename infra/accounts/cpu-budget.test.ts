import { expect, test } from 'vitest';
import { Metrics } from '../metrics.ts';
import { CPU_OWNERS_MAX, CPU_WINDOW_MS, CpuBudget, isBusyAt, REJECTED_CPU_MAX_MS } from './cpu-budget.ts';

/** A budget whose clock moves by the work that the test names. */
function budgeted() {
  let nowMs = 0;
  const metrics = new Metrics();
  const budget = new CpuBudget({ metrics, service: 'test', nowMs: () => nowMs });
  const work = (owner: string, ms: number) => {
    const begunMs = budget.begin();
    nowMs += ms;
    budget.count(owner, begunMs);
  };
  const rejected = (network: string, ms: number) => {
    const begunMs = budget.begin();
    nowMs += ms;
    budget.countRejected(network, begunMs);
  };
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { budget, metrics, work, rejected, pass };
}

test('an owner alone may use everything', () => {
  const { budget, work } = budgeted();
  work('alone', 4_900);
  expect(budget.refuses('alone')).toBe(false);
});

test('beside others, the one above its share is refused first, and they are not', () => {
  const { budget, work, metrics } = budgeted();
  work('heavy', 3_000);
  work('middle', 500);
  for (let index = 0; index < 50; index += 1) work(`light ${index}`, 5);
  expect(budget.refuses('heavy')).toBe(true);
  expect(['middle', 'light 1', 'never seen'].map((owner) => budget.refuses(owner))).toEqual([
    false,
    false,
    false,
  ]);
  expect(metrics.expose()).toContain('cpu_refusals_total{service="test",reason="share"} 1\n');
});

test('owners that want the same are treated the same', () => {
  const { budget, work } = budgeted();
  for (const owner of ['a', 'b', 'c', 'd']) work(owner, 1_000);
  expect(new Set(['a', 'b', 'c', 'd'].map((owner) => budget.refuses(owner))).size).toBe(1);
});

test('a process that is busy with something else refuses no requests', () => {
  const { budget, work } = budgeted();
  work('heavy', 1_500);
  work('light', 300);
  expect(budget.refuses('heavy')).toBe(false);
});

test('work is forgotten after two halves of the window', () => {
  const { budget, work, pass } = budgeted();
  work('heavy', 3_000);
  work('light', 300);
  expect(budget.refuses('heavy')).toBe(true);
  pass(CPU_WINDOW_MS / 2);
  expect(budget.refuses('heavy')).toBe(true);
  pass(CPU_WINDOW_MS / 2);
  expect(budget.refuses('heavy')).toBe(false);
});

test('an owner with little work is never refused, however many there are', () => {
  const { budget, work } = budgeted();
  for (let index = 0; index < 1_000; index += 1) work(`owner ${index}`, 3);
  work('busier', 190);
  expect(budget.refuses('busier')).toBe(false);
});

test('rejected requests have a limit of their own for each network', () => {
  const { budget, rejected, work, pass } = budgeted();
  work('client', 2_000);
  rejected('guesser', REJECTED_CPU_MAX_MS / 2);
  expect(budget.refusesRejected('guesser')).toBe(false);
  rejected('guesser', REJECTED_CPU_MAX_MS / 2);
  expect([budget.refusesRejected('guesser'), budget.refusesRejected('other')]).toEqual([true, false]);
  expect(budget.refuses('guesser')).toBe(false);
  pass(CPU_WINDOW_MS);
  expect(budget.refusesRejected('guesser')).toBe(false);
});

test('a flood of owners takes bounded memory, and does not hide the one with the most work', () => {
  const { budget, work } = budgeted();
  work('heavy', 2_000);
  for (let index = 0; index < 3 * CPU_OWNERS_MAX; index += 1) work(`flood ${index}`, 0.1);
  expect(budget.owners).toBeLessThanOrEqual(CPU_OWNERS_MAX);
  expect(budget.refuses('heavy')).toBe(true);
});

test('a process is busy once requests wait', () => {
  expect([isBusyAt(0), isBusyAt(249), isBusyAt(250)]).toEqual([false, false, true]);
});
