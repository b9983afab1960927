import { expect, test } from 'vitest';
import { ManualClock } from '../clock.ts';
import { HOUR_MS } from '../durations.ts';
import { FAILURE_WINDOW_MS, FAILURES_MAX, FailedLogins } from './failed-logins.ts';

const HERE = '203.0.113.1';

function start(): { failures: FailedLogins; clock: ManualClock } {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  return { failures: new FailedLogins(clock), clock };
}

function failTimes(failures: FailedLogins, address: string, times: number): boolean[] {
  return Array.from({ length: times }, () => failures.count(address).allowed);
}

test('an address has exactly as many failures as the limit allows, in a window from its first one', () => {
  const { failures, clock } = start();
  clock.advance(1_234);
  expect(failures.count(HERE)).toEqual({
    allowed: true,
    limit: FAILURES_MAX,
    remaining: FAILURES_MAX - 1,
    resetMs: FAILURE_WINDOW_MS,
  });
  clock.advance(FAILURE_WINDOW_MS - 1);
  const allowed = failTimes(failures, HERE, 2 * FAILURES_MAX).filter(Boolean);
  expect(allowed).toHaveLength(FAILURES_MAX - 1);
  expect(failures.count(HERE)).toEqual({ allowed: false, limit: FAILURES_MAX, remaining: 0, resetMs: 1 });
  clock.advance(1);
  expect(failures.count(HERE)).toMatchObject({ allowed: true, remaining: FAILURES_MAX - 1 });
});

test('an address does not affect another one, and all addresses of an IPv6 network are one', () => {
  const { failures } = start();
  failTimes(failures, '2001:db8:0:1::1', FAILURES_MAX);
  expect(failures.count('2001:db8:0:1:ffff::2').allowed).toBe(false);
  expect(failures.count('2001:db8:0:2::1').allowed).toBe(true);
  expect(failures.count(HERE).allowed).toBe(true);
  expect(failures.addresses).toBe(3);
});

test('every address leaves memory when its own window is over, without a further failure', () => {
  const { failures, clock } = start();
  for (let index = 0; index < 1_000; index += 1) {
    failures.count(`198.51.${index >> 8}.${index & 0xff}`);
    clock.advance(1);
  }
  expect(failures.addresses).toBe(1_000);
  clock.advance(FAILURE_WINDOW_MS - 1_000);
  failures.evictExpired();
  expect(failures.addresses).toBe(999);
  clock.advance(499);
  failures.evictExpired();
  expect(failures.addresses).toBe(500);
  clock.advance(500);
  failures.evictExpired();
  expect(failures.addresses).toBe(0);
});

test('a clock that is set back forgets what would end too late', () => {
  const { failures, clock } = start();
  failTimes(failures, HERE, FAILURES_MAX);
  clock.advance(-HOUR_MS);
  expect(failures.count(HERE).allowed).toBe(true);
});

test('a flood from many addresses is counted for a bounded number of them, the latest', () => {
  const { failures } = start();
  const addressOf = (index: number) => `10.${index >> 16}.${(index >> 8) & 0xff}.${index & 0xff}`;
  for (let index = 0; index < 100_500; index += 1) failures.count(addressOf(index));
  expect(failures.addresses).toBe(100_000);
  expect(failures.count(addressOf(100_499)).remaining).toBe(FAILURES_MAX - 2);
});

test('an attempt that was counted beforehand and was right is taken back', () => {
  const { failures } = start();
  for (let count = 0; count < FAILURES_MAX; count += 1) {
    expect(failures.isExhausted(HERE)).toBe(false);
    failures.count(HERE);
  }
  expect(failures.isExhausted(HERE)).toBe(true);
  failures.takeBack(HERE);
  expect(failures.isExhausted(HERE)).toBe(false);
  expect(failures.count(HERE).allowed).toBe(true);
  expect(failures.count(HERE).allowed).toBe(false);
});

test('the networks of one customer share a larger limit, and its neighbours have their own', () => {
  const { failures } = start();
  const attempts = Array.from(
    { length: 60 * FAILURES_MAX },
    (_, index) => failures.count(`2001:db8:7:${(index % 60).toString(16)}::1`).allowed,
  );
  expect(attempts.filter(Boolean)).toHaveLength(3 * FAILURES_MAX);
  expect(failures.isExhausted('2001:db8:7:99::1')).toBe(true);
  expect(failures.count('2001:db8:7:100::1').allowed).toBe(true);
  for (let index = 0; index < 0x1_0000; index += 0x10) failures.count(`2001:db8:7:${index.toString(16)}::1`);
  expect(failures.count('2001:db8:7:fedc::1')).toMatchObject({ allowed: false, limit: 10 * FAILURES_MAX });
  expect(failures.count('2001:db8:8::1').allowed).toBe(true);
  expect(failures.addresses).toBeLessThanOrEqual(10 * FAILURES_MAX + 1);
});

test('what a wide network used up leaves none of its addresses in memory', () => {
  const { failures } = start();
  for (let index = 0; index < 256; index += 1) failTimes(failures, `203.0.113.${index}`, 5);
  const remembered = failures.addresses;
  expect(remembered).toBeLessThanOrEqual(256);
  for (let index = 0; index < 0x4000; index += 1) failures.count(`2001:db8:7:${index.toString(16)}::1`);
  expect(failures.addresses - remembered).toBe(10 * FAILURES_MAX);
});
