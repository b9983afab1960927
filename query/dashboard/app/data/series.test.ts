import { expect, test } from 'vitest';
import type { SeriesAnswer } from './questions.ts';
import { drawnSeries, wallTime } from './series.ts';

const figures = {
  bounce_rate: 0,
  unique_visitors: 0,
  total_sessions: 0,
  avg_session_duration: 0,
  total_screen_views: 0,
  views_per_session: 0,
  total_revenue: 0,
  revenue_by_currency: {},
};

function answerOf(
  interval: SeriesAnswer['interval'],
  visitors: Readonly<Record<string, number>>,
): SeriesAnswer {
  return {
    metrics: figures,
    previous: figures,
    interval,
    references: [
      { id: '1', title: 'Launch', description: '', date: '2026-01-05T23:30:00.000Z' },
      { id: '2', title: 'Earlier', description: '', date: '2025-12-01T00:00:00.000Z' },
    ],
    series: Object.entries(visitors).map(([date, unique_visitors]) => ({
      ...figures,
      date,
      unique_visitors,
    })),
  };
}

const asked = {
  figure: 'unique_visitors' as const,
  now: '2026-01-06 10:30:00',
  wallOf: (iso: string) => wallTime(Date.parse(iso), 'Europe/Berlin'),
};

test('buckets that have not begun are no zeros, and the present one is open', () => {
  const today = answerOf('hour', {
    '2026-01-06 09:00:00': 1,
    '2026-01-06 10:00:00': 2,
    '2026-01-06 11:00:00': 0,
  });
  const drawn = drawnSeries(today, undefined, asked);
  expect(drawn.values).toEqual([1, 2, null]);
  expect(drawn.openAt).toBe(1);
  const past = answerOf('day', { '2026-01-04': 1, '2026-01-05': 0 });
  expect(drawnSeries(past, undefined, asked)).toMatchObject({ values: [1, 0], openAt: undefined });
  expect(drawnSeries(answerOf('week', { '2026-01-05': 4 }), undefined, asked).openAt).toBe(0);
});

test('what is compared lies under the bucket of the same number', () => {
  const answer = answerOf('day', { '2026-01-05': 1, '2026-01-06': 2 });
  const drawn = drawnSeries(answer, answerOf('day', { '2026-01-03': 7 }), asked);
  expect(drawn.compared).toEqual([7, null]);
  expect(drawn.comparedLabels).toEqual(['2026-01-03', undefined]);
});

test('a reference stands at the day of the site', () => {
  const drawn = drawnSeries(answerOf('day', { '2026-01-05': 1, '2026-01-06': 2 }), undefined, asked);
  expect(drawn.marks.map(({ at, title }) => [at, title])).toEqual([[1, 'Launch']]);
});
