import { expect, test } from 'vitest';
import { foundBefore } from './found-before.ts';
import { Ground } from './ground.ts';
import { hunt, shownFinding } from './hunt.ts';
import { planOf } from './plan.ts';

// A sample of `hostile.long.test.ts`.
const DURATION_MS = 25_000;
const SEED = 20_261_128;
const FINDINGS_MAX = 12;

test('hostile requests cost little, end no process, stop no lane, and get answers that are described', async () => {
  const { findings, sent } = await hunt({
    open: () => Ground.open(),
    always: ({ law, sources }) => foundBefore(law, sources),
    plan: ({ law }) => planOf(law, SEED),
    durationMs: DURATION_MS,
    findingsMax: FINDINGS_MAX,
    say: (line) => process.stdout.write(`${line}\n`),
  });
  expect(findings.map(shownFinding)).toEqual([]);
  expect(sent).toBeGreaterThan(100);
}, 600_000);
