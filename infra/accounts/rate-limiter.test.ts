import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../assert.ts';
import { KEYS_MAX, RateLimiter, STORED_KEY_CHARS_MAX, storedKeyOf } from './rate-limiter.ts';

const WINDOW_MS = 10_000;
/** The beginning of a window. */
const START_MS = 1_800_000_000_000;

function limiterOf(requestsMax: number): RateLimiter {
  return new RateLimiter({ requestsMax, windowMs: WINDOW_MS });
}

function isAllowed(limiter: RateLimiter, key: string, nowMs: number): boolean {
  return must(limiter.take(key, nowMs), 'there is a limit').allowed;
}

/** Takes at each of these times after `START_MS`; returns those that were allowed. */
function allowedAt(limiter: RateLimiter, timesMs: readonly number[]): number[] {
  return timesMs.filter((atMs) => isAllowed(limiter, 'a', START_MS + atMs));
}

/** Every `stepMs` from `fromMs` on, before `toMs`. */
function steps(fromMs: number, toMs: number, stepMs: number): number[] {
  return Array.from({ length: Math.ceil((toMs - fromMs) / stepMs) }, (_, index) => fromMs + index * stepMs);
}

// The edges of a window are where mistakes are. Requests come in bursts, and over several windows.
const gapMs = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 2, arbitrary: fc.constantFrom(1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, 2 * WINDOW_MS) },
  { weight: 4, arbitrary: fc.nat({ max: WINDOW_MS }) },
);
const traffic = fc.record({
  requestsMax: fc.integer({ min: 1, max: 8 }),
  gapsMs: fc.array(gapMs, { maxLength: 120 }),
  fromMs: fc.integer({ min: START_MS, max: START_MS + WINDOW_MS }),
});

test('a request is allowed exactly when the weighted sum of both windows is below the limit', () => {
  fc.assert(
    fc.property(traffic, ({ requestsMax, gapsMs, fromMs }) => {
      const limiter = limiterOf(requestsMax);
      const log: number[] = [];
      let nowMs = fromMs;
      for (const gap of gapsMs) {
        nowMs += gap;
        const beginMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
        const current = log.filter((atMs) => atMs >= beginMs).length;
        const previous = log.filter((atMs) => atMs < beginMs && atMs >= beginMs - WINDOW_MS).length;
        const coveredMs = beginMs + WINDOW_MS - 1 - nowMs;
        const expected = current * WINDOW_MS + previous * coveredMs < requestsMax * WINDOW_MS;
        expect(limiter.look('a', nowMs)?.allowed).toBe(expected);
        expect(isAllowed(limiter, 'a', nowMs)).toBe(expected);
        if (expected) log.push(nowMs);
      }
    }),
  );
});

test('against an exact log: at most twice the limit in a span, at most the limit in a window, no needless reject', () => {
  fc.assert(
    fc.property(traffic, ({ requestsMax, gapsMs, fromMs }) => {
      const limiter = limiterOf(requestsMax);
      const log: number[] = [];
      const between = (first: number, last: number) =>
        log.filter((atMs) => atMs >= first && atMs <= last).length;
      let nowMs = fromMs;
      for (const gap of gapsMs) {
        nowMs += gap;
        const beginMs = Math.floor(nowMs / WINDOW_MS) * WINDOW_MS;
        if (isAllowed(limiter, 'a', nowMs)) log.push(nowMs);
        else expect(between(beginMs - WINDOW_MS, nowMs)).toBeGreaterThanOrEqual(requestsMax);
        expect(between(beginMs, nowMs)).toBeLessThanOrEqual(requestsMax);
        expect(between(nowMs - WINDOW_MS + 1, nowMs)).toBeLessThanOrEqual(2 * requestsMax);
      }
    }),
  );
});

test('a burst at the end of a window and steady requests after it have twice the limit in one span', () => {
  const limiter = limiterOf(3);
  expect(allowedAt(limiter, [9_999, 9_999, 9_999, 9_999])).toHaveLength(3);
  const steady = [10_000, 10_000, 13_332, 13_333, 13_333, 16_665, 16_666, 16_666, 19_998];
  expect(allowedAt(limiter, steady)).toEqual([10_000, 13_333, 16_666]);
});

test('a key that was silent for a window gets exactly its limit, whatever the time', () => {
  for (const atMs of [0, 1, 5_000, 9_999]) {
    const limiter = limiterOf(100);
    const burst = Array.from({ length: 120 }, () => atMs);
    expect(allowedAt(limiter, burst)).toHaveLength(100);
    expect(
      allowedAt(
        limiter,
        burst.map((ms) => ms + 2 * WINDOW_MS),
      ),
    ).toHaveLength(100);
  }
});

test.each([1, 2, 3, 100])(
  'with a limit of %d, a key that never pauses gets it in every window',
  (requestsMax) => {
    const limiter = limiterOf(requestsMax);
    for (let window = 0; window < 5; window += 1) {
      const fromMs = window * WINDOW_MS;
      expect(allowedAt(limiter, steps(fromMs, fromMs + WINDOW_MS, 10).concat(fromMs + 9_999))).toHaveLength(
        requestsMax,
      );
    }
  },
);

test('remaining and reset are exact', () => {
  fc.assert(
    fc.property(traffic, ({ requestsMax, gapsMs, fromMs }) => {
      const limiter = limiterOf(requestsMax);
      let nowMs = fromMs;
      for (const gap of gapsMs) {
        nowMs += gap;
        const { allowed, limit, remaining, resetMs } = must(limiter.take('a', nowMs), 'there is a limit');
        expect(limit).toBe(requestsMax);
        if (!allowed) expect(remaining).toBe(0);
        expect(limiter.look('a', nowMs)).toMatchObject({ allowed: remaining > 0, remaining, resetMs });
        expect(resetMs).toBeGreaterThan(0);
        expect(resetMs).toBeLessThanOrEqual(WINDOW_MS);
        // Looking ahead would begin later windows, so earlier requests are replayed up to here.
        const replayed = limiterOf(requestsMax);
        let atMs = fromMs;
        for (const earlier of gapsMs) {
          atMs += earlier;
          if (atMs > nowMs) break;
          replayed.take('a', atMs);
        }
        const now = must(replayed.look('a', nowMs), 'there is a limit');
        expect(replayed.look('a', nowMs + now.resetMs - 1)?.remaining).toBeLessThanOrEqual(now.remaining);
        expect(replayed.look('a', nowMs + now.resetMs)?.remaining).toBeGreaterThan(now.remaining);
      }
    }),
    { numRuns: 30 },
  );
});

test('looking counts nothing', () => {
  const limiter = limiterOf(1);
  for (let times = 0; times < 3; times += 1)
    expect(limiter.look('a', START_MS)).toEqual({ allowed: true, limit: 1, remaining: 1, resetMs: 0 });
  expect(isAllowed(limiter, 'a', START_MS)).toBe(true);
  expect(limiter.look('a', START_MS + 9_999)?.allowed).toBe(false);
  expect(limiter.look('b', START_MS + 9_999)?.allowed).toBe(true);
});

test('keys do not share a limit', () => {
  const limiter = limiterOf(1);
  expect(['a', 'b', 'a'].map((key) => isAllowed(limiter, key, START_MS))).toEqual([true, true, false]);
});

test('a limit of 0 switches the limiter off', () => {
  const limiter = limiterOf(0);
  expect(limiter.take('a', START_MS)).toBeUndefined();
  expect(limiter.look('a', START_MS)).toBeUndefined();
});

test('a clock that is set back gives no key more, and rejects it for two windows at most', () => {
  const limiter = limiterOf(2);
  expect(allowedAt(limiter, [5_000_000, 5_000_000])).toHaveLength(2);
  expect(allowedAt(limiter, [0, 9_999])).toEqual([]);
  expect(allowedAt(limiter, [10_000, 10_000])).toHaveLength(1);
  expect(allowedAt(limiter, [20_000, 29_999, 29_999])).toHaveLength(2);
});

test('requests of another process count in their window, if that is the present one or beside it', () => {
  const limiter = limiterOf(4);
  const window = limiter.windowAt(START_MS);
  const nowMs = START_MS + 5_000;
  expect(limiter.addStored('a', 2, window, nowMs)).toBe(true);
  expect(limiter.look('a', nowMs)?.remaining).toBe(2);
  // Half a window later, half of these count.
  expect(limiter.addStored('b', 4, window - 1, nowMs)).toBe(true);
  expect(limiter.look('b', nowMs)?.remaining).toBe(3);
  expect(limiter.addStored('c', 4, window + 1, nowMs)).toBe(true);
  expect(limiter.look('c', nowMs)?.remaining).toBe(0);
  for (const other of [window - 2, window + 2, 0, Number.MAX_SAFE_INTEGER])
    expect(limiter.addStored('d', 4, other, nowMs)).toBe(false);
  expect(limiter.look('d', nowMs)?.remaining).toBe(4);
});

test('more requests than the limit, from several processes, delay the next ones', () => {
  const limiter = limiterOf(4);
  limiter.addStored('a', 12, limiter.windowAt(START_MS), START_MS);
  expect(limiter.look('a', START_MS)).toMatchObject({ allowed: false, remaining: 0, resetMs: 16_666 });
  expect(limiter.look('a', START_MS + 16_665)?.allowed).toBe(false);
  expect(limiter.look('a', START_MS + 16_666)?.allowed).toBe(true);
});

test('when a window is full of keys, its counts are dropped and counted anew', () => {
  const limiter = limiterOf(1);
  for (let index = 0; index < KEYS_MAX; index += 1) limiter.take(`key-${index}`, START_MS);
  expect(limiter.look('key-0', START_MS)?.allowed).toBe(false);
  expect(limiter.look(`key-${KEYS_MAX - 1}`, START_MS)?.allowed).toBe(false);
  expect(isAllowed(limiter, 'one more', START_MS)).toBe(true);
  expect(limiter.look('key-0', START_MS)?.allowed).toBe(true);
  expect(limiter.look('one more', START_MS)?.allowed).toBe(false);
});

test('a short key is stored as it came, a long one as a hash that equals no short key', () => {
  for (const short of ['', '203.0.113.1', '2001:db8:1111:2222:3333:4444:5555:6666', '0'.repeat(40)])
    expect(storedKeyOf(short)).toBe(short);
  fc.assert(
    fc.property(fc.string({ minLength: 41, maxLength: 10_000, unit: 'binary' }), (long) => {
      expect(storedKeyOf(long)).toMatch(/^sha256-128: [0-9a-f]{32}$/);
      expect(storedKeyOf(long)).toHaveLength(STORED_KEY_CHARS_MAX);
      expect(storedKeyOf(`${long}x`)).not.toBe(storedKeyOf(long));
    }),
  );
});

test('keys of any length and characters are limited, each by itself', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ maxLength: 60, unit: 'binary' }), { maxLength: 20 }), (keys) => {
      const limiter = limiterOf(1);
      for (const expected of [true, false])
        expect(keys.map((key) => isAllowed(limiter, key, START_MS))).toEqual(keys.map(() => expected));
    }),
  );
  const limiter = limiterOf(1);
  const loneSurrogate = '\ud800';
  expect([1, 2].map(() => isAllowed(limiter, loneSurrogate, START_MS))).toEqual([true, false]);
});
