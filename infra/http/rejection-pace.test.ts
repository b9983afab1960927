import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isPaced, RejectionPace } from './rejection-pace.ts';

let pace: RejectionPace;
let sent: number[];

beforeEach(() => {
  vi.useFakeTimers();
  pace = new RejectionPace();
  sent = [];
});

afterEach(() => {
  vi.useRealTimers();
});

function add(count: number): void {
  const first = sent.length + pace.waiting;
  for (let number = first; number < first + count; number += 1) pace.add(() => sent.push(number));
}

test('only rejections of senders are paced', () => {
  expect([200, 202, 400, 401, 403, 404, 413, 429, 503].filter(isPaced)).toEqual([401, 429]);
});

test('one rejection is sent immediately, and so is another one a moment later', async () => {
  add(1);
  expect(sent).toEqual([0]);
  await vi.advanceTimersByTimeAsync(1);
  add(1);
  expect(sent).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a thousand that come together are sent one a millisecond, in their order', async () => {
  add(1_000);
  expect(sent).toEqual([0]);
  await vi.advanceTimersByTimeAsync(500);
  expect(sent).toHaveLength(501);
  expect(pace.waiting).toBe(499);
  await vi.advanceTimersByTimeAsync(500);
  expect(sent).toEqual(Array.from({ length: 1_000 }, (_, number) => number));
  expect([pace.waiting, vi.getTimerCount()]).toEqual([0, 0]);
});

test('after a long turn of the event loop a few are sent together, and never all of them', () => {
  let nowMs = 0;
  pace = new RejectionPace(() => nowMs);
  add(100);
  nowMs = 50;
  vi.advanceTimersToNextTimer();
  expect(sent).toHaveLength(6);
  vi.advanceTimersToNextTimer();
  expect(sent).toHaveLength(7);
});

test('with five thousand that wait, a further one is sent immediately', async () => {
  add(5_001);
  expect([sent.length, pace.waiting]).toEqual([1, 5_000]);
  add(1);
  expect(sent).toEqual([0, 5_001]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(sent).toHaveLength(5_002);
  expect(new Set(sent).size).toBe(5_002);
});
