import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NumberMap } from './number-map.ts';

test('holds what a Map holds, also after deletions', () => {
  const keys = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 2 ** 52 }));
  const steps = fc.array(fc.tuple(keys, fc.option(fc.nat({ max: 2 ** 52 }))), { maxLength: 400 });
  fc.assert(
    fc.property(steps, (taken) => {
      const map = new Map<number, number>();
      const numberMap = new NumberMap();
      for (const [key, value] of taken) {
        if (value === null) expect(numberMap.delete(key)).toBe(map.delete(key));
        else {
          expect(numberMap.set(key, value)).toBe(!map.has(key));
          map.set(key, value);
        }
        expect(numberMap.size).toBe(map.size);
      }
      for (const [key] of taken) expect(numberMap.get(key)).toBe(map.get(key));
      const values = numberMap.values();
      expect(new Map(numberMap.keys().map((key, index) => [key, values[index]]))).toEqual(map);
    }),
  );
});
