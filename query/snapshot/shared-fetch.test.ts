import { expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { SharedFetch } from './shared-fetch.ts';

interface PendingFetch {
  readonly resolve: (value: number) => void;
  readonly reject: (error: Error) => void;
}

function fixture() {
  const clock = new ManualClock(1_000);
  const pending: PendingFetch[] = [];
  const fetch = () => new Promise<number>((resolve, reject) => pending.push({ resolve, reject }));
  return { clock, pending, shared: new SharedFetch(fetch, clock, 100) };
}

test('questions within the reuse time of its start share a fetch, even when it has ended', async () => {
  const { clock, pending, shared } = fixture();
  const first = shared.get();
  clock.advance(100);
  const second = shared.get();
  pending[0]?.resolve(1);
  expect(await Promise.all([first, second, shared.get()])).toEqual([1, 1, 1]);
  clock.advance(1);
  const later = shared.get();
  pending[1]?.resolve(2);
  expect(await later).toBe(2);
});

test('later questions wait for the fetch in flight and share the next one', async () => {
  const { clock, pending, shared } = fixture();
  const first = shared.get();
  clock.advance(101);
  const second = shared.get();
  const third = shared.get();
  expect(pending.length).toBe(1);
  pending[0]?.resolve(1);
  await first;
  await Promise.resolve();
  expect(pending.length).toBe(2);
  pending[1]?.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

test('a failure reaches the questions that share it, and the next question fetches again', async () => {
  const { pending, shared } = fixture();
  const first = shared.get();
  const same = shared.get();
  pending[0]?.reject(new Error('away'));
  await expect(first).rejects.toThrow('away');
  await expect(same).rejects.toThrow('away');
  const next = shared.get();
  pending[1]?.resolve(3);
  expect(await next).toBe(3);
});
