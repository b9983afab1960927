import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newEventId, retryDelayMs } from './delivery.ts';
import { RETRY_MAX_MS } from './limits.ts';

const fraction = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });

test('the delay doubles with each try and varies by half', () => {
  expect([1, 2, 3, 10].map((tries) => retryDelayMs(tries, 0, 0))).toEqual([1000, 2000, 4000, 512_000]);
  expect(retryDelayMs(1, 0, 0.5)).toBe(1250);
});

test('a retry comes after Retry-After and within an hour and a half', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1 }),
      fraction,
      (tries, afterS, random) => {
        const delayMs = retryDelayMs(tries, afterS, random);
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(afterS * 1000, RETRY_MAX_MS));
        expect(delayMs).toBeLessThanOrEqual(RETRY_MAX_MS * 1.5);
      },
    ),
  );
});

test('a Retry-After that is not a number of seconds is ignored', () => {
  expect(retryDelayMs(2, Number('Wed, 21 Oct 2026 07:28:00 GMT'), 0)).toBe(2000);
  expect(retryDelayMs(2, Number(null), 0)).toBe(2000);
});

test('event ids are unique and short enough to be accepted', () => {
  const ids = Array.from({ length: 10_000 }, newEventId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-z]{6,64}$/);
});
