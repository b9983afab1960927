import { expect, test } from 'vitest';
import { FAULTS } from './faults.ts';
import { PROCESS_FAULTS } from './process-faults.ts';
import { runChaos } from './run.ts';

const SEED = Number(process.env.CHAOS_SEED ?? 20_261_126);
// The quick ones: each kind is there, and `npm run chaos` has all.
const TESTED = FAULTS.filter((fault) => fault.isInTest === true || PROCESS_FAULTS.includes(fault));

test(`faults of every kind once, under load: nothing is lost and nothing counts twice (CHAOS_SEED=${SEED})`, async () => {
  const lines: string[] = [];
  const report = await runChaos({
    seed: SEED,
    faults: TESTED,
    enough: (_faults, _elapsedMs, rounds) => rounds === 1,
    say: (line) => lines.push(line),
  }).catch((error: unknown) => {
    throw new Error(`${lines.join('\n')}\n${error}`);
  });
  const { books, faults, leftOut, resent } = report;
  for (const [name, reason] of Object.entries(leftOut))
    process.stdout.write(`left out: ${name}: ${reason}\n`);
  expect(books.differences, lines.join('\n')).toEqual([]);
  expect(books.stored).toBe(books.acknowledged);
  expect(faults).toEqual(
    Object.fromEntries(TESTED.filter(({ name }) => !(name in leftOut)).map(({ name }) => [name, 1])),
  );
  // The faults hit the load: some events had to be sent again.
  expect(resent).toBeGreaterThan(0);
}, 600_000);
