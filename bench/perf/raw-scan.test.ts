import { expect, test } from 'vitest';
import { agrees } from './raw-scan.ts';

const rowsOf = (visitors: number, sessions = 7) => [{ name: 'Search', sessions, visitors }];

test('an answer agrees with the raw scan if every figure is the same', () => {
  expect(agrees('referrer_name', rowsOf(5), rowsOf(5))).toBe(true);
  expect(agrees('referrer_name', rowsOf(5), rowsOf(5, 8))).toBe(false);
  expect(agrees('referrer_name', rowsOf(5), rowsOf(6))).toBe(false);
  expect(agrees('referrer_name', rowsOf(5), [...rowsOf(5), ...rowsOf(5)])).toBe(false);
});

test('an answer may miss a visitor or two of many millions, and never has one too many', () => {
  expect(agrees('referrer_name', rowsOf(15_999_999), rowsOf(16_000_000))).toBe(true);
  expect(agrees('referrer_name', rowsOf(15_999_990), rowsOf(16_000_000))).toBe(false);
  expect(agrees('referrer_name', rowsOf(16_000_001), rowsOf(16_000_000))).toBe(false);
  expect(agrees('referrer_name', rowsOf(999_999), rowsOf(1_000_000))).toBe(false);
});
