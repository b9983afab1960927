import type { Examples } from './example.ts';

const path = { projectId: 'demo' };

/** Examples for retention and engagement. */
export const RETURNING_EXAMPLES: Examples = {
  'get /insights/:projectId/retention': {
    path,
    query: { startDate: '2025-12-15', endDate: '2025-12-28' },
    answer: [
      { date: '2025-12-15', active_users: 402, retained_users: 96, retention: 23.88 },
      { date: '2025-12-22', active_users: 365, retained_users: 73, retention: 20 },
    ],
  },
  'get /insights/:projectId/retention/cohort': {
    path,
    query: { interval: 'week', startDate: '2025-12-15', endDate: '2026-01-04', firstEvent: 'signup' },
    answer: [
      { cohort_interval: '2025-12-15', sum: 40, values: [40, 18, 11], percentages: [100, 45, 27.5] },
      { cohort_interval: '2025-12-22', sum: 32, values: [32, 12], percentages: [100, 37.5] },
      { cohort_interval: '2025-12-29', sum: 45, values: [45], percentages: [100] },
    ],
  },
  'get /insights/:projectId/engagement': {
    path,
    query: { startDate: '2026-01-03', endDate: '2026-01-05' },
    answer: {
      visitors: 88,
      recency: [
        { days: 0, visitors: 44 },
        { days: 1, visitors: 21 },
        { days: 2, visitors: 23 },
      ],
      frequency: [
        { days_active: 1, visitors: 70 },
        { days_active: 2, visitors: 13 },
        { days_active: 3, visitors: 5 },
      ],
      sessions: [
        { sessions: 0, sessions_max: 0, visitors: 1 },
        { sessions: 1, sessions_max: 1, visitors: 61 },
        { sessions: 2, sessions_max: 2, visitors: 19 },
        { sessions: 3, sessions_max: 3, visitors: 4 },
        { sessions: 4, sessions_max: 4, visitors: 0 },
        { sessions: 5, sessions_max: 5, visitors: 0 },
        { sessions: 6, sessions_max: 10, visitors: 2 },
        { sessions: 11, sessions_max: 20, visitors: 1 },
        { sessions: 21, sessions_max: 50, visitors: 0 },
        { sessions: 51, sessions_max: 100, visitors: 0 },
        { sessions: 101, sessions_max: null, visitors: 0 },
      ],
    },
  },
};
