import type { ShownRequest } from '../example.ts';

const PROJECTS = '/manage/projects';
const PROJECT = `${PROJECTS}/:projectId`;
const ofDemo = { projectId: 'demo' };
const passphrase = 'four words are enough';

/** Makes the records that questions show, and others ask for. */
export const MAKING_REQUESTS: readonly ShownRequest[] = [
  {
    operation: `post ${PROJECTS}`,
    body: { name: 'Shop', domain: 'https://shop.example', timezone: 'Europe/Berlin', currency: 'EUR' },
  },
  {
    operation: 'post /manage/clients',
    body: {
      name: 'Nightly export',
      type: 'read',
      ...ofDemo,
      expiresAt: '2027-01-01T00:00:00Z',
      scopes: ['export'],
      addresses: ['203.0.113.0/24', '2001:db8::/48'],
    },
  },
  {
    operation: 'post /manage/references',
    body: { ...ofDemo, title: 'Winter sale', date: '2026-01-05T08:00:00Z' },
  },
  {
    operation: `post ${PROJECT}/segments`,
    body: {
      name: 'Germany, by search',
      filters: [
        { name: 'country', operator: 'is', value: ['DE'] },
        { name: 'referrer_type', operator: 'is', value: ['search'] },
      ],
    },
  },
  {
    operation: `post ${PROJECT}/goals`,
    body: {
      name: 'Sign-up',
      type: 'event',
      event: 'signup',
      filters: [{ name: 'properties.plan', operator: 'is', value: ['pro'] }],
      value: 10,
    },
  },
  { operation: `post ${PROJECT}/dashboards`, body: { name: 'Sales' } },
  {
    operation: `post ${PROJECT}/dashboards/:dashboardId/reports`,
    body: {
      name: 'Sign-ups by plan',
      series: [{ name: 'signup', segment: 'user' }],
      breakdowns: [{ name: 'properties.plan' }],
    },
  },
  {
    operation: 'post /manage/shares',
    body: { ...ofDemo, name: 'For the agency', passphrase },
    keep: { token: 'data.token' },
  },
  {
    operation: 'post /manage/users',
    body: { name: 'Ada', email: 'ada@shop.example', role: 'read', sites: ['demo'], passphrase },
  },
];

/** Begins the erasure of a person, which takes the store some seconds. */
export const ERASING_REQUESTS: readonly ShownRequest[] = [
  { operation: `get ${PROJECT}/aliases`, until: { at: 'data.0.alias', is: 'visitor-77' } },
  { operation: `delete ${PROJECT}/aliases/:alias`, path: { alias: 'visitor-77' } },
  { operation: `delete ${PROJECT}/profiles/:profileId`, path: { profileId: 'user-1' } },
];

/** Waits for its end. */
export const ERASED_REQUESTS: readonly ShownRequest[] = [
  { operation: `get ${PROJECT}/erasures`, until: { at: 'data.0.status', is: 'done' } },
  { operation: `get ${PROJECT}/erasures/:erasureId` },
];

/** Deletes the site, which takes all that is below it, and restores it. */
export const DELETING_REQUESTS: readonly ShownRequest[] = [
  { operation: `delete ${PROJECT}` },
  { operation: `post ${PROJECT}/restore`, body: {} },
];

/** Lists, reads and changes one kind of record. */
function changing(
  list: string,
  name: string,
  { body, ...asking }: Pick<ShownRequest, 'body' | 'query' | 'rows'>,
): ShownRequest[] {
  const one = `${list}/:${name}`;
  return [
    { operation: `get ${list}`, ...asking },
    { operation: `get ${one}` },
    { operation: `patch ${one}`, body },
  ];
}

/** Lists, reads, changes and deletes the records. */
export const CHANGING_REQUESTS: readonly ShownRequest[] = [
  { operation: `get ${PROJECTS}` },
  { operation: `get ${PROJECT}` },
  { operation: `patch ${PROJECT}`, body: { outgoingLinks: true, filters: { paths: ['/internal/*'] } } },
  { operation: 'get /manage/audit', query: { ...ofDemo, limit: '1' } },
  // The clients of the first start are in no certain order.
  ...changing('/manage/clients', 'clientId', { query: ofDemo, rows: 1, body: { name: 'Shop backend' } }),
  { operation: 'post /manage/clients/:clientId/rotate', body: {} },
  { operation: 'delete /manage/clients/:clientId' },
  ...changing('/manage/shares', 'shareId', { query: ofDemo, body: { passphrase: null } }),
  { operation: 'delete /manage/shares/:shareId' },
  ...changing('/manage/users', 'userId', { body: { role: 'root' } }),
  { operation: 'delete /manage/users/:userId' },
  ...changing('/manage/references', 'referenceId', {
    query: ofDemo,
    body: { description: 'Banners and mail' },
  }),
  { operation: 'delete /manage/references/:referenceId' },
  ...changing(`${PROJECT}/segments`, 'segmentId', { body: { name: 'Germany' } }),
  { operation: `delete ${PROJECT}/segments/:segmentId` },
  ...changing(`${PROJECT}/goals`, 'goalId', { body: { value: 12.5 } }),
  { operation: `delete ${PROJECT}/goals/:goalId` },
  ...changing(`${PROJECT}/dashboards`, 'dashboardId', { body: { name: 'Sales and plans' } }),
  ...changing(`${PROJECT}/dashboards/:dashboardId/reports`, 'reportId', { body: { chartType: 'bar' } }),
  { operation: `delete ${PROJECT}/dashboards/:dashboardId/reports/:reportId` },
  { operation: `delete ${PROJECT}/dashboards/:dashboardId` },
];
