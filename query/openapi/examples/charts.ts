import type { Examples } from './example.ts';

/** An example chart: visitors by country on two days, compared with the two days before. */

const event = { id: 'A', name: 'screen_view', segment: 'user' };
const first = { sum: 19, average: 9.5, min: 8, max: 11, count: 17 };
const second = { sum: 4, average: 2, min: 0, max: 4, count: 4 };
const before = { sum: 12, average: 6, min: 5, max: 7, count: 12 };
const none = { sum: 0, average: 0, min: 0, max: 0, count: 0 };

export const CHART_EXAMPLES: Examples = {
  'get /export/charts': {
    query: {
      projectId: 'demo',
      series: JSON.stringify([{ name: 'screen_view', segment: 'user' }]),
      breakdowns: JSON.stringify([{ name: 'country' }]),
      startDate: '2026-01-05',
      endDate: '2026-01-06',
      interval: 'day',
      previous: 'true',
    },
    answer: {
      series: [
        {
          id: 'A:DE',
          names: ['DE'],
          event,
          metrics: { ...first, previous: before },
          data: [
            { date: '2026-01-05', count: 11, previous: 5 },
            { date: '2026-01-06', count: 8, previous: 7 },
          ],
        },
        {
          id: 'A:',
          names: [null],
          event,
          metrics: { ...second, previous: none },
          data: [
            { date: '2026-01-05', count: 4, previous: 0 },
            { date: '2026-01-06', count: 0, previous: 0 },
          ],
        },
      ],
      metrics: {
        sum: 23,
        average: 5.75,
        min: 0,
        max: 11,
        count: 21,
        previous: { sum: 12, average: 3, min: 0, max: 7, count: 12 },
      },
      references: [],
    },
  },
};
