import { expect, test } from 'vitest';
import { foundBefore } from './found-before.ts';
import { Ground } from './ground.ts';
import { hunt, shownFinding } from './hunt.ts';
import { planOf } from './plan.ts';

const SECONDS = Number(process.env.HOSTILE_SECONDS ?? 240);
const SEED = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
const FINDINGS_MAX = Number(process.env.HOSTILE_FINDINGS ?? 200);

test(
  'no request costs more than 50 ms of CPU time or 20 MB, ends the process, or gets an answer that is not described',
  async () => {
    const { findings, sent, skipped, statuses } = await hunt({
      open: () => Ground.open(),
      always: ({ law, sources }) => foundBefore(law, sources),
      plan: ({ law }) => planOf(law, SEED),
      durationMs: SECONDS * 1_000,
      findingsMax: FINDINGS_MAX,
      say: (line) => process.stdout.write(`${line}\n`),
    });
    process.stdout.write(
      `HOSTILE_SEED=${SEED}: ${sent} requests, ${skipped} skipped; ${JSON.stringify([...statuses])}\n`,
    );
    expect(findings.map(shownFinding), `HOSTILE_SEED=${SEED}`).toEqual([]);
  },
  (SECONDS + 300) * 1_000,
);
