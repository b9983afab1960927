import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { SearchCredentials } from '../search-console.ts';
import { GoogleClient } from './google-client.ts';
import {
  ACCOUNT,
  apiError,
  CLIENT,
  type GoogleFault,
  GoogleServer,
  PRIVATE_KEY,
  searchRows,
} from './testing/google-server.ts';

const OAUTH: SearchCredentials = {
  type: 'oauth',
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  refreshToken: CLIENT.refreshToken,
};
const SERVICE: SearchCredentials = {
  type: 'service_account',
  clientEmail: ACCOUNT,
  privateKey: PRIVATE_KEY,
};
const day = '2026-03-01';
const siteUrl = 'https://site.example/shop/';
const REQUEST = { siteUrl, day, startRow: 0, rowLimit: 10 };

let google: GoogleServer;
beforeAll(async () => {
  google = await GoogleServer.start();
  google.rows = searchRows([day], () => 12);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.asked.length = 0;
  google.grants.length = 0;
});

function clientOf(credentials: SearchCredentials, timeoutMs = 5_000) {
  let requests = 0;
  const client = new GoogleClient({
    credentials,
    baseUrl: google.url,
    timeoutMs,
    stopped: new AbortController().signal,
    onRequest: () => {
      requests += 1;
    },
  });
  return { client, requests: () => requests };
}

test.each([
  ['a refresh token', OAUTH, 'refresh_token'],
  ['the key of a service account', SERVICE, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
])('with %s rows come page by page, and one token serves all of them', async (_name, credentials, grant) => {
  const { client, requests } = clientOf(credentials);
  const first = await client.rows(REQUEST);
  const second = await client.rows({ ...REQUEST, startRow: 10 });
  expect([...first.rows, ...second.rows]).toEqual(google.rows);
  expect(google.grants).toEqual([grant]);
  expect(requests()).toBe(3);
  expect(google.asked[1]).toEqual({
    siteUrl,
    body: {
      startDate: day,
      endDate: day,
      dimensions: ['date', 'query', 'page'],
      type: 'web',
      dataState: 'all',
      rowLimit: 10,
      startRow: 10,
    },
  });
});

test('a day without rows is empty, and the first incomplete day is passed on', async () => {
  const { client } = clientOf(OAUTH);
  google.firstIncomplete = '2026-03-02';
  expect(await client.rows(REQUEST)).toMatchObject({ firstIncompleteDate: undefined });
  expect(await client.rows({ ...REQUEST, day: '2026-03-02' })).toEqual({
    rows: [],
    firstIncompleteDate: '2026-03-02',
  });
});

test.each([
  ['oauth', OAUTH],
  ['service_account', SERVICE],
])('a token that is rejected early is renewed once: %s', async (_name, credentials) => {
  const { client } = clientOf(credentials);
  await client.rows(REQUEST);
  google.expireTokens();
  expect((await client.rows(REQUEST)).rows.length).toBe(10);
  expect(google.grants.length).toBeGreaterThan(1);
  expect(google.grants.length).toBeLessThan(4);
});

test.each<[string, GoogleFault, string]>([
  ['403 forbidden', apiError(403, 'forbidden'), 'no-access'],
  ['403 API not enabled', apiError(403, 'accessNotConfigured'), 'no-access'],
  ['404', apiError(404, 'notFound'), 'no-access'],
  ['403 quota', apiError(403, 'quotaExceeded'), 'quota'],
  ['429', apiError(429, 'rateLimitExceeded'), 'quota'],
  ['429 without JSON', { status: 429, body: '<html>' }, 'quota'],
  ['500', apiError(500, 'backendError'), 'google-away'],
  ['503 without JSON', { status: 503, body: '' }, 'google-away'],
  ['400', apiError(400, 'invalid'), 'failed'],
  ['200 without JSON', { status: 200, body: '<html>' }, 'failed'],
  ['200 of another form', { status: 200, body: { rows: [{ keys: [day] }] } }, 'failed'],
  ['no end', 'hang', 'google-away'],
  ['a broken connection', 'cut', 'google-away'],
])('rows answered with %s are reported, and asked for once', async (_name, fault, reason) => {
  const { client } = clientOf(OAUTH, fault === 'hang' ? 200 : 5_000);
  google.rowFaults.push(fault);
  await expect(client.rows(REQUEST)).rejects.toMatchObject({ name: 'GoogleError', reason });
  expect(google.asked.length).toBe(1);
  expect((await client.rows(REQUEST)).rows.length).toBe(10);
});

test.each<[string, GoogleFault, string]>([
  ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'token-expired'],
  ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'token-expired'],
  ['500', { status: 500, body: 'oops' }, 'google-away'],
  ['429', { status: 429, body: { error: 'rate' } }, 'quota'],
  ['no end', 'hang', 'google-away'],
])('a token answered with %s is reported, and asked for once', async (_name, fault, reason) => {
  for (const credentials of [OAUTH, SERVICE]) {
    const { client, requests } = clientOf(credentials, fault === 'hang' ? 200 : 5_000);
    google.tokenFaults.push(fault);
    await expect(client.rows(REQUEST)).rejects.toMatchObject({ name: 'GoogleError', reason });
    expect(requests()).toBe(1);
  }
});

test('the time limit holds whatever memory is freed meanwhile', async () => {
  setFlagsFromString('--expose_gc');
  const freeing = setInterval(runInNewContext('gc') as () => void, 20);
  try {
    google.tokenFaults.push('hang');
    const asking = clientOf(OAUTH, 200).client.rows(REQUEST);
    await expect(asking).rejects.toMatchObject({ name: 'GoogleError', reason: 'google-away' });
  } finally {
    clearInterval(freeing);
  }
});

test('a wait that Google asks for is passed on', async () => {
  google.rowFaults.push(apiError(429, 'rateLimitExceeded', '120'));
  await expect(clientOf(OAUTH).client.rows(REQUEST)).rejects.toMatchObject({ retryAfterMs: 120_000 });
});

test('wrong credentials are reported as expired, without the secret', async () => {
  const wrong = { ...OAUTH, refreshToken: 'a-wrong-secret' };
  const error = await clientOf(wrong)
    .client.rows(REQUEST)
    .catch((cause: unknown) => cause);
  expect(error).toMatchObject({ reason: 'token-expired' });
  expect(String(error)).not.toContain('secret');
  const damaged = { ...SERVICE, privateKey: PRIVATE_KEY.replace(/\n.{20}/, '\n') };
  await expect(clientOf(damaged).client.rows(REQUEST)).rejects.toMatchObject({ reason: 'token-expired' });
});
