import { expect, test } from 'vitest';
import { HOUR_MS } from '../../infra/durations.ts';
import { wholeSpans } from './rollup-spans.ts';

const at = (hours: number) => hours * HOUR_MS;
const hoursIn = (seconds: readonly number[]) => seconds.map((second) => second / 3600);

test('hours that reach out of a span or over an edge are not whole', () => {
  const span = { fromMs: at(10.5), toMs: at(15.25) };
  expect(hoursIn(wholeSpans([span], [span.fromMs], HOUR_MS))).toEqual([11, 12, 13, 14]);
  expect(hoursIn(wholeSpans([span], [at(10.5), at(11.5), at(12.5)], HOUR_MS))).toEqual([13, 14]);
  expect(hoursIn(wholeSpans([span], [at(11), at(12)], HOUR_MS))).toEqual([11, 12, 13, 14]);
});

test('two spans that meet within an hour do not share it', () => {
  const previous = { fromMs: at(8), toMs: at(10.75) };
  const current = { fromMs: at(10.75), toMs: at(13) };
  expect(hoursIn(wholeSpans([previous, current], [previous.fromMs, current.fromMs], HOUR_MS))).toEqual([
    8, 9, 11, 12,
  ]);
});

test('a span within an hour has no whole hours', () => {
  expect(wholeSpans([{ fromMs: at(3.1), toMs: at(3.9) }], [], HOUR_MS)).toEqual([]);
});

test('whole days are the UTC days that lie in a span', () => {
  const span = { fromMs: at(23), toMs: at(96) };
  expect(hoursIn(wholeSpans([span], [], 24 * HOUR_MS))).toEqual([24, 48, 72]);
  expect(hoursIn(wholeSpans([span], [at(50)], 24 * HOUR_MS))).toEqual([24, 72]);
  expect(hoursIn(wholeSpans([{ fromMs: at(25), toMs: at(71) }], [], 24 * HOUR_MS))).toEqual([]);
});
