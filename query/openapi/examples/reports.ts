import type { Examples } from './example.ts';

/** Examples for saved reports. */

const AT = '2026-01-05T09:00:00.000Z';
const DASHBOARD = '7c94e1b0-5a3d-4c68-b217-e0f6a9d8325c';
const REPORT = 'b5a07f3e-2c81-4d96-a4f5-19d3c6e8720b';
const path = { projectId: 'demo' };

const head = {
  id: REPORT,
  dashboardId: DASHBOARD,
  name: 'Return after sign-up',
  chartType: 'retention',
  range: 'custom',
  startDate: '2025-12-22',
  endDate: '2026-01-04',
  interval: 'week',
};
const times = { createdAt: AT, updatedAt: AT };

export const REPORT_EXAMPLES: Examples = {
  'get /insights/:projectId/reports': {
    path,
    query: { limit: '20' },
    answer: [{ ...head, dashboardName: 'Growth', position: 0, ...times }],
  },
  'get /insights/:projectId/reports/:reportId/data': {
    path: { ...path, reportId: REPORT },
    answer: {
      chartType: 'retention',
      report: {
        ...head,
        projectId: 'demo',
        series: [],
        breakdowns: [],
        options: { firstEvent: 'signup' },
        ...times,
      },
      data: [
        { cohort_interval: '2025-12-22', sum: 32, values: [32, 12], percentages: [100, 37.5] },
        { cohort_interval: '2025-12-29', sum: 45, values: [45], percentages: [100] },
      ],
    },
  },
};
