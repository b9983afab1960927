import type { ShownRequest } from '../example.ts';

/** The live visitors. */
export const LIVE_REQUESTS: readonly ShownRequest[] = [
  { operation: 'get /live/:projectId' },
  { operation: 'get /live/:projectId/events' },
  { operation: 'get /live/visitors/:projectId' },
  { operation: 'get /live/:projectId.json', query: { details: 'true' } },
  {
    operation: 'get /live/:projectId.svg',
    query: { label: 'on the site', color: 'blue', style: 'flat-square' },
  },
  { operation: 'get /live/:projectId/embed', query: { look: 'sparkline' } },
  { operation: 'get /widget.js' },
  { operation: 'get /wall.js' },
];

/** Signing in and out, and shared links. */
export const SIGN_IN_REQUESTS: readonly ShownRequest[] = [
  { operation: 'post /sign-in', title: 'link', body: { link: '{signInLink}' } },
  {
    operation: 'post /sign-in',
    title: 'user',
    body: { email: 'ada@shop.example', passphrase: 'four words are enough' },
  },
  {
    operation: 'post /sign-in',
    title: 'client',
    body: { clientId: '{rootClient}', clientSecret: '{rootSecret}' },
  },
  { operation: 'get /session' },
  { operation: 'post /sign-out', headers: { 'sec-fetch-site': 'same-origin' }, status: 204 },
  { operation: 'post /shared/:token/open', title: 'open', body: { passphrase: 'four words are enough' } },
  { operation: 'get /shared/:token' },
];

/** Health, metrics, pages and the description itself. */
export const OPERATIONS_REQUESTS: readonly ShownRequest[] = [
  { operation: 'get /', keep: { file: /dashboard\/(main-\w+\.js)/ } },
  { operation: 'get /shared-page' },
  { operation: 'get /dashboard/:file' },
  { operation: 'get /help' },
  { operation: 'get /healthz/live' },
  { operation: 'get /healthz/ready' },
  {
    operation: 'get /metrics',
    show: ['# TYPE query_questions_total', 'query_questions_total{kind="live"}'],
  },
  { operation: 'get /openapi.json', show: ['openapi'] },
  { operation: 'get /documentation' },
  { operation: 'get /documentation/viewer.js' },
];

/** One request for each error that all operations share. Only the error is shown. */
export const ERROR_REQUESTS: readonly ShownRequest[] = [
  { operation: 'get /insights/:projectId/pages', query: { limit: '0' }, status: 400 },
  {
    operation: 'get /insights/:projectId/pages',
    headers: { 'service-client-secret': 'sec_0123456789' },
    status: 401,
  },
  {
    operation: 'get /insights/:projectId/pages',
    path: { projectId: 'shop' },
    headers: { 'service-client-id': '{readClient}', 'service-client-secret': '{readSecret}' },
    status: 403,
  },
  { operation: 'get /insights/:projectId/pages', path: { projectId: 'store' }, status: 404 },
  { operation: 'post /manage/projects/:projectId/restore', body: {}, status: 409 },
  {
    operation: 'patch /manage/projects/:projectId',
    body: { name: 'Demo' },
    headers: { 'if-match': '"1"' },
    status: 412,
  },
  { operation: 'post /track', body: {}, headers: { 'content-type': 'text/xml' }, status: 415 },
  {
    operation: 'get /live/:projectId.json',
    headers: { 'service-client-id': '', 'service-client-secret': '' },
    flood: 110,
    status: 429,
  },
  // The service closes the connection of this one.
  { operation: 'post /track', body: { type: 'track', payload: { name: 'x'.repeat(65_536) } }, status: 413 },
];

/** Requests for answers while the store is unavailable. */
export const STORE_AWAY_REQUESTS: readonly ShownRequest[] = [
  { operation: 'get /healthz/ready', status: 503, until: { at: 'status', is: 'not ready' } },
];

/** Requests for errors meanwhile. */
export const STORE_AWAY_ERRORS: readonly ShownRequest[] = [
  { operation: 'get /insights/:projectId/gsc/overview', query: { range: '30d' }, status: 503 },
];
