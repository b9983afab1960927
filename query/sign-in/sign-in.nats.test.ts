import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createSecret } from '../../infra/accounts/client-auth.ts';
import { must } from '../../infra/assert.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { sessionAnswer } from './sign-in-api.ts';
import { AGE_MAX_MS, GRACE_MS, IDLE_MAX_MS, RENEW_AFTER_MS } from './sign-in-record.ts';
import { SIGN_INS_OF_HOLDER_MAX } from './sign-ins.ts';
import { CookieBrowser, SAME_ORIGIN } from './testing/cookie-browser.ts';

const COOKIE = 'footfall-session';
/** Longer than the window in which failures of an address are counted. */
const FAILURE_WINDOW_MS = 11_000;

let service: ManageService;
let root: ClientKey;
let read: ClientKey;
let write: ClientKey;
let firstUrl = '';
let secondUrl = '';

beforeAll(async () => {
  service = await startManageService(['team', 'others'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  const site = await service.makeSite(root, 'Shop');
  await service.makeSite(root, 'Blog');
  await service.makeSite(must(service.roots.others, 'so have the others'), 'Foreign');
  write = site.write;
  read = await service.makeClient(root, { type: 'read', projectId: site.id });
  firstUrl = await service.serve();
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

const bodyOf = ({ id, secret }: ClientKey) => ({ clientId: id, clientSecret: secret });

async function signedIn(key: ClientKey, baseUrl = firstUrl): Promise<CookieBrowser> {
  const browser = new CookieBrowser(baseUrl);
  expect((await browser.ask('POST', '/sign-in', { body: bodyOf(key) })).status).toBe(200);
  return browser;
}

/** Waits until a browser gets this status. */
async function becomes(status: number, browser: CookieBrowser, path = '/session'): Promise<void> {
  await vi.waitFor(async () => expect(await browser.statusOf('GET', path)).toBe(status), { timeout: 60_000 });
}

test('a root client signs in, sees the sites of its team, and manages them', async () => {
  const browser = new CookieBrowser(firstUrl);
  const answer = await browser.ask('POST', '/sign-in', { body: bodyOf(root) });
  expect(answer.status).toBe(200);
  expect(answer.headers['cache-control']).toBe('no-store');
  const session = sessionAnswer.parse(answer.json);
  expect(session).toMatchObject({ name: 'root', kind: 'client', role: 'root' });
  expect(session.sites.map(({ name }) => name)).toEqual(['Blog', 'Shop']);
  expect(session.sites[0]).toEqual({
    id: 'blog',
    name: 'Blog',
    timezone: 'UTC',
    currency: 'USD',
    isPublic: false,
  });
  expect(sessionAnswer.parse((await browser.ask('GET', '/session')).json)).toEqual(session);
  expect(await browser.statusOf('GET', '/manage/projects')).toBe(200);
  expect(await browser.statusOf('PATCH', '/manage/projects/blog', { body: { name: 'Blog' } })).toBe(200);
  expect(await browser.statusOf('GET', '/manage/projects/foreign')).toBe(404);
  expect(await browser.statusOf('GET', '/insights/blog/references')).toBe(200);
});

test('a read client signs in, sees its own site and may not manage', async () => {
  const browser = await signedIn(read);
  const session = sessionAnswer.parse((await browser.ask('GET', '/session')).json);
  expect([session.role, session.sites.map(({ id }) => id)]).toEqual(['read', ['shop']]);
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(200);
  expect(await browser.statusOf('GET', '/insights/blog/references')).toBe(403);
  expect(await browser.statusOf('GET', '/manage/projects')).toBe(403);
  expect(await browser.statusOf('POST', '/manage/projects', { body: { name: 'No' } })).toBe(403);
});

test('whatever is wrong gets the same answer, and no cookie', async () => {
  service.clock.advance(FAILURE_WINDOW_MS);
  const wrong = [
    { ...bodyOf(root), clientSecret: createSecret() },
    { ...bodyOf(root), clientSecret: 'x' },
    { clientId: 'nobody', clientSecret: createSecret() },
    { clientId: root.id, clientSecret: read.secret },
    { link: 'x' },
    { link: 'q3ZyCk0WvVwS8nYl6bJr1xTgHfPdOa2mEuI5sKc7L9A' },
  ];
  const texts = new Set<string>();
  for (const body of wrong) {
    const answer = await new CookieBrowser(firstUrl).ask('POST', '/sign-in', { body });
    expect([answer.status, answer.cookies]).toEqual([401, []]);
    texts.add(answer.text);
  }
  expect(texts.size).toBe(1);
  expect(await new CookieBrowser(firstUrl).statusOf('POST', '/sign-in', { body: bodyOf(write) })).toBe(403);
});

test.each([
  [{ clientId: 'a' }, 'clientSecret: expected a text'],
  [{ clientId: '', clientSecret: 'b' }, 'clientId: expected a non-empty text'],
  [{ clientId: 'a'.repeat(1_001), clientSecret: 'b' }, 'clientId: expected at most 1000 characters'],
  [{ link: 7 }, 'link: expected a text'],
  [{ link: 'a', more: 1 }, 'more: no such field'],
])('a malformed body %j is rejected by field', async (body, message) => {
  const answer = await new CookieBrowser(firstUrl).ask('POST', '/sign-in', { body });
  expect(answer.json).toMatchObject({ status: 400, message });
});

test('wrong credentials of an address are limited, right ones are not', async () => {
  service.clock.advance(FAILURE_WINDOW_MS);
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  const body = { ...bodyOf(root), clientSecret: createSecret() };
  for (let count = 0; count < 100; count += 1)
    expect(await new CookieBrowser(firstUrl).statusOf('POST', '/sign-in', { body, headers })).toBe(401);
  const limited = await new CookieBrowser(firstUrl).ask('POST', '/sign-in', { body, headers });
  expect([limited.status, limited.headers['retry-after']]).toEqual([429, '10']);
  expect(
    await new CookieBrowser(firstUrl).statusOf('POST', '/sign-in', { body: bodyOf(root), headers }),
  ).toBe(200);
});

test('the cookie is for this service alone, and secure behind a proxy with TLS', async () => {
  const lineFor = async (headers: Record<string, string>, baseUrl = firstUrl) => {
    const { cookies } = await new CookieBrowser(baseUrl).ask('POST', '/sign-in', {
      body: bodyOf(root),
      headers,
    });
    expect(cookies.length).toBe(1);
    return must(cookies[0], 'a cookie').replace(/=[^;]+/, '=…');
  };
  const seconds = (IDLE_MAX_MS + RENEW_AFTER_MS) / 1_000;
  const plain = `${COOKIE}=…; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`;
  expect(await lineFor({})).toBe(plain);
  expect(await lineFor({ 'x-forwarded-proto': 'http' })).toBe(plain);
  expect(await lineFor({ 'x-forwarded-proto': 'https' })).toBe(`__Host-${plain}; Secure`);
  const below = await startManageService(['team'], {
    TRUSTED_PROXIES: '127.0.0.1',
    BASE_URL: 'https://stats.example/numbers/',
  });
  const body = bodyOf(must(below.roots.team, 'a root client'));
  const { cookies } = await new CookieBrowser(await below.serve()).ask('POST', '/sign-in', {
    body,
    headers: {},
  });
  expect(cookies[0]).toMatch(/^__Secure-footfall-session=.*; Path=\/numbers; .*; SameSite=Strict; Secure$/);
  await below.stop();
  const bare = await startManageService(['team'], { BASE_URL: 'https://stats.example/numbers/' });
  const direct = await new CookieBrowser(await bare.serve()).ask('POST', '/sign-in', {
    body: bodyOf(must(bare.roots.team, 'a root client')),
    headers: { 'x-forwarded-proto': 'https' },
  });
  expect(direct.cookies[0]).toMatch(/^footfall-session=.*; Path=\/; .*; SameSite=Strict$/);
  await bare.stop();
});

test('over TLS the cookie has a prefix, and one of before works until it is renewed', async () => {
  const tls = { ...SAME_ORIGIN, 'x-forwarded-proto': 'https' };
  const prefixed = `__Host-${COOKIE}`;
  const plain = await signedIn(root);
  const old = plain.cookie(COOKIE);
  expect(await plain.statusOf('GET', '/session', { headers: tls })).toBe(200);
  service.clock.advance(RENEW_AFTER_MS);
  expect(
    (await plain.ask('GET', '/session', { headers: tls })).cookies.map((line) =>
      line.replace(/=[^;]+/, '=…'),
    ),
  ).toEqual([
    expect.stringMatching(`^${prefixed}=…; Path=/; Max-Age=[1-9].*; Secure$`),
    `${COOKIE}=; Path=…; Max-Age=0; HttpOnly; SameSite=Strict; Secure`,
  ]);
  expect([plain.cookie(COOKIE), plain.cookie(prefixed) === old]).toEqual(['', false]);
  expect(await plain.statusOf('GET', '/session', { headers: tls })).toBe(200);
  // A sister domain can set the plain name only.
  const other = (await signedIn(read)).cookie(COOKIE);
  const tossed = new CookieBrowser(
    firstUrl,
    new Map([
      [COOKIE, other],
      [prefixed, plain.cookie(prefixed)],
    ]),
  );
  expect((await tossed.ask('GET', '/session', { headers: tls })).json).toMatchObject({ role: 'root' });
  // Without TLS no browser sends a name with a prefix.
  expect(await plain.statusOf('GET', '/session')).toBe(401);
  const out = await tossed.ask('POST', '/sign-out', { headers: tls });
  expect(out.cookies.map((line) => line.split(';', 1)[0])).toEqual([`${prefixed}=`, `${COOKIE}=`]);
});

const OTHERS: readonly (readonly [name: string, headers: Record<string, string>])[] = [
  ['another site', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }],
  ['a sister site', { 'sec-fetch-site': 'same-site' }],
  ['a typed address', { 'sec-fetch-site': 'none' }],
  ['another origin', { origin: 'https://evil.example' }],
  ['a hidden origin', { origin: 'null' }],
  ['nobody knows whom', {}],
];

test.each(OTHERS)('a change that %s asks for does nothing, with a valid cookie', async (_name, headers) => {
  const browser = await signedIn(root);
  const before = await browser.ask('GET', '/manage/projects');
  for (const [method, path, body] of [
    ['POST', '/manage/projects', { name: 'Forged' }],
    ['PATCH', '/manage/projects/blog', { name: 'Forged' }],
    ['DELETE', '/manage/projects/blog', undefined],
    ['POST', '/sign-out', undefined],
    ['POST', '/sign-in', bodyOf(read)],
  ] as const)
    expect([path, await browser.statusOf(method, path, { body, headers })]).toEqual([path, 403]);
  expect((await browser.ask('GET', '/manage/projects')).json).toEqual(before.json);
  expect(await browser.statusOf('GET', '/session')).toBe(200);
});

test('a page of another origin signs nobody in, and one of the same origin may say so by its origin alone', async () => {
  const { host, origin } = new URL(firstUrl);
  const body = bodyOf(root);
  const statusWith = (headers: Record<string, string>) =>
    new CookieBrowser(firstUrl).statusOf('POST', '/sign-in', { body, headers });
  expect(await statusWith({ origin: 'https://evil.example' })).toBe(403);
  expect(await statusWith({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await statusWith({ origin })).toBe(200);
  // Behind a proxy with TLS, a page without TLS is another origin.
  expect(await statusWith({ origin, 'x-forwarded-proto': 'https' })).toBe(403);
  expect(await statusWith({ origin: `https://${host}`, 'x-forwarded-proto': 'https' })).toBe(200);
  const browser = await signedIn(root);
  expect(await browser.statusOf('POST', '/sign-out', { headers: { origin } })).toBe(204);
});

test('credentials in the headers come before the cookie', async () => {
  const browser = await signedIn(root);
  const headers = { 'service-client-id': read.id, 'service-client-secret': read.secret };
  expect(await browser.statusOf('GET', '/manage/projects', { headers })).toBe(403);
  const wrong = { ...headers, 'service-client-secret': createSecret() };
  expect(await browser.statusOf('GET', '/insights/shop/references', { headers: wrong })).toBe(401);
});

test('a token is replaced while it is used, and the one before works for a short time', async () => {
  const browser = await signedIn(root);
  const old = browser.at(secondUrl);
  const first = browser.cookie(COOKIE);
  expect((await browser.ask('GET', '/session')).cookies).toEqual([]);
  service.clock.advance(RENEW_AFTER_MS);
  // Concurrent requests, some too late for the replacement, all get a token that works.
  const parallel = Array.from({ length: 5 }, () => browser.at(firstUrl));
  expect(await Promise.all(parallel.map((one) => one.statusOf('GET', '/manage/projects')))).toEqual(
    parallel.map(() => 200),
  );
  await vi.waitFor(async () => {
    await browser.ask('GET', '/session');
    expect(browser.cookie(COOKIE)).not.toBe(first);
  });
  for (const one of [...parallel, browser]) expect(await one.statusOf('GET', '/session')).toBe(200);
  // An answer that was lost on its way is given again, also by another process.
  const replayed = await old.ask('GET', '/session');
  expect([replayed.status, old.cookie(COOKIE)]).toEqual([200, browser.cookie(COOKIE)]);
  service.clock.advance(GRACE_MS);
  const late = new CookieBrowser(firstUrl, new Map([[COOKIE, first]]));
  expect((await late.ask('GET', '/session')).json).toMatchObject({ status: 401 });
  expect(await browser.statusOf('GET', '/session')).toBe(200);
});

test('a sign-in ends when it is not used, and at its age in any case', async () => {
  const idle = await signedIn(root);
  service.clock.advance(IDLE_MAX_MS);
  expect(await idle.statusOf('GET', '/session')).toBe(200);
  service.clock.advance(IDLE_MAX_MS + RENEW_AFTER_MS);
  expect(await idle.statusOf('GET', '/session')).toBe(401);
  const used = await signedIn(root);
  for (let ms = IDLE_MAX_MS; ms < AGE_MAX_MS; ms += IDLE_MAX_MS) {
    service.clock.advance(IDLE_MAX_MS);
    expect(await used.statusOf('GET', '/session')).toBe(200);
  }
  service.clock.advance(IDLE_MAX_MS);
  expect(await used.statusOf('GET', '/session')).toBe(401);
});

test('a wrong token is 401, also one of a real sign-in, and is counted by address', async () => {
  service.clock.advance(FAILURE_WINDOW_MS);
  const browser = await signedIn(root);
  const [id = ''] = browser.cookie(COOKIE).split('.');
  const statusWith = (token: string) =>
    new CookieBrowser(firstUrl, new Map([[COOKIE, token]])).statusOf('GET', '/session');
  for (const token of [`${id}.${'A'.repeat(43)}`, `${'0'.repeat(32)}.${'A'.repeat(43)}`, id, 'x', `${id}.`])
    expect(await statusWith(token)).toBe(401);
  for (let count = 5; count < 100; count += 1) await statusWith('x');
  expect(await statusWith('x')).toBe(429);
  expect(await browser.statusOf('GET', '/session')).toBe(200);
});

test('a sign-out in one process ends the sign-in in the others', async () => {
  service.clock.advance(FAILURE_WINDOW_MS);
  const browser = await signedIn(root);
  const elsewhere = browser.at(secondUrl);
  expect(await elsewhere.statusOf('GET', '/manage/projects')).toBe(200);
  const answer = await browser.ask('POST', '/sign-out');
  expect([answer.status, answer.text]).toEqual([204, '']);
  expect(answer.cookies).toEqual([`${COOKIE}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`]);
  await becomes(401, elsewhere);
  expect(await elsewhere.statusOf('GET', '/manage/projects')).toBe(401);
  expect(await browser.statusOf('POST', '/sign-out')).toBe(204);
});

test('a new secret and a deletion end the sign-ins of a client everywhere', async () => {
  const doomed = await service.makeClient(root, { type: 'read', projectId: 'shop' });
  const [one, other] = [await signedIn(doomed), (await signedIn(doomed)).at(secondUrl)];
  const rotated = await service.ask(root, 'POST', `/manage/clients/${doomed.id}/rotate`);
  expect(rotated.status).toBe(200);
  await becomes(401, one);
  await becomes(401, other);
  const { secret } = (rotated.json as { readonly data: ClientKey }).data;
  const again = await signedIn({ id: doomed.id, secret });
  await service.ask(root, 'DELETE', `/manage/clients/${doomed.id}`);
  await becomes(401, again);
  await becomes(401, again.at(secondUrl));
});

test('the limits of a client hold for its sign-ins', async () => {
  const limited = await service.makeClient(root, { type: 'read', projectId: 'shop' });
  const browser = await signedIn(limited);
  const change = (body: object) => service.ask(root, 'PATCH', `/manage/clients/${limited.id}`, { body });
  await change({ scopes: ['export'] });
  await becomes(403, browser, '/insights/shop/references');
  expect(await new CookieBrowser(firstUrl).statusOf('POST', '/sign-in', { body: bodyOf(limited) })).toBe(403);
  await change({ scopes: null, addresses: ['192.0.2.0/24'] });
  await becomes(403, browser, '/insights/shop/references');
  await change({ addresses: null, expiresAt: '2026-01-01T00:00:00Z' });
  await becomes(401, browser, '/insights/shop/references');
});

test('a client has so many sign-ins at most, and the oldest goes', async () => {
  const busy = await service.makeClient(root, { type: 'read', projectId: 'shop' });
  const browsers: CookieBrowser[] = [];
  for (let count = 0; count < SIGN_INS_OF_HOLDER_MAX; count += 1) {
    browsers.push(await signedIn(busy));
    service.clock.advance(1);
  }
  const [oldest, second] = browsers;
  expect(await must(oldest, 'the first').statusOf('GET', '/session')).toBe(200);
  const newest = await signedIn(busy);
  await becomes(401, must(oldest, 'the first'));
  expect(await must(second, 'the second').statusOf('GET', '/session')).toBe(200);
  expect(await newest.statusOf('GET', '/session')).toBe(200);
});

test('signing in again ends the sign-in of the same browser', async () => {
  const browser = await signedIn(root);
  const before = browser.at(firstUrl);
  expect(await browser.statusOf('POST', '/sign-in', { body: bodyOf(read) })).toBe(200);
  await becomes(401, before);
  expect(await browser.statusOf('GET', '/manage/projects')).toBe(403);
});
