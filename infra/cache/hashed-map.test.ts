import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HashedMap } from './hashed-map.ts';

// Few keys that crowd at both ends of the range, so that searches run into each other and around the end.
const half = fc.oneof(
  fc.integer({ min: 0, max: 5 }),
  fc.integer({ min: 0xffff_fffa, max: 0xffff_ffff }),
  fc.nat(0xffff_ffff),
);
const step = fc.record({
  high: half,
  low: fc.integer({ min: 0, max: 3 }),
  value: fc.integer({ min: 1, max: 65_535 }),
  removes: fc.boolean(),
});

test('holds what a Map holds, whatever is added, replaced and removed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const map = new HashedMap(1_000);
      const model = new Map<string, number>();
      for (const { high, low, value, removes } of steps) {
        const key = `${high} ${low}`;
        if (removes) expect(map.delete(high, low)).toBe(model.delete(key));
        else {
          map.set(high, low, value);
          model.set(key, value);
        }
        expect(map.get(high, low)).toBe(model.get(key) ?? 0);
      }
      const entries = new Map<string, number>();
      map.visit((high, low, value) => entries.set(`${high} ${low}`, value));
      expect(entries).toEqual(model);
      expect(map.size).toBe(model.size);
    }),
  );
});

test('grows, at 19 bytes an entry at most, and takes no more entries than its maximum', () => {
  const max = 50_000;
  const map = new HashedMap(max);
  const highOf = (index: number) => Math.imul(index, 0x9e3779b1) >>> 0;
  let bytesMax = 0;
  for (let index = 0; index < max; index += 1) {
    map.set(highOf(index), index, 1 + (index % 65_535));
    if (index >= 1_000) bytesMax = Math.max(bytesMax, map.bytes / map.size);
  }
  expect(bytesMax).toBeLessThan(19);
  expect(map.set(1, 1, 1)).toBe(false);
  expect([map.get(1, 1), map.size]).toEqual([0, max]);
  expect(map.set(highOf(7), 7, 9)).toBe(true);
  let wrong = 0;
  for (let index = 8; index < max; index += 1)
    if (map.get(highOf(index), index) !== 1 + (index % 65_535)) wrong += 1;
  expect(wrong).toBe(0);
  expect(map.get(highOf(7), 7)).toBe(9);
});

test('makes room at once for as many as are expected', () => {
  const map = new HashedMap(100_000, 10_000);
  const { bytes } = map;
  for (let index = 0; index < 10_000; index += 1) map.set(Math.imul(index, 0x9e3779b1) >>> 0, 0, 1);
  expect([map.bytes, map.size]).toEqual([bytes, 10_000]);
});
