import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../infra/durations.ts';
import type { HotMinute } from '../../processor/hot.ts';
import { metricsOf } from '../figures.ts';
import { memoryFigures } from './memory-figures.ts';

const span = { fromMs: 30 * MINUTE_MS, toMs: 60 * MINUTE_MS };
const range = {
  span,
  previous: { fromMs: 0, toMs: span.fromMs },
  buckets: Array.from({ length: 30 }, (_, index) => ({ fromMs: span.fromMs + index * MINUTE_MS, label: '' })),
};

function minute(at: number, part: Partial<HotMinute>): HotMinute {
  return {
    minuteMs: at * MINUTE_MS,
    screenViews: 0,
    otherEvents: 0,
    sessions: 0,
    bounces: 0,
    durationMs: 0,
    revenue: {},
    visitors: [],
    ...part,
  };
}

test('a visitor in several minutes and lanes counts once', () => {
  const minutes = [
    minute(30, { visitors: [1, 2] }),
    minute(30, { visitors: [2, 3] }),
    minute(31, { visitors: [3] }),
  ];
  const { current, buckets } = memoryFigures(range, minutes);
  expect(current.visitors).toBe(3);
  expect(buckets.slice(0, 3).map(({ visitors }) => visitors)).toEqual([3, 1, 0]);
});

test('a minute counts in its bucket and span, and a minute outside both counts nowhere', () => {
  const one = { sessions: 1, screenViews: 1 };
  const { current, previous, buckets } = memoryFigures(
    range,
    [29, 30, 59, 60].map((at) => minute(at, one)),
  );
  expect(previous.sessions).toBe(1);
  expect(current.sessions).toBe(2);
  expect(buckets.map(({ screenViews }) => screenViews)).toEqual([1, ...Array(28).fill(0), 1]);
});

test('revenue adds up exactly, by currency', () => {
  const huge = '9007199254740993';
  const minutes = [
    minute(40, { revenue: { EUR: huge, USD: '-5' } }),
    minute(41, { revenue: { EUR: '1', USD: '5' } }),
  ];
  const { current } = memoryFigures(range, minutes);
  expect(current.revenue.get('EUR')).toBe(9_007_199_254_740_994n);
  expect(metricsOf(current, 'USD')).toMatchObject({
    total_revenue: 0,
    revenue_by_currency: { EUR: 90_071_992_547_409.94 },
  });
});

test('figures do not depend on the order of the lanes’ answers', () => {
  const minutes = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 70 }),
      screenViews: fc.nat(9),
      durationMs: fc.nat(1_000),
      visitors: fc.array(fc.nat(20), { maxLength: 5 }),
    }),
  );
  fc.assert(
    fc.property(minutes, (parts) => {
      const list = parts.map(({ at, ...part }) => minute(at, part));
      expect(memoryFigures(range, [...list].reverse())).toEqual(memoryFigures(range, list));
    }),
  );
});

test.each([
  [0, 0, 0],
  [3, 1, 33.33],
  [3, 3, 100],
  [7, 2, 28.57],
])('of %i sessions %i bounced: %f percent', (sessions, bounces, rate) => {
  const figures = {
    screenViews: 0,
    visitors: 0,
    sessions,
    bounces,
    durationMs: 0,
    revenue: new Map<string, bigint>(),
  };
  expect(metricsOf(figures, 'EUR').bounce_rate).toBe(rate);
});
