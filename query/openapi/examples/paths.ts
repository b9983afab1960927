import type { Examples } from './example.ts';

/** Examples for funnels and flows. */

const path = { projectId: 'demo' };

const reached = [
  {
    step: 1,
    eventName: 'screen_view',
    users: 412,
    conversionRateFromStart: 100,
    conversionRateFromPrevious: 100,
    dropoffPercent: 0,
    isHighestDropoff: false,
  },
  {
    step: 2,
    eventName: 'signup',
    users: 103,
    conversionRateFromStart: 25,
    conversionRateFromPrevious: 25,
    dropoffPercent: 75,
    isHighestDropoff: true,
  },
];
const totals = { totalUsers: 412, completedUsers: 103, overallConversionRate: 25 };

export const PATH_EXAMPLES: Examples = {
  'get /insights/:projectId/funnel': {
    path,
    query: {
      range: '30d',
      steps:
        '[{"name":"screen_view","filters":[{"name":"path","operator":"is","value":["/pricing"]}]},"signup"]',
      windowHours: '48',
      groupBy: 'profile_id',
      breakdown: 'country',
      between: 'true',
    },
    answer: {
      steps: [
        reached[0],
        {
          ...reached[1],
          between: { p50Seconds: 184.5, p90Seconds: 1_204.12, events: [{ name: 'click', events: 151 }] },
        },
      ],
      ...totals,
      breakdown: [{ value: 'DE', steps: reached, ...totals }],
      breakdownValues: 1,
    },
  },
  'get /insights/:projectId/user_flow': {
    path,
    query: { range: '7d', by: 'pages', start: '/pricing', direction: 'forward', depth: '1', limit: '1' },
    answer: {
      nodes: [
        {
          id: '0:value:/pricing',
          column: 0,
          value: '/pricing',
          sessions: 120,
          isOther: false,
          isExit: false,
        },
        { id: '1:value:/signup', column: 1, value: '/signup', sessions: 48, isOther: false, isExit: false },
        { id: '1:other', column: 1, value: null, sessions: 30, isOther: true, isExit: false },
        { id: '1:exit', column: 1, value: null, sessions: 42, isOther: false, isExit: true },
      ],
      links: [
        { source: '0:value:/pricing', target: '1:value:/signup', sessions: 48 },
        { source: '0:value:/pricing', target: '1:other', sessions: 30 },
        { source: '0:value:/pricing', target: '1:exit', sessions: 42 },
      ],
      sessions: 120,
    },
  },
};
