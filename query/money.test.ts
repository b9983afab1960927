import { expect, test } from 'vitest';
import { majorUnits } from './money.ts';

test.each([
  [1234n, 'USD', 12.34],
  [-5n, 'EUR', -0.05],
  [1234n, 'JPY', 1234],
  [1234n, 'KWD', 1.234],
  [12345n, 'CLF', 1.2345],
  [29n, 'AFN', 0.29],
  [1_000_000_000_000_001n, 'USD', 10_000_000_000_000.01],
])('%s minor units of %s are %s', (minorUnits, currency, expected) => {
  expect(majorUnits(minorUnits, currency)).toBe(expected);
});
