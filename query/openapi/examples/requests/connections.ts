import type { ShownRequest } from '../example.ts';

const GSC = '/manage/projects/:projectId/gsc';
const ALL = '/manage/integrations';
const ONE = `${ALL}/:integrationId`;

// The other ends of the connections are servers of the test, which knows the names in braces.

/** Search Console. */
export const SEARCH_CONSOLE_REQUESTS: readonly ShownRequest[] = [
  {
    operation: `post ${GSC}/rows`,
    body: {
      rows: [
        {
          date: '2026-01-02',
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
  },
  {
    operation: `put ${GSC}`,
    body: {
      siteUrl: 'sc-domain:shop.example',
      auth: {
        type: 'oauth',
        clientId: '{googleClient}',
        clientSecret: '{googleSecret}',
        refreshToken: '{googleToken}',
      },
    },
  },
  { operation: `get ${GSC}`, until: { at: 'data.sync.backfill.daysDone', is: 9 } },
  { operation: `delete ${GSC}` },
];

/** Makes an integration, before the events that it delivers. */
export const CONNECTING_REQUESTS: readonly ShownRequest[] = [
  {
    operation: `post ${ALL}`,
    body: {
      projectId: 'demo',
      name: 'Warehouse',
      type: 's3',
      bucket: 'shop-events',
      prefix: 'raw/footfall',
      endpoint: '{storage}',
      accessKeyId: '{storageKey}',
      secretAccessKey: '{storageSecret}',
    },
  },
  { operation: `post ${ONE}/test`, body: {} },
  { operation: `get ${ONE}`, until: { at: 'data.status.state', is: 'running' }, isShown: false },
];

/** Waits for a delivery, and then changes and deletes the integration. */
export const DELIVERING_REQUESTS: readonly ShownRequest[] = [
  { operation: `get ${ONE}`, until: { at: 'data.status.rows', is: 4 }, isShown: false },
  { operation: `post ${ONE}/pause`, body: {} },
  { operation: `post ${ONE}/backfill`, body: { from: '2025-12-01', to: '2025-12-31' } },
  { operation: `get ${ALL}`, query: { projectId: 'demo' } },
  {
    operation: `patch ${ONE}`,
    body: { accessKeyId: 'AKIAANOTHER', secretAccessKey: 'its secret access key' },
  },
  { operation: `post ${ONE}/resume`, body: {} },
  { operation: `get ${ONE}`, until: { at: 'data.status.state', is: 'failing' } },
  { operation: `delete ${ONE}` },
];
