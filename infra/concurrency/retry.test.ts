import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Counter } from '../metrics.ts';
import { retry } from './retry.ts';

class AwayError extends Error {
  override readonly name = 'AwayError';
  readonly retryable = true;
}

function setup() {
  const lines: { level: number; attempt: number; lane: number; msg: string }[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')));
      done();
    },
  });
  const waits: number[] = [];
  const retries = new Counter();
  const options = {
    operation: 'flush insert',
    backoff: { firstMs: 100, maxMs: 1_000 },
    log: pino({ level: 'info' }, sink),
    fields: { lane: 3 },
    retries,
    random: () => 0,
    sleep: async (ms: number) => {
      waits.push(ms);
    },
  };
  return { lines, waits, retries, options };
}

test('a retryable error is retried with growing waits, counted, and logged at a rising level', async () => {
  const { lines, waits, retries, options } = setup();
  const attempts: number[] = [];
  const result = await retry(options, async (attempt) => {
    attempts.push(attempt);
    if (attempt < 12) throw new AwayError('the store is away');
    return 'stored';
  });
  expect(result).toBe('stored');
  expect(attempts).toEqual(Array.from({ length: 13 }, (_, index) => index));
  expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000]);
  expect(retries.value).toBe(12);
  expect(lines.map(({ level }) => level)).toEqual([30, 30, 30, 40, 40, 40, 40, 40, 40, 40, 50, 50]);
  expect(lines[0]).toMatchObject({ lane: 3, attempt: 0, msg: 'flush insert failed, retrying' });
});

test('a fatal error is thrown at once, and neither counted nor waited for', async () => {
  const { waits, retries, options } = setup();
  const fatal = new Error('broken');
  await expect(retry(options, () => Promise.reject(fatal))).rejects.toBe(fatal);
  expect(waits).toEqual([]);
  expect(retries.value).toBe(0);
});

test('a caller that gives up gets the last error', async () => {
  const { retries, options } = setup();
  let calls = 0;
  const failing = retry({ ...options, isEnough: (count) => count >= 2 }, async () => {
    calls += 1;
    throw new AwayError(`failure ${calls}`);
  });
  await expect(failing).rejects.toThrow('failure 3');
  expect(retries.value).toBe(2);
});

test('what runs before a retry can end it', async () => {
  const { options } = setup();
  const lost = new Error('the lease is lost');
  const failing = retry({ ...options, beforeRetry: () => Promise.reject(lost) }, async () => {
    throw new AwayError('away');
  });
  await expect(failing).rejects.toBe(lost);
});
