import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RateLimit } from './rate-limit.ts';

const WINDOW_MS = 10_000;
const LIMIT = { requestsMax: 3, windowMs: WINDOW_MS };

test('each request counts until ten seconds after it, so an edge has no second burst', () => {
  const limit = new RateLimit(LIMIT);
  const atMs = [0, 9_998, 9_999, 9_999, 10_000, 10_000, 19_997, 19_998, 19_999, 19_999, 20_000, 20_000];
  const allowed = atMs.filter((nowMs) => !limit.take('a', nowMs).exceeded);
  expect(allowed).toEqual([0, 9_998, 9_999, 10_000, 19_998, 19_999, 20_000]);
});

test('no span has more than it may, and nothing is refused that would not be one more', () => {
  // The edges of a window are where mistakes are.
  const gapMs = fc.oneof(
    fc.constantFrom(0, 1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1),
    fc.nat({ max: WINDOW_MS / 2 }),
  );
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(gapMs, { maxLength: 60 }), (requestsMax, gapsMs) => {
      const limit = new RateLimit({ requestsMax, windowMs: WINDOW_MS });
      const allowedMs: number[] = [];
      const between = (fromMs: number, toMs: number) =>
        allowedMs.filter((atMs) => atMs >= fromMs && atMs <= toMs).length;
      let nowMs = 0;
      for (const gap of gapsMs) {
        nowMs += gap;
        const before = between(nowMs - WINDOW_MS + 1, nowMs);
        const spent = limit.isSpent('a', nowMs);
        const { exceeded } = limit.take('a', nowMs);
        expect(exceeded).toBe(before >= requestsMax);
        expect(spent).toBe(exceeded);
        if (!exceeded) allowedMs.push(nowMs);
      }
      for (const fromMs of allowedMs) {
        expect(between(fromMs, fromMs + WINDOW_MS - 1)).toBeLessThanOrEqual(requestsMax);
      }
    }),
  );
});

test('whoever does not wait gets as many as whoever does', () => {
  const limit = new RateLimit(LIMIT);
  let allowed = 0;
  for (let nowMs = 0; nowMs < 100_000; nowMs += 50) if (!limit.take('a', nowMs).exceeded) allowed += 1;
  expect(allowed).toBe(30);
});

test('keys do not share a limit', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 1 });
  expect(limit.take('a', 0).exceeded).toBe(false);
  expect(limit.take('b', 0).exceeded).toBe(false);
  expect(limit.take('a', 0).exceeded).toBe(true);
});

test('headers say the limit, what is left, and when one more is allowed, in both spellings', () => {
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
  expect(limit.take('a', 9_999).headers).toContainEqual(['Retry-After', '1']);
  const { headers } = limit.take('a', 10_000);
  expect(headers).toContainEqual(['RateLimit-Remaining', '0']);
  expect(headers).toContainEqual(['RateLimit-Reset', '3']);
  expect(headers.map(([name]) => name)).not.toContain('Retry-After');
});

test('a key is spent while it has no request left; to ask counts nothing', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 1 });
  expect(limit.isSpent('a', 0)).toBe(false);
  expect(limit.isSpent('a', 0)).toBe(false);
  limit.take('a', 0);
  expect(limit.isSpent('a', 9_999)).toBe(true);
  expect(limit.isSpent('a', 10_000)).toBe(false);
});

test('a clock that is put back shuts nobody out for longer than a window', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 2 });
  limit.take('a', 5_000_000);
  limit.take('a', 5_000_000);
  const { exceeded, headers } = limit.take('a', 1_000);
  expect(exceeded).toBe(true);
  expect(headers).toContainEqual(['Retry-After', '10']);
  expect(limit.isSpent('a', 10_999)).toBe(true);
  expect(limit.isSpent('a', 11_000)).toBe(false);
});

test('over a hundred thousand keys, the one that was asked about longest ago goes', () => {
  const limit = new RateLimit({ ...LIMIT, requestsMax: 1 });
  for (let index = 0; index <= 100_000; index += 1) limit.take(`key-${index}`, 0);
  expect(limit.isSpent('key-0', 1)).toBe(false);
  expect(limit.isSpent('key-1', 1)).toBe(true);
});
