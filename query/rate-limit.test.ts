import { expect, test } from 'vitest';
import { RateLimit } from './rate-limit.ts';

const LIMIT = { requestsMax: 3, windowMs: 10_000 };

test('a key has so many requests in a window, and as many again in the next', () => {
  const limit = new RateLimit(LIMIT);
  const exceeded = [0, 1, 2, 3, 9_999, 10_000].map((atMs) => limit.take('a', atMs).exceeded);
  expect(exceeded).toEqual([false, false, false, true, true, false]);
});

test('keys do not share a window', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 1 });
  expect(limit.take('a', 0).exceeded).toBe(false);
  expect(limit.take('b', 0).exceeded).toBe(false);
  expect(limit.take('a', 0).exceeded).toBe(true);
});

test('headers say the limit, what is left, and when it starts anew, in both spellings', () => {
  const limit = new RateLimit(LIMIT);
  limit.take('a', 0);
  expect(limit.take('a', 2_500).headers).toEqual([
    ['RateLimit-Limit', '3'],
    ['RateLimit-Remaining', '1'],
    ['RateLimit-Reset', '8'],
    ['x-ratelimit-limit', '3'],
    ['x-ratelimit-remaining', '1'],
    ['x-ratelimit-reset', '8'],
  ]);
  limit.take('a', 2_500);
  expect(limit.take('a', 2_500).headers).toContainEqual(['Retry-After', '8']);
});

test('a key is spent when it has no request left, until its window ends', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 1 });
  expect(limit.isSpent('a', 0)).toBe(false);
  limit.take('a', 0);
  expect(limit.isSpent('a', 9_999)).toBe(true);
  expect(limit.isSpent('a', 10_000)).toBe(false);
});
