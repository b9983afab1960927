import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Notify } from './notify.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('waits end by time or all at once by wake, and after the end they resolve at once', async () => {
  const notify = new Notify();
  const ended: string[] = [];
  const sleep = (name: string, ms: number) => notify.sleep(ms).then(() => ended.push(name));
  void sleep('short', 10);
  void sleep('long', 1_000);
  void sleep('longer', 2_000);
  void notify.wait().then(() => ended.push('without an end'));
  await vi.advanceTimersByTimeAsync(10);
  expect(ended).toEqual(['short']);
  notify.wake();
  await vi.advanceTimersByTimeAsync(0);
  expect(ended).toEqual(['short', 'long', 'longer', 'without an end']);
  void sleep('again', 1_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(ended).toHaveLength(4);
  notify.end();
  void sleep('too late', 1_000);
  void notify.wait().then(() => ended.push('too late as well'));
  await vi.advanceTimersByTimeAsync(0);
  expect(ended.slice(4)).toEqual(['again', 'too late', 'too late as well']);
  expect(vi.getTimerCount()).toBe(0);
});
