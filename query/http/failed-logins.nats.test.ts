import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import { must } from '../../infra/assert.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';

const FAILURES_MAX = 100;
const WINDOW_MS = 10_000;
const GUESSER = '203.0.113.1';
const OWNER = '203.0.113.2';

let service: ManageService;
let root: ClientKey;
let other: ClientKey;

beforeAll(async () => {
  service = await startManageService(['team', 'others'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  other = must(service.roots.others, 'so have the others');
});
beforeEach(() => service.clock.advance(2 * WINDOW_MS));
afterAll(() => service.stop());

const askFrom = (address: string, key: ClientKey | undefined) =>
  service.ask(key, 'GET', '/manage/projects', { headers: { 'x-forwarded-for': address } });

/** Sends this many wrong secrets for the client of the team; returns how often each status came. */
async function guess(times: number, address = GUESSER): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (let count = 0; count < times; count += 1) {
    const { status } = await askFrom(address, { id: root.id, secret: createSecret() });
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

test('a right secret is accepted from the address that guesses, for the client that is guessed at', async () => {
  expect(await guess(FAILURES_MAX + 20)).toEqual({ 401: FAILURES_MAX, 429: 20 });
  for (const key of [root, other])
    for (const address of [GUESSER, OWNER]) expect((await askFrom(address, key)).status).toBe(200);
});

test('guesses at a client from many addresses do not limit its owner', async () => {
  for (let index = 0; index < 2 * FAILURES_MAX; index += 1)
    expect(await guess(1, `198.51.100.${index}`)).toEqual({ 401: 1 });
  expect((await askFrom(OWNER, root)).status).toBe(200);
});

test('wrong credentials of every kind count against the address that the trusted proxy names', async () => {
  const wrong = [
    undefined,
    { id: root.id, secret: createSecret() },
    { id: root.id, secret: 'x' },
    { id: 'nonsense', secret: createSecret() },
  ];
  for (let count = 0; count < FAILURES_MAX; count += 1)
    expect((await askFrom(GUESSER, wrong[count % wrong.length])).status).toBe(401);
  for (const key of wrong) {
    const { status, headers } = await askFrom(GUESSER, key);
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('10');
    expect(headers.get('ratelimit-limit')).toBe(String(FAILURES_MAX));
    expect(headers.get('ratelimit-remaining')).toBe('0');
    expect((await askFrom(OWNER, key)).status).toBe(401);
  }
  // Claims of the sender change nothing: they are left of the address that the proxy appended.
  expect((await askFrom(`${OWNER}, ${GUESSER}`, undefined)).status).toBe(429);
  service.clock.advance(WINDOW_MS);
  expect((await askFrom(GUESSER, undefined)).status).toBe(401);
});

test('the addresses of one IPv6 network are one', async () => {
  for (let index = 0; index < FAILURES_MAX; index += 1)
    expect(await guess(1, `2001:db8:0:1::${index.toString(16)}`)).toEqual({ 401: 1 });
  expect(await guess(1, '2001:db8:0:1:ffff::1')).toEqual({ 429: 1 });
  expect(await guess(1, '2001:db8:0:2::1')).toEqual({ 401: 1 });
});
