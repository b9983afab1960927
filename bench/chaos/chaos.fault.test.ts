import { test } from 'vitest';
import { FAULTS } from './faults.ts';
import { expectOneRound } from './one-round.ts';

// A sample of `chaos.long.test.ts`.
const SEED = Number(process.env.CHAOS_SEED ?? 20_261_126);
const SAMPLE = FAULTS.filter(({ isInTest }) => isInTest === true);

test(`a sample of the faults, under load: nothing is lost and nothing counts twice (CHAOS_SEED=${SEED})`, async () => {
  await expectOneRound(SEED, SAMPLE);
}, 600_000);
