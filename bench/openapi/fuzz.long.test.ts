import { test } from 'vitest';
import { expectDescribedAnswers, FuzzGround } from './fuzz-ground.ts';

const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? 12_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);

test('requests made only from the document: every answer is as the document says', async () => {
  await using ground = await FuzzGround.open();
  await expectDescribedAnswers(ground, { seed: SEED, requests: REQUESTS });
}, 900_000);
