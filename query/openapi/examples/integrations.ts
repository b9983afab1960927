import type { Examples } from './example.ts';

/** Examples for integrations. */

const AT = '2026-01-05T09:00:00.000Z';
/** An address reserved for documentation, so that requests copied from it reach no real host. */
const STORAGE = 'http://192.0.2.10:9000';
const INTEGRATION = 'e2c80f17-6b54-4d3a-8f19-b7a0d6c4935e';
const BACKFILL = '94d7a3c1-0e58-4b26-bd6f-27f1e8a05c93';

const starting = {
  state: 'starting',
  failure: null,
  lagSeconds: null,
  deliveredUntil: null,
  committedAt: null,
  sequence: 0,
  files: 0,
  rows: 0,
  bytes: 0,
  backfills: [],
};
const made = {
  id: INTEGRATION,
  teamId: 'team',
  projectId: 'demo',
  name: 'Warehouse',
  type: 's3',
  bucket: 'shop-events',
  prefix: 'raw/footfall',
  region: 'us-east-1',
  endpoint: STORAGE,
  pathStyle: true,
  accessKeyId: 'AKIAEXAMPLE',
  format: 'parquet',
  paused: false,
  createdAt: AT,
  updatedAt: AT,
  status: starting,
};
const waiting = {
  id: BACKFILL,
  from: '2025-12-01',
  to: '2025-12-31',
  requestedAt: '2026-01-06T08:00:00.000Z',
  state: 'waiting',
  daysDone: 0,
  daysTotal: 31,
  rows: 0,
  finishedAt: null,
};
const running = {
  ...made,
  updatedAt: '2026-01-06T08:00:00.000Z',
  status: {
    ...starting,
    state: 'running',
    lagSeconds: 212,
    deliveredUntil: '2026-01-06T08:04:10.000Z',
    committedAt: '2026-01-06T08:04:12.000Z',
    sequence: 278,
    files: 301,
    rows: 48_210,
    bytes: 3_918_226,
    backfills: [{ ...waiting, state: 'running', daysDone: 12, rows: 20_144 }],
  },
};
const failing = {
  ...running,
  status: {
    ...running.status,
    state: 'failing',
    failure: {
      reason: 'denied',
      message: '192.0.2.10:9000 denied the request for this access key (403 SignatureDoesNotMatch)',
      since: '2026-01-06T08:09:12.000Z',
      attempts: 3,
      nextTryAt: '2026-01-06T08:09:20.000Z',
    },
  },
};

const ALL = '/manage/integrations';
const ONE = `${ALL}/:integrationId`;
const path = { integrationId: INTEGRATION };

export const INTEGRATION_EXAMPLES: Examples = {
  [`get ${ALL}`]: { query: { projectId: 'demo' }, answer: { data: [running] } },
  [`post ${ALL}`]: {
    body: {
      projectId: 'demo',
      name: 'Warehouse',
      type: 's3',
      bucket: 'shop-events',
      prefix: 'raw/footfall',
      endpoint: STORAGE,
      accessKeyId: 'AKIAEXAMPLE',
      secretAccessKey: 'the secret access key',
    },
    answer: { data: made },
  },
  [`get ${ONE}`]: { path, answer: { data: failing } },
  [`patch ${ONE}`]: {
    path,
    body: { accessKeyId: 'AKIAANOTHER', secretAccessKey: 'its secret access key' },
    answer: { data: { ...failing, accessKeyId: 'AKIAANOTHER' } },
  },
  [`delete ${ONE}`]: { path, answer: { data: running } },
  [`post ${ONE}/test`]: {
    path,
    body: {},
    answer: {
      data: {
        ok: true,
        failure: null,
        message: 'object written, read back and removed',
        steps: [
          { name: 'write', ok: true, ms: 84 },
          { name: 'read', ok: true, ms: 22 },
          { name: 'remove', ok: true, ms: 25 },
        ],
      },
    },
  },
  [`post ${ONE}/pause`]: {
    path,
    body: {},
    answer: { data: { ...running, paused: true, status: { ...running.status, state: 'paused' } } },
  },
  [`post ${ONE}/resume`]: { path, body: {}, answer: { data: running } },
  [`post ${ONE}/backfill`]: {
    path,
    body: { from: '2025-12-01', to: '2025-12-31' },
    answer: { data: { ...running, status: { ...running.status, backfills: [waiting] } } },
  },
};
