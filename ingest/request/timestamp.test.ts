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
  [1_700_000_000, 1_700_000_000_000],
  ['1700000000', 1_700_000_000_000],
  [1_700_000_000.123, 1_700_000_000_123],
  ['1700000000.123456', 1_700_000_000_123],
  [100_000_000, Date.UTC(1973, 2, 3, 9, 46, 40)],
  [100_000_000_000, Date.UTC(1973, 2, 3, 9, 46, 40)],
  [7_258_118_399, Date.UTC(2199, 11, 31, 23, 59, 59)],
  [7_258_118_399_999, Date.UTC(2199, 11, 31, 23, 59, 59, 999)],
  ['1970-01-01', 0],
  // Neither seconds nor milliseconds of a time that an event can have.
  [0, undefined],
  [5, undefined],
  ['20240229', undefined],
  [99_999_999, undefined],
  [7_258_118_400, undefined],
  [99_999_999_999, undefined],
  [7_258_118_400_000, undefined],
  [1_700_000_000_000_000, undefined],
  ['1700000000000000', undefined],
  ['2024', undefined],
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
    }),
  );
});

test('a number reads alike in milliseconds and in seconds, as a number and as text', () => {
  fc.assert(
    fc.property(fc.integer({ min: 100_000_000_000, max: 7_258_118_399_999 }), (ms) => {
      for (const value of [ms, String(ms), ms / 1000, (ms / 1000).toFixed(3)])
        expect(parseInstant(value)).toBe(ms);
    }),
  );
});
