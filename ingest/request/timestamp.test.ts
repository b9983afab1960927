import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseInstant } from './timestamp.ts';

test.each<[unknown, number | undefined]>([
  ['2024-02-29T12:00:00Z', Date.UTC(2024, 1, 29, 12)],
  ['2024-02-29T12:00:00.1234+02:00', Date.UTC(2024, 1, 29, 10, 0, 0, 123)],
  ['2024-02-29 12:00', Date.UTC(2024, 1, 29, 12)],
  ['2024-02-29', Date.UTC(2024, 1, 29)],
  ['1700000000000', 1_700_000_000_000],
  [1_700_000_000_000.7, 1_700_000_000_000],
  ['2023-02-29', undefined],
  ['2024-04-31T00:00:00Z', undefined],
  ['2024-13-01', undefined],
  ['2024-00-10', undefined],
  ['2024-01-01T24:00:00Z', undefined],
  ['2024-01-01T00:00:00+99:00', undefined],
  ['yesterday', undefined],
  ['', undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  [Number.POSITIVE_INFINITY, undefined],
  ['2200-01-01', undefined],
  [8.64e15, undefined],
  [true, undefined],
  [null, undefined],
])('%j is %j', (value, ms) => {
  expect(parseInstant(value)).toBe(ms);
});

test('a time written by Date reads back', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 7_258_118_399_999 }), (ms) => {
      expect(parseInstant(new Date(ms).toISOString())).toBe(ms);
      expect(parseInstant(ms)).toBe(ms);
    }),
  );
});
