import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { LeaderJob, type LeaderJobOptions } from './leader-job.ts';
import { createLeaderJobMetrics } from './leader-job-metrics.ts';

class AwayError extends Error {
  override readonly name = 'AwayError';
  readonly retryable = true;
}

const started: LeaderJob[] = [];

afterEach(async () => {
  for (const job of started.splice(0)) await job.stop();
});

function startJob(options: Pick<LeaderJobOptions, 'pass'> & Partial<LeaderJobOptions>) {
  const lines: { level: number; msg: string }[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString('utf8')));
      done();
    },
  });
  const jobMetrics = createLeaderJobMetrics(new Metrics(), 'purge');
  const job = new LeaderJob({
    name: 'purge',
    isLeader: () => true,
    clock: new ManualClock(7_000),
    random: () => 0,
    log: pino({ level: 'info' }, sink),
    jobMetrics,
    intervalMs: 1,
    backoff: { firstMs: 1, maxMs: 1 },
    ...options,
  });
  started.push(job);
  job.start();
  return { job, lines, jobMetrics };
}

test('passes run at an interval and are counted', async () => {
  const { jobMetrics, lines } = startJob({ pass: async () => {} });
  await vi.waitUntil(() => jobMetrics.passes.value >= 3);
  expect(jobMetrics.lastSuccessSeconds.value).toBe(7);
  expect(jobMetrics.failures.value).toBe(0);
  expect(lines).toEqual([]);
});

test('a pass that fails is counted and repeated, and its log level rises until one succeeds', async () => {
  let passes = 0;
  const { jobMetrics, lines } = startJob({
    pass: async () => {
      passes += 1;
      if (passes <= 12 || passes === 14) throw new AwayError('the store is away');
    },
  });
  await vi.waitUntil(() => jobMetrics.passes.value >= 2);
  expect(jobMetrics.failures.value).toBe(13);
  expect(lines.map(({ level }) => level)).toEqual([30, 30, 30, 40, 40, 40, 40, 40, 40, 40, 50, 50, 30]);
  expect(lines[0]).toMatchObject({ msg: 'purge pass failed, retrying', reason: 'the store is away' });
});

test('an error that is not retryable is logged as an error at once, and the job goes on', async () => {
  let isBroken = true;
  const { jobMetrics, lines } = startJob({
    pass: async () => {
      if (isBroken) throw new TypeError('not a function');
    },
  });
  await vi.waitUntil(() => jobMetrics.failures.value > 0);
  isBroken = false;
  await vi.waitUntil(() => jobMetrics.passes.value > 0);
  expect(lines[0]).toMatchObject({ level: 50, reason: 'TypeError: not a function' });
});

test('a process that does not lead stands by, and breaks a pass off when it loses the leadership', async () => {
  let isLeader = false;
  let standBys = 0;
  let calls = 0;
  let ended: unknown;
  const { job, jobMetrics, lines } = startJob({
    isLeader: () => isLeader,
    standBy: () => {
      standBys += 1;
    },
    pass: async () => {
      try {
        for (;;) {
          job.throwIfOver();
          calls += 1;
          await job.sleep(1);
        }
      } catch (error) {
        ended = error;
        throw error;
      }
    },
  });
  await vi.waitUntil(() => standBys >= 2);
  expect(calls).toBe(0);
  isLeader = true;
  await vi.waitUntil(() => calls >= 2);
  isLeader = false;
  const before = standBys;
  await vi.waitUntil(() => standBys > before);
  expect(ended).toMatchObject({ name: 'JobOverError' });
  expect([jobMetrics.failures.value, lines]).toEqual([0, []]);
});

test('a stop ends a sleep of the pass and waits for its last call', async () => {
  let isLeader = false;
  let isAsleep = false;
  let ended: unknown;
  const { job } = startJob({
    isLeader: () => isLeader,
    pass: async () => {
      try {
        isAsleep = true;
        await job.sleep(HOUR_MS);
        job.throwIfOver();
      } catch (error) {
        ended = error;
        throw error;
      }
    },
  });
  isLeader = true;
  await vi.waitUntil(() => isAsleep);
  await job.stop();
  expect(ended).toMatchObject({ name: 'JobOverError' });
});

test('a wake ends the wait for the next pass', async () => {
  const { job, jobMetrics } = startJob({ pass: async () => {}, intervalMs: HOUR_MS });
  await vi.waitUntil(() => jobMetrics.passes.value === 1);
  await vi.waitUntil(() => {
    job.wake();
    return jobMetrics.passes.value >= 2;
  });
});
