import { expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Buckets } from './walk.ts';

const seed = Number(process.env.SEED ?? 20_261_124);

test('a time is in the bucket of the last edge that is not above it, whatever was asked before', () => {
  const seeded = new SeededRandom(seed);
  for (const count of [1, 2, 10]) {
    const edges = Array.from({ length: count }, (_, place) => 100 * place + seeded.below(100));
    const buckets = new Buckets(edges);
    for (let round = 0; round < 1_000; round += 1) {
      const atMs = seeded.integer(-50, 100 * count + 50);
      const expected = edges.findLastIndex((edge) => edge <= atMs);
      expect(buckets.of(atMs), `${atMs} in ${edges.join()}`).toBe(Math.max(0, expected));
    }
  }
});
