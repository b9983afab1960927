import { expect, test } from 'vitest';
import { limitHeaders } from './limit-headers.ts';

test('headers show the limit, what is left and when there is more, in both spellings', () => {
  expect(limitHeaders({ allowed: true, limit: 3, remaining: 1, resetMs: 7_500 })).toEqual([
    ['RateLimit-Limit', '3'],
    ['RateLimit-Remaining', '1'],
    ['RateLimit-Reset', '8'],
    ['x-ratelimit-limit', '3'],
    ['x-ratelimit-remaining', '1'],
    ['x-ratelimit-reset', '8'],
  ]);
});

test('only a rejected request has a Retry-After, of at least a second', () => {
  const rejected = limitHeaders({ allowed: false, limit: 3, remaining: 0, resetMs: 1 });
  expect(rejected).toContainEqual(['RateLimit-Reset', '1']);
  expect(rejected).toContainEqual(['Retry-After', '1']);
});
