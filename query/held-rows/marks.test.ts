import { expect, test } from 'vitest';
import { SeededRandom } from '../../ingest/testing/random.ts';
import { Grouping, Marks } from './marks.ts';

const seed = Number(process.env.SEED ?? 20_261_125);

test('marks count different codes since they were cleared, while there come to be more codes', () => {
  const seeded = new SeededRandom(seed);
  const marks = new Marks();
  for (let round = 1; round < 200; round += 1) {
    const codes = 40 * round;
    marks.clear(codes);
    const asked = Array.from({ length: 100 }, () => seeded.below(codes));
    expect(asked.filter((code) => marks.isNew(code))).toEqual([...new Set(asked)]);
  }
});

test('items are sorted by group and keep their order', () => {
  const seeded = new SeededRandom(seed + 1);
  const grouping = new Grouping();
  // Falls again at the end, where numbers that an earlier computation left in memory must not count.
  for (const groups of [1, 3, 50, 2_000, 50, 3]) {
    const items = Int32Array.from({ length: 40 }, () => seeded.below(1_000));
    const groupOf = Int32Array.from(items, () => seeded.below(groups));
    const itemsOf = grouping.sort(items, groupOf, groups);
    for (let group = 0; group < groups; group += 1)
      expect(itemsOf(group)).toEqual(items.filter((_, place) => groupOf[place] === group));
  }
});
