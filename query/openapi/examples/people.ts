import type { Examples } from './example.ts';

/** Examples for profiles and groups, in `insights.ts` with the events and sessions that they answer with. */

const path = { projectId: 'demo' };
const AT = '2026-01-05T09:12:44.120Z';
const revenue = { revenue: 59.97, revenueByCurrency: { EUR: 59.97 } };
const seen = { firstSeen: '2026-01-05T09:10:02.000Z', lastSeen: AT };

export const PEOPLE_EXAMPLES: Examples = {
  'get /insights/:projectId/profiles': {
    path,
    query: { search: 'ada', limit: '20' },
    answer: [
      {
        id: 'user-1',
        firstName: 'Ada',
        lastName: '',
        email: 'ada@shop.example',
        avatar: '',
        properties: { plan: 'pro', logins: '3' },
        groups: ['acme'],
        createdAt: AT,
        updatedAt: AT,
        ...seen,
        sessions: 1,
        ...revenue,
      },
    ],
  },
  'get /insights/:projectId/profiles/:profileId/metrics': {
    path: { ...path, profileId: 'user-1' },
    answer: {
      profileId: 'user-1',
      ...seen,
      sessions: 1,
      screenViews: 3,
      totalEvents: 4,
      conversionEvents: 1,
      uniqueDaysActive: 1,
      avgSessionDurationMin: 2.7,
      p90SessionDurationMin: 2.7,
      avgEventsPerSession: 4,
      avgTimeBetweenSessionsSec: 0,
      bounceRate: 0,
      ...revenue,
    },
  },
  'get /insights/:projectId/groups': {
    path,
    query: { type: 'company', limit: '20' },
    answer: [
      {
        id: 'acme',
        type: 'company',
        name: 'Acme',
        properties: { seats: '20' },
        createdAt: AT,
        updatedAt: AT,
        members: 1,
      },
    ],
  },
  'get /insights/:projectId/groups/types': {
    path,
    answer: [{ type: 'company', groups: 1 }],
  },
  'get /insights/:projectId/groups/:groupId/metrics': {
    path: { ...path, groupId: 'acme' },
    query: { range: '30d' },
    answer: {
      groupId: 'acme',
      members: 1,
      activeMembers: 1,
      sessions: 1,
      events: 4,
      screenViews: 3,
      ...revenue,
    },
  },
};
