import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Notify } from './notify.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('waits end by time, all at once by a wake, and do not begin after the end', async () => {
  const notify = new Notify();
  const ended: string[] = [];
  const nap = (name: string, ms: number) => notify.sleep(ms).then(() => ended.push(name));
  void nap('short', 10);
  void nap('long', 1_000);
  void nap('longer', 2_000);
  void notify.wait().then(() => ended.push('without an end'));
  await vi.advanceTimersByTimeAsync(10);
  expect(ended).toEqual(['short']);
  notify.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(['short', 'long', 'longer', 'without an end']);
  void nap('again', 1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(ended).toHaveLength(4);
  notify.end();
  void nap('too late', 1_000);
  void notify.wait().then(() => ended.push('too late as well'));
  await vi.advanceTimersByTimeAsync(0);
  expect(ended.slice(4)).toEqual(['again', 'too late', 'too late as well']);
  expect(vi.getTimerCount()).toBe(0);
});
