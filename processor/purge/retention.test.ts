import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../infra/durations.ts';
import { retainedFromMs } from './retention.ts';

test('retention retains what is younger than the days of the site and removes what is two days older', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 36_500 }),
      fc.integer({ min: Date.UTC(2020), max: Date.UTC(2090) }),
      (days, nowMs) => {
        const fromMs = retainedFromMs(days, nowMs);
        expect(Math.abs(fromMs % DAY_MS)).toBe(0);
        expect(fromMs).toBeLessThanOrEqual(nowMs - days * DAY_MS);
        expect(fromMs).toBeGreaterThan(nowMs - (days + 2) * DAY_MS);
      },
    ),
  );
});

test('at midnight the next day is removed', () => {
  const midnight = Date.UTC(2026, 2, 1);
  expect(retainedFromMs(1, midnight - 1)).toBe(Date.UTC(2026, 1, 26));
  expect(retainedFromMs(1, midnight)).toBe(Date.UTC(2026, 1, 27));
});
