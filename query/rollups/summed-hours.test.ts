import { expect, test } from 'vitest';
import { wholeHours } from './summed-hours.ts';

const HOUR_MS = 3_600_000;
const at = (hours: number) => hours * HOUR_MS;
const hoursIn = (seconds: readonly number[]) => seconds.map((second) => second / 3600);

test('hours that reach out of a span, or over an edge, are none of the whole ones', () => {
  const span = { fromMs: at(10.5), toMs: at(15.25) };
  expect(hoursIn(wholeHours([span], [span.fromMs]))).toEqual([11, 12, 13, 14]);
  expect(hoursIn(wholeHours([span], [at(10.5), at(11.5), at(12.5)]))).toEqual([13, 14]);
  expect(hoursIn(wholeHours([span], [at(11), at(12)]))).toEqual([11, 12, 13, 14]);
});

test('two spans that meet within an hour share none', () => {
  const previous = { fromMs: at(8), toMs: at(10.75) };
  const current = { fromMs: at(10.75), toMs: at(13) };
  expect(hoursIn(wholeHours([previous, current], [previous.fromMs, current.fromMs]))).toEqual([8, 9, 11, 12]);
});

test('a span within an hour has none', () => {
  expect(wholeHours([{ fromMs: at(3.1), toMs: at(3.9) }], [])).toEqual([]);
});
