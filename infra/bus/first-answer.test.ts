import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BusError } from './bus-error.ts';
import { firstAnswer } from './first-answer.ts';

const SILENT_MS = 5_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const silent = () =>
  new Promise<never>((_, reject) => {
    setTimeout(() => reject(new BusError('no answer in time', 'timeout', undefined)), SILENT_MS);
  });
const after = (ms: number, answer: string) =>
  new Promise<string>((resolve) => {
    setTimeout(() => resolve(answer), ms);
  });

/** Asks with these attempts, one after the other; the last one repeats. */
function asked(...attempts: readonly (() => Promise<string>)[]) {
  const dropped: string[] = [];
  const ask = vi.fn(() => (attempts[Math.min(ask.mock.calls.length, attempts.length) - 1] ?? silent)());
  const outcome = { settledMs: -1 };
  const startMs = performance.now();
  const answer = firstAnswer(ask, (late) => dropped.push(late)).finally(() => {
    outcome.settledMs = performance.now() - startMs;
  });
  answer.catch(() => {});
  return { ask, dropped, outcome, answer };
}

test('what is answered at once is asked once', async () => {
  const { ask, outcome, answer } = asked(() => after(10, 'yes'));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await answer).toBe('yes');
  expect(outcome.settledMs).toBe(10);
  expect(ask).toHaveBeenCalledTimes(1);
});

test('what is dropped in silence is asked again after a second', async () => {
  const { ask, outcome, answer } = asked(silent, silent, () => after(10, 'yes'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await answer).toBe('yes');
  expect(outcome.settledMs).toBe(2_010);
  expect(ask).toHaveBeenCalledTimes(3);
});

test('a slow answer counts, and later ones are dropped', async () => {
  const { dropped, outcome, answer } = asked(
    () => after(1_500, 'slow'),
    () => after(1_000, 'later'),
  );
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await answer).toBe('slow');
  expect(outcome.settledMs).toBe(1_500);
  expect(dropped).toEqual(['later']);
});

test('five seconds of silence are the end', async () => {
  const { ask, outcome, answer } = asked(silent);
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(answer).rejects.toThrow('no answer in time');
  expect(outcome.settledMs).toBe(SILENT_MS);
  expect(ask).toHaveBeenCalledTimes(5);
});

test('without a responder the question is asked five times, once a second', async () => {
  const { ask, outcome, answer } = asked(async () => {
    throw new BusError('no responder', 'no-responders', undefined);
  });
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(answer).rejects.toThrow('no responder');
  expect(outcome.settledMs).toBe(5_000);
  expect(ask).toHaveBeenCalledTimes(5);
});

test('an error that is not silence ends the attempts', async () => {
  const { ask, outcome, answer } = asked(silent, async () => {
    throw new BusError('no', 'full', undefined);
  });
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(answer).rejects.toThrow('no');
  expect(outcome.settledMs).toBe(1_000);
  expect(ask).toHaveBeenCalledTimes(2);
});
