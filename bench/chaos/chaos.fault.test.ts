import { expect, test } from 'vitest';
import { FAULTS } from './faults.ts';
import { runChaos } from './run.ts';

const SEED = Number(process.env.CHAOS_SEED ?? 20_261_126);

test(`every fault once, under load: nothing is lost and nothing counts twice (CHAOS_SEED=${SEED})`, async () => {
  const lines: string[] = [];
  const report = await runChaos({
    seed: SEED,
    enough: (faults) => faults >= FAULTS.length,
    say: (line) => lines.push(line),
  }).catch((error: unknown) => {
    throw new Error(`${lines.join('\n')}\n${error}`);
  });
  const { books, faults, resent } = report;
  expect(books.differences, lines.join('\n')).toEqual([]);
  expect(books.stored).toBe(books.acknowledged);
  expect(faults).toEqual(Object.fromEntries(FAULTS.map(({ name }) => [name, 1])));
  // The faults hit the load: some events had to be sent again.
  expect(resent).toBeGreaterThan(0);
}, 600_000);
