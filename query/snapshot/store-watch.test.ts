import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { StoreWatch } from './store-watch.ts';

const SILENCE_MS = 3_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A watch of a store that answers its pings in this order, and repeats the last answer. */
async function watchOf(answers: readonly ('yes' | 'no' | 'silence')[]): Promise<StoreWatch> {
  let pings = 0;
  const ping = async () => {
    const answer = answers[Math.min(pings, answers.length - 1)];
    pings += 1;
    if (answer === 'silence') await new Promise((resolve) => setTimeout(resolve, SILENCE_MS));
    return answer === 'yes';
  };
  return StoreWatch.start({ ping }, systemClock);
}

test('a store that rejects connections is away at once, and up again at once', async () => {
  const watch = await watchOf(['yes', 'no', 'yes']);
  expect(watch.dependency.up).toBe(true);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(watch.dependency.up).toBe(false);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(watch.dependency.up).toBe(true);
  watch.stop();
});

test('a store that is silent once is busy; a store that stays silent is away', async () => {
  const busy = await watchOf(['yes', 'silence', 'yes', 'silence', 'yes']);
  for (let second = 0; second < 20; second += 1) {
    await vi.advanceTimersByTimeAsync(1_000);
    expect(busy.dependency.up).toBe(true);
  }
  busy.stop();
  const hung = await watchOf(['yes', 'silence']);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(hung.dependency.up).toBe(false);
  hung.stop();
});
