import { expect, test } from 'vitest';
import { ProcessMeter } from './cost.ts';
import { type MeasuredRequest, wrongs } from './verdict.ts';

test('the meter counts the CPU time of a process and of its event loop', () => {
  const meter = new ProcessMeter(process.pid);
  const [allBefore, loopBefore, ownBefore] = [meter.cpuMs(), meter.loopCpuMs(), process.cpuUsage()];
  let own = 0;
  while (own < 60) {
    const { user, system } = process.cpuUsage(ownBefore);
    own = (user + system) / 1_000;
  }
  expect(meter.cpuMs() - allBefore).toBeGreaterThan(50);
  expect(meter.loopCpuMs() - loopBefore).toBeGreaterThan(1);
});

test('the meter sees memory that was there only for a while', () => {
  const meter = new ProcessMeter(process.pid);
  meter.beginMemory();
  const before = meter.growthMb();
  for (let times = 0; times < 2; times += 1) Buffer.alloc(60_000_000, times + 1);
  expect(before).toBeLessThan(30);
  expect(meter.growthMb()).toBeGreaterThan(50);
});

const FREE: MeasuredRequest = {
  ...{ cpuMs: 1, growthMb: 0, turnMs: 0 },
  ...{ status: 200, answerText: '{}', detail: '', isUp: true },
};

test.each<
  [what: string, measured: Partial<MeasuredRequest>, items: number, bytes: number, wrong: readonly string[]]
>([
  ['a cheap request', {}, 1, 100, []],
  ['50 ms for one request', { cpuMs: 50 }, 1, 100, []],
  ['more than 50 ms', { cpuMs: 51 }, 1, 100, ['cpu']],
  ['1 ms for each item', { cpuMs: 2_000 }, 2_000, 100, []],
  ['more than 1 ms for each item', { cpuMs: 2_001 }, 2_000, 100, ['cpu']],
  ['25 ms for each MB', { cpuMs: 100 }, 10, 4_000_000, []],
  ['more than 25 ms for each MB', { cpuMs: 101 }, 10, 4_000_000, ['cpu']],
  ['75 ms with 1 MB of answer', { cpuMs: 75, answerText: 'a'.repeat(1_000_000) }, 1, 100, []],
  ['a long turn', { turnMs: 101 }, 2_000, 100, ['turn']],
  ['20 MB', { growthMb: 20 }, 1, 100, []],
  ['more than 20 MB', { growthMb: 21 }, 1, 100, ['memory']],
  ['ten copies of a body', { growthMb: 60 }, 1, 4_000_000, []],
  ['more than ten copies of a body', { growthMb: 61 }, 1, 4_000_000, ['memory']],
  ['an answer that is not described', { detail: '500: {}' }, 1, 100, ['answer']],
  ['no answer', { status: 0, detail: 'no answer: closed' }, 1, 100, ['no answer']],
  [
    'the end of the process',
    { status: 0, detail: 'the process ended', isUp: false },
    1,
    100,
    ['process ended'],
  ],
])('%s', (_what, measured, items, bytes, wrong) => {
  const draft = { items, bytes: Buffer.alloc(bytes), operation: { path: '/track/batch' } };
  expect(wrongs({ ...FREE, ...measured }, draft)).toEqual(wrong);
});
