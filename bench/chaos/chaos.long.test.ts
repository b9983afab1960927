import { test } from 'vitest';
import { FAULTS } from './faults.ts';
import { expectOneRound } from './one-round.ts';

const SEED = Number(process.env.CHAOS_SEED ?? 20_261_126);

test(`every fault once, under load: nothing is lost and nothing counts twice (CHAOS_SEED=${SEED})`, async () => {
  await expectOneRound(SEED, FAULTS);
}, 1_800_000);
