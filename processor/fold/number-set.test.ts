import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberSet } from './number-set.ts';

test('loses what is deleted, and nothing else', () => {
  const numbers = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(numbers, numbers, (added, deleted) => {
      const set = new Set(added);
      const numberSet = new NumberSet();
      for (const value of added) numberSet.add(value);
      for (const value of deleted) expect(numberSet.delete(value)).toBe(set.delete(value));
      expect(numberSet.size).toBe(set.size);
      expect(numberSet.values().sort((a, b) => a - b)).toEqual([...set].sort((a, b) => a - b));
      for (const value of added) expect(numberSet.add(value)).toBe(set.size !== set.add(value).size);
    }),
  );
});

test('holds what a Set holds, and says whether a number was there', () => {
  const numbers = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 2 ** 32 - 1 })),
    {
      maxLength: 400,
    },
  );
  fc.assert(
    fc.property(numbers, (added) => {
      const set = new Set<number>();
      const numberSet = new NumberSet();
      for (const value of added) {
        expect(numberSet.add(value)).toBe(!set.has(value));
        set.add(value);
        expect(numberSet.size).toBe(set.size);
      }
      for (const value of added) expect(numberSet.has(value)).toBe(true);
      expect(numberSet.has(2 ** 32)).toBe(false);
      expect(numberSet.values().sort((a, b) => a - b)).toEqual([...set].sort((a, b) => a - b));
    }),
  );
});
