import type { Examples } from './example.ts';
import { INTEGRATION_EXAMPLES } from './integrations.ts';

/** Examples for sites, clients and the other control records. */

const AT = '2026-01-05T09:00:00.000Z';
const times = { createdAt: AT, updatedAt: AT };
// Ids that no installation has; `parameters.ts` says so.
const CLIENT = '3b1f6c52-94a7-4f0e-8d35-6a2c9be0417d';
const SHARE = '2c7e5b10-84df-4936-a1c8-f30b6d9e7a52';
const USER = '9f1c47d2-0b6e-4a83-8d59-c27e6f0a1b34';
const REFERENCE = '0d2f8a64-17c5-4b39-9e70-c58f1a3b6d24';
const DASHBOARD = '7c94e1b0-5a3d-4c68-b217-e0f6a9d8325c';
const REPORT = 'b5a07f3e-2c81-4d96-a4f5-19d3c6e8720b';
const SEGMENT = 'd94c1e07-6b2f-4a85-9c3d-70e8b5f1a264';
const GOAL = '6e2d0f94-b8a1-4c57-83f6-1d94e7c2a05b';
const ERASURE = '51e0c7b9-6f24-4a8d-b3e1-9d70f2a5c846';
const SECRET = `sec_${'0123456789abcdef0123'.repeat(2)}`;

const project = {
  id: 'demo',
  teamId: 'team',
  name: 'Demo',
  domain: 'https://shop.example',
  cors: ['https://shop.example'],
  timezone: 'Europe/Berlin',
  currency: 'EUR',
  types: ['website'],
  screenViews: true,
  outgoingLinks: false,
  attributes: false,
  hashChanges: false,
  sessionReplay: false,
  replaySampleRate: 1,
  replayNeedsConsent: false,
  paymentProviders: [],
  filters: { addresses: ['192.0.2.0/24'], profileIds: [], names: [], paths: ['/internal/*'] },
  allowUnsafeRevenue: false,
  allowUnsafeAliases: false,
  allowUnsafeIdentify: false,
  filterReferrerSpam: true,
  publicWidget: false,
  feed: true,
  feedSubject: 'feed.demo.>',
  retentionDays: null,
  eventsPerSecondMax: null,
  ...times,
  deletion: null,
};
const deleted = {
  ...project,
  feedSubject: null,
  deletion: {
    status: 'waiting',
    requestedAt: AT,
    purgeAt: '2026-01-06T09:00:00.000Z',
    restorable: true,
    remainingSeconds: 86_400,
    startedAt: null,
    finishedAt: null,
    step: '',
    rowsRemoved: {},
  },
};
const client = {
  id: CLIENT,
  name: 'Shop server',
  type: 'write',
  projectId: 'demo',
  teamId: 'team',
  ...times,
  expiresAt: null,
  scopes: ['track'],
  addresses: null,
  lastUsedAt: '2026-01-05T09:30:00.000Z',
};
/** Just created or with a new secret. */
const unusedClient = { ...client, lastUsedAt: null };
const readClient = {
  ...unusedClient,
  name: 'Nightly export',
  type: 'read',
  expiresAt: '2027-01-01T00:00:00.000Z',
  scopes: ['export'],
  addresses: ['203.0.113.0/24', '2001:db8::/48'],
};
const share = {
  id: SHARE,
  projectId: 'demo',
  name: 'For the agency',
  needsPassphrase: true,
  expiresAt: null,
  ...times,
};
const user = {
  id: USER,
  name: 'Ada',
  email: 'ada@shop.example',
  role: 'read',
  sites: ['demo'],
  teamId: 'team',
  ...times,
};
const erasure = {
  id: ERASURE,
  projectId: 'demo',
  status: 'waiting',
  profileDigest: '6b1d0a5e9c37f2841e60b8d4a97c35f20d8b6e1947a3c5f0826d9b4e7150ca38',
  ...times,
  finishedAt: null,
  rowsRemoved: {},
  aliasesErased: 0,
  aliasesUndone: 0,
};
const erased = {
  ...erasure,
  status: 'done',
  finishedAt: '2026-01-05T09:00:07.000Z',
  rowsRemoved: { events: 120, sessions: 34, profiles: 1, daily_pages: 12 },
  aliasesErased: 1,
};
const alias = { alias: 'visitor-77', profileId: 'user-1', verified: true, createdAt: AT };
const reference = {
  id: REFERENCE,
  projectId: 'demo',
  title: 'Spring campaign',
  description: '',
  date: '2026-02-28T23:00:00.000Z',
  ...times,
};
const segment = {
  id: SEGMENT,
  projectId: 'demo',
  name: 'Germany, by search',
  filters: [
    { name: 'country', operator: 'is', value: ['DE'] },
    { name: 'referrer_type', operator: 'is', value: ['search'] },
  ],
  ...times,
};
const goal = {
  id: GOAL,
  projectId: 'demo',
  name: 'Sign-up',
  type: 'event',
  event: 'signup',
  path: null,
  filters: [{ name: 'properties.plan', operator: 'is', value: ['pro'] }],
  value: 10,
  ...times,
};
const dashboard = { id: DASHBOARD, projectId: 'demo', name: 'Sales', reportOrder: [REPORT], ...times };
const report = {
  id: REPORT,
  projectId: 'demo',
  dashboardId: DASHBOARD,
  name: 'Sign-ups by plan',
  chartType: 'linear',
  range: '30d',
  interval: 'day',
  series: [{ name: 'signup', segment: 'user' }],
  breakdowns: [{ name: 'properties.plan' }],
  ...times,
};

const connection = {
  connected: true,
  siteUrl: 'sc-domain:shop.example',
  authType: 'oauth',
  account: '123456.apps.shop.example',
  state: 'connected',
};
const disconnected = {
  connected: false,
  siteUrl: null,
  authType: null,
  account: null,
  state: 'not-connected',
};
const inDemo = { projectId: 'demo' };
const ofShare = { shareId: SHARE };
const ofUser = { userId: USER };
const ofClient = { clientId: CLIENT };
const ofReference = { referenceId: REFERENCE };
const ofSegment = { ...inDemo, segmentId: SEGMENT };
const ofGoal = { ...inDemo, goalId: GOAL };
const ofDashboard = { ...inDemo, dashboardId: DASHBOARD };
const ofReport = { ...ofDashboard, reportId: REPORT };

const SEGMENTS = '/manage/projects/:projectId/segments';
const GOALS = '/manage/projects/:projectId/goals';
const DASHBOARDS = '/manage/projects/:projectId/dashboards';
const REPORTS = `${DASHBOARDS}/:dashboardId/reports`;
const GSC = '/manage/projects/:projectId/gsc';

export const MANAGE_EXAMPLES: Examples = {
  'get /manage/audit': {
    query: { projectId: 'demo', limit: '1' },
    answer: {
      data: [
        {
          id: '0d6d3a52-6f0b-4a0e-9d0b-3f8f7c1e2a41',
          at: '2026-01-05T09:00:00.000Z',
          actor: 'client',
          clientId: CLIENT,
          clientName: 'Operations',
          userId: null,
          userName: null,
          action: 'PATCH /manage/projects/{projectId}',
          projectId: 'demo',
          ids: {},
          made: null,
          profileDigest: null,
          fields: ['retentionDays', 'timezone'],
          status: 200,
        },
      ],
      nextCursor: '41',
    },
  },
  'get /manage/projects': { answer: { data: [project] } },
  'post /manage/projects': {
    body: { name: 'Shop', domain: 'https://shop.example', timezone: 'Europe/Berlin', currency: 'EUR' },
    answer: {
      data: {
        ...project,
        id: 'shop',
        name: 'Shop',
        feedSubject: 'feed.shop.>',
        client: { id: CLIENT, type: 'write', secret: SECRET },
      },
    },
  },
  'get /manage/projects/:projectId': { path: inDemo, answer: { data: project } },
  'patch /manage/projects/:projectId': {
    path: inDemo,
    body: { outgoingLinks: true, filters: { paths: ['/internal/*'] } },
    answer: { data: { ...project, outgoingLinks: true } },
  },
  'delete /manage/projects/:projectId': { path: inDemo, answer: { data: deleted } },
  'post /manage/projects/:projectId/restore': {
    path: inDemo,
    body: {},
    answer: {
      data: {
        ...project,
        updatedAt: '2026-01-05T21:30:00.000Z',
        restored: { requestedAt: AT, purgeAt: '2026-01-06T09:00:00.000Z', remainingSeconds: 41_400 },
      },
    },
  },
  'get /manage/clients': { query: { projectId: 'demo' }, answer: { data: [client] } },
  'post /manage/clients': {
    body: {
      name: 'Nightly export',
      type: 'read',
      projectId: 'demo',
      expiresAt: '2027-01-01T00:00:00Z',
      scopes: ['export'],
      addresses: ['203.0.113.0/24', '2001:db8::/48'],
    },
    answer: { data: { ...readClient, secret: SECRET } },
  },
  'get /manage/clients/:clientId': { path: ofClient, answer: { data: client } },
  'patch /manage/clients/:clientId': {
    path: ofClient,
    body: { name: 'Shop backend' },
    answer: { data: { ...client, name: 'Shop backend' } },
  },
  'delete /manage/clients/:clientId': { path: ofClient, answer: { data: client } },
  'post /manage/clients/:clientId/rotate': {
    path: ofClient,
    body: {},
    answer: { data: { ...client, secret: SECRET } },
  },
  'get /manage/shares': { query: { projectId: 'demo' }, answer: { data: [share] } },
  'post /manage/shares': {
    body: { projectId: 'demo', name: 'For the agency', passphrase: 'four words are enough' },
    answer: {
      data: {
        ...share,
        token: `${SHARE.replaceAll('-', '')}${'q3ZyCk0WvVwS8nYl6bJr1xTgHfPdOa2mEuI5sKc7L9A'}`,
      },
    },
  },
  'get /manage/shares/:shareId': { path: ofShare, answer: { data: share } },
  'patch /manage/shares/:shareId': {
    path: ofShare,
    body: { passphrase: null },
    answer: { data: { ...share, needsPassphrase: false } },
  },
  'delete /manage/shares/:shareId': { path: ofShare, answer: { data: share } },
  'get /manage/users': { answer: { data: [user] } },
  'post /manage/users': {
    body: {
      name: 'Ada',
      email: 'ada@shop.example',
      role: 'read',
      sites: ['demo'],
      passphrase: 'four words are enough',
    },
    answer: { data: user },
  },
  'get /manage/users/:userId': { path: ofUser, answer: { data: user } },
  'patch /manage/users/:userId': {
    path: ofUser,
    body: { role: 'root' },
    answer: { data: { ...user, role: 'root', sites: null } },
  },
  'delete /manage/users/:userId': { path: ofUser, answer: { data: user } },
  'get /manage/references': { query: { projectId: 'demo' }, answer: { data: [reference] } },
  'post /manage/references': {
    body: { projectId: 'demo', title: 'Spring campaign', date: '2026-03-01' },
    answer: { data: reference },
  },
  'get /manage/references/:referenceId': { path: ofReference, answer: { data: reference } },
  'patch /manage/references/:referenceId': {
    path: ofReference,
    body: { description: 'Banners and mail' },
    answer: { data: { ...reference, description: 'Banners and mail' } },
  },
  'delete /manage/references/:referenceId': { path: ofReference, answer: { data: reference } },
  'delete /manage/projects/:projectId/profiles/:profileId': {
    path: { projectId: 'demo', profileId: 'user-1' },
    answer: { data: erasure },
  },
  'get /manage/projects/:projectId/erasures': {
    path: { projectId: 'demo' },
    answer: { data: [erased] },
  },
  'get /manage/projects/:projectId/erasures/:erasureId': {
    path: { projectId: 'demo', erasureId: ERASURE },
    answer: { data: erased },
  },
  'get /manage/projects/:projectId/aliases': { path: inDemo, answer: { data: [alias] } },
  'delete /manage/projects/:projectId/aliases/:alias': {
    path: { projectId: 'demo', alias: 'visitor-77' },
    answer: { data: alias },
  },
  [`get ${SEGMENTS}`]: { path: inDemo, answer: { data: [segment] } },
  [`post ${SEGMENTS}`]: {
    path: inDemo,
    body: { name: segment.name, filters: segment.filters },
    answer: { data: segment },
  },
  [`get ${SEGMENTS}/:segmentId`]: { path: ofSegment, answer: { data: segment } },
  [`patch ${SEGMENTS}/:segmentId`]: {
    path: ofSegment,
    body: { name: 'Germany' },
    answer: { data: { ...segment, name: 'Germany' } },
  },
  [`delete ${SEGMENTS}/:segmentId`]: { path: ofSegment, answer: { data: segment } },
  [`get ${GOALS}`]: { path: inDemo, answer: { data: [goal] } },
  [`post ${GOALS}`]: {
    path: inDemo,
    body: { name: goal.name, type: goal.type, event: goal.event, filters: goal.filters, value: goal.value },
    answer: { data: goal },
  },
  [`get ${GOALS}/:goalId`]: { path: ofGoal, answer: { data: goal } },
  [`patch ${GOALS}/:goalId`]: {
    path: ofGoal,
    body: { value: 12.5 },
    answer: { data: { ...goal, value: 12.5 } },
  },
  [`delete ${GOALS}/:goalId`]: { path: ofGoal, answer: { data: goal } },
  [`get ${DASHBOARDS}`]: { path: inDemo, answer: [dashboard] },
  [`post ${DASHBOARDS}`]: { path: inDemo, body: { name: 'Sales' }, answer: { data: dashboard } },
  [`get ${DASHBOARDS}/:dashboardId`]: { path: ofDashboard, answer: { data: dashboard } },
  [`patch ${DASHBOARDS}/:dashboardId`]: {
    path: ofDashboard,
    body: { name: 'Sales and plans' },
    answer: { data: { ...dashboard, name: 'Sales and plans' } },
  },
  [`delete ${DASHBOARDS}/:dashboardId`]: { path: ofDashboard, answer: { data: dashboard } },
  [`get ${REPORTS}`]: { path: ofDashboard, answer: [report] },
  [`post ${REPORTS}`]: {
    path: ofDashboard,
    body: {
      name: 'Sign-ups by plan',
      series: [{ name: 'signup', segment: 'user' }],
      breakdowns: [{ name: 'properties.plan' }],
    },
    answer: { data: report },
  },
  [`get ${REPORTS}/:reportId`]: { path: ofReport, answer: { data: report } },
  [`patch ${REPORTS}/:reportId`]: {
    path: ofReport,
    body: { chartType: 'bar' },
    answer: { data: { ...report, chartType: 'bar' } },
  },
  [`delete ${REPORTS}/:reportId`]: { path: ofReport, answer: { data: report } },
  [`get ${GSC}`]: {
    path: inDemo,
    answer: {
      data: {
        ...connection,
        lastImportAt: AT,
        firstDate: '2025-12-01',
        lastDate: '2026-01-03',
        rows: 18_204,
        sync: {
          state: 'backfilling',
          backfill: { from: '2024-09-05', to: '2026-01-01', daysDone: 97, daysTotal: 484, percent: 20 },
          lastSyncedAt: AT,
          lastDay: '2026-01-04',
          preliminaryFrom: '2026-01-02',
          failure: null,
        },
      },
    },
  },
  [`put ${GSC}`]: {
    path: inDemo,
    body: {
      siteUrl: 'sc-domain:shop.example',
      auth: {
        type: 'oauth',
        clientId: '123456.apps.shop.example',
        clientSecret: 'the secret of the client',
        refreshToken: 'the refresh token',
      },
    },
    answer: { data: connection },
  },
  [`delete ${GSC}`]: { path: inDemo, answer: { data: disconnected } },
  [`post ${GSC}/rows`]: {
    path: inDemo,
    body: {
      rows: [
        {
          date: '2026-01-03',
          query: 'blue shoes',
          page: 'https://shop.example/shoes/blue',
          country: 'deu',
          device: 'mobile',
          clicks: 12,
          impressions: 340,
          position: 4.2,
        },
      ],
    },
    answer: { data: { imported: 1 } },
  },
  ...INTEGRATION_EXAMPLES,
};
