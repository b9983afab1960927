import { expect, test } from 'vitest';
import { LaneHealth } from './lane-health.ts';

test('a lane fails from its second failure in a row until its next checkpoint', () => {
  const health = new LaneHealth();
  expect(health.isFailing(0, 0)).toBe(false);
  health.failed(7, 1_000);
  expect(health.isFailing(7, 1_000)).toBe(false);
  health.failed(7, 2_000);
  expect(health.isFailing(7, 9_000)).toBe(true);
  expect(health.isFailing(8, 9_000)).toBe(false);
});

test('failures with a checkpoint between them are none in a row', () => {
  const health = new LaneHealth();
  health.failed(7, 1_000);
  health.failed(8, 2_000);
  expect(health.isFailing(8, 2_000)).toBe(false);
  health.failed(8, 3_000);
  expect(health.isFailing(8, 3_000)).toBe(true);
});

test('an idle lane has recovered after a minute without a failure', () => {
  const health = new LaneHealth();
  health.failed(7, 1_000);
  health.failed(7, 2_000);
  expect(health.isFailing(7, 62_000)).toBe(true);
  expect(health.isFailing(7, 62_001)).toBe(false);
});
