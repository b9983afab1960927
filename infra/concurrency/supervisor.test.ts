import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Counter } from '../metrics.ts';
import { Supervisor, type SupervisorOptions } from './supervisor.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly lane: number;
  readonly reason: string;
}

function setup(run: (started: number) => Promise<void>, more: Partial<SupervisorOptions> = {}) {
  const lines: Line[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')));
      done();
    },
  });
  const starts: number[] = [];
  const failures = new Counter();
  const supervisor = new Supervisor({
    name: 'lane',
    log: pino({ level: 'info' }, sink),
    fields: { lane: 3 },
    clock: { nowMs: () => Date.now() },
    random: () => 0,
    backoff: { firstMs: 100, maxMs: 400 },
    healthyAfterMs: 10_000,
    failures,
    run: () => {
      starts.push(Date.now() - startMs);
      return run(starts.length);
    },
    interrupt: async () => {},
    ...more,
  });
  const startMs = Date.now();
  return { supervisor, lines, starts, failures };
}

test('a task that fails restarts after growing waits, counted and logged', async () => {
  const { supervisor, lines, starts, failures } = setup(() => Promise.reject(new Error('broken')));
  supervisor.start();
  await vi.advanceTimersByTimeAsync(1_500);
  expect(starts).toEqual([0, 100, 300, 700, 1_100, 1_500]);
  expect(failures.value).toBe(6);
  expect(lines[0]).toMatchObject({
    level: 50,
    lane: 3,
    reason: 'Error: broken',
    msg: 'lane failed, restarting',
  });
  await supervisor.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(starts).toHaveLength(6);
  expect(vi.getTimerCount()).toBe(0);
});

test('after a healthy run the back-off starts anew', async () => {
  const { supervisor, starts } = setup(async (started) => {
    if (started === 3) await new Promise((resolve) => setTimeout(resolve, 10_001));
    throw new Error('broken');
  });
  supervisor.start();
  await vi.advanceTimersByTimeAsync(10_500);
  expect(starts).toEqual([0, 100, 300, 10_401]);
  await supervisor.stop();
});

test('a task that ends by itself restarts at once', async () => {
  const { supervisor, starts, failures } = setup(async () => {
    await supervisor.sleep(1_000);
  });
  supervisor.start();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(starts).toEqual([0, 1_000, 2_000]);
  await supervisor.stop();
  expect(failures.value).toBe(0);
});

test('an expected error is no failure, and an error during the stop is none either', async () => {
  const expected: unknown[] = [];
  let interrupt = () => {};
  const fenced = new Error('another owner');
  const { supervisor, lines, starts, failures } = setup(
    async (started) => {
      if (started === 1) throw fenced;
      await new Promise<void>((_, reject) => {
        interrupt = () => reject(new Error('interrupted'));
      });
    },
    { isExpected: (error) => expected.push(error) > 0, interrupt: async () => interrupt() },
  );
  supervisor.start();
  await vi.advanceTimersByTimeAsync(100);
  expect([starts, expected, lines]).toEqual([[0, 100], [fenced], []]);
  await supervisor.stop();
  expect(failures.value).toBe(0);
  expect(lines).toMatchObject([{ level: 30, reason: 'Error: interrupted' }]);
});
