import { expect } from 'vitest';
import type { ChaosFault } from './fault.ts';
import { runChaos } from './run.ts';

/** Lets each of these faults happen once under load. Expects that nothing is lost and nothing counts twice. */
export async function expectOneRound(seed: number, wanted: readonly ChaosFault[]): Promise<void> {
  const lines: string[] = [];
  const report = await runChaos({
    seed,
    faults: wanted,
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
    Object.fromEntries(wanted.filter(({ name }) => !(name in leftOut)).map(({ name }) => [name, 1])),
  );
  // The faults hit the load: some events had to be sent again.
  expect(resent).toBeGreaterThan(0);
}
