import { expect, test } from 'vitest';
import { WindowLimit } from './window-limit.ts';

test('a key has so many in a window, beside every other key, and as many in the next', () => {
  const limit = new WindowLimit(2);
  const taken = [0, 1, 2, 9_999, 10_000].map((atMs) => limit.take('a', atMs).exceeded);
  expect(taken).toEqual([false, false, true, true, false]);
  expect(limit.take('b', 10_000).exceeded).toBe(false);
});

test('looking says what taking would, and counts nothing', () => {
  const limit = new WindowLimit(1);
  expect([0, 1, 2].map((atMs) => limit.look('a', atMs).exceeded)).toEqual([false, false, false]);
  const looked = limit.look('a', 3);
  expect(limit.take('a', 3)).toEqual(looked);
  expect(limit.look('a', 9_999).exceeded).toBe(true);
  expect(limit.look('b', 9_999).exceeded).toBe(false);
  expect(limit.look('a', 10_000).exceeded).toBe(false);
});

test('the headers of a spent limit say when the window ends, and when to come back', () => {
  const limit = new WindowLimit(1);
  limit.take('a', 0);
  expect(limit.look('a', 2_500).headers).toEqual([
    ['RateLimit-Limit', '1'],
    ['RateLimit-Remaining', '0'],
    ['RateLimit-Reset', '8'],
    ['x-ratelimit-limit', '1'],
    ['x-ratelimit-remaining', '0'],
    ['x-ratelimit-reset', '8'],
    ['Retry-After', '8'],
  ]);
});
