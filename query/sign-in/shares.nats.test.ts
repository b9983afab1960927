import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { VIEW_TOKEN } from '../http/browser-head.ts';
import { contentsOf } from '../manage/admin/testing/admin-program.ts';
import { shareCreated } from '../manage/share-api.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { GUESSES } from './guesses.ts';
import { VIEW_TOKEN_IDLE_MAX_MS } from './shares.ts';
import { openedShare, sharedAnswer } from './sign-in-api.ts';
import { IDLE_MAX_MS, RENEW_AFTER_MS } from './sign-in-record.ts';
import { CookieBrowser } from './testing/cookie-browser.ts';

const COOKIE = 'footfall-share';
const PASSPHRASE = 'four words are enough';
const POLL = { timeout: 60_000 };

let service: ManageService;
let root: ClientKey;
let firstUrl = '';
let secondUrl = '';

beforeAll(async () => {
  service = await startManageService(['team', 'others'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  for (const name of ['Shop', 'Blog']) await service.makeSite(root, name);
  firstUrl = await service.serve();
  secondUrl = await service.serve();
});
beforeEach(() => service.clock.advance(GUESSES.windowMs));
afterAll(() => service.stop());

async function share(given: object = {}, projectId = 'shop') {
  const body = { projectId, name: 'For the agency', ...given };
  const { data } = await service.read(shareCreated, root, 'POST', '/manage/shares', { body });
  const there = new CookieBrowser(firstUrl);
  await expect.poll(() => there.statusOf('GET', `/shared/${data.token}`), POLL).toBe(200);
  return data;
}

const open = (token: string, passphrase?: string, browser = new CookieBrowser(firstUrl), headers = {}) =>
  browser.ask('POST', `/shared/${token}/open`, {
    body: passphrase === undefined ? {} : { passphrase },
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  });

async function opened(token: string, passphrase?: string): Promise<CookieBrowser> {
  const browser = new CookieBrowser(firstUrl);
  expect((await open(token, passphrase, browser)).status).toBe(200);
  return browser;
}

test('a public link shows the overview of its site, and nothing else', async () => {
  const { token } = await share();
  const site = { id: 'shop', name: 'Shop', timezone: 'UTC', currency: 'USD', isPublic: false };
  const browser = new CookieBrowser(firstUrl);
  const shown = await browser.ask('GET', `/shared/${token}`);
  expect(sharedAnswer.parse(shown.json)).toEqual({ site, needsPassphrase: false });
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(401);
  const { json, cookies } = await open(token, undefined, browser);
  expect(openedShare.parse(json)).toMatchObject({ site, needsPassphrase: false });
  const seconds = (IDLE_MAX_MS + RENEW_AFTER_MS) / 1_000;
  expect(cookies.map((line) => line.replace(/=[^;]+/, '=…'))).toEqual([
    `${COOKIE}=…; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`,
  ]);
  // Without store and processor, permitted questions get 503.
  for (const path of ['references', 'metrics?range=7d', 'country?range=7d', 'pages?range=7d', 'live'])
    expect([200, 503], path).toContain(await browser.statusOf('GET', `/insights/shop/${path}`));
  expect(await browser.statusOf('GET', '/live/shop')).toBe(503);
  for (const path of [
    'profiles',
    'profiles/ada',
    'sessions',
    'events',
    'groups',
    'events/property_values?property=a',
    'live/token',
    'reports',
    'gsc/overview',
  ])
    expect([path, await browser.statusOf('GET', `/insights/shop/${path}`)]).toEqual([path, 403]);
  for (const name of [
    'profile.email',
    'profileId',
    'properties.plan',
    'sessionId',
    'group.name',
    'deviceId',
  ]) {
    const filters = JSON.stringify([{ name, operator: 'is', value: ['a'.repeat(32)] }]);
    const asked = `/insights/shop/metrics?filters=${encodeURIComponent(filters)}`;
    expect([name, await browser.statusOf('GET', asked)]).toEqual([name, 403]);
  }
  const byPath = encodeURIComponent(JSON.stringify([{ name: 'path', operator: 'is', value: ['/'] }]));
  expect(await browser.statusOf('GET', `/insights/shop/metrics?filters=${byPath}`)).toBe(503);
  expect(await browser.statusOf('GET', '/insights/blog/references')).toBe(403);
  expect(await browser.statusOf('GET', '/live/blog')).toBe(403);
  for (const path of [
    '/session',
    '/export/events?projectId=shop',
    '/manage/projects',
    '/manage/projects/shop',
  ])
    expect([path, await browser.statusOf('GET', path)]).toEqual([path, 401]);
  const change = { body: { name: 'Taken' } };
  expect(await browser.statusOf('PATCH', '/manage/projects/shop', change)).toBe(401);
});

test('a view token reads what the cookie may, without one, and each passes for itself alone', async () => {
  const browser = new CookieBrowser(firstUrl);
  const { viewToken, viewTokenExpiresAt } = openedShare.parse(
    (await open((await share()).token, undefined, browser)).json,
  );
  expect(Date.parse(viewTokenExpiresAt) - service.clock.nowMs()).toBe(VIEW_TOKEN_IDLE_MAX_MS);
  const framed = (path: string, token: string, url = firstUrl) =>
    new CookieBrowser(url).ask('GET', path, { headers: { [VIEW_TOKEN]: token } });
  for (const url of [firstUrl, secondUrl])
    expect((await framed('/insights/shop/references', viewToken, url)).status).toBe(200);
  for (const path of ['/insights/shop/profiles', '/insights/shop/events?limit=1', '/insights/shop/sessions'])
    expect([path, (await framed(path, viewToken)).status]).toEqual([path, 403]);
  expect((await framed('/insights/blog/references', viewToken)).status).toBe(403);
  expect((await framed('/manage/projects', viewToken)).status).toBe(401);
  // The cookie as a token, the token as a cookie, and an invented one.
  for (const wrong of [browser.cookie(COOKIE), `${viewToken.slice(0, -4)}AAAA`, 'x'])
    expect((await framed('/insights/shop/references', wrong)).status).toBe(401);
  const swapped = new CookieBrowser(firstUrl, new Map([[COOKIE, viewToken]]));
  expect(await swapped.statusOf('GET', '/insights/shop/references')).toBe(401);
  service.clock.advance(RENEW_AFTER_MS);
  const renewed = String((await framed('/insights/shop/references', viewToken)).headers[VIEW_TOKEN]);
  service.clock.advance(VIEW_TOKEN_IDLE_MAX_MS - RENEW_AFTER_MS);
  expect((await framed('/insights/shop/references', viewToken)).status).toBe(401);
  expect((await framed('/insights/shop/references', renewed)).status).toBe(200);
});

test('a link with a passphrase needs it, and an address that guesses is not heard', async () => {
  const { token } = await share({ passphrase: PASSPHRASE });
  const { json } = await new CookieBrowser(firstUrl).ask('GET', `/shared/${token}`);
  expect(json).toMatchObject({ needsPassphrase: true });
  expect((await open(token)).status).toBe(401);
  const guesser = { 'x-forwarded-for': '203.0.113.20' };
  for (let count = 0; count < GUESSES.failuresMax; count += 1) {
    const answer = await open(token, 'wrong words again', undefined, guesser);
    expect([answer.status, answer.cookies]).toEqual([401, []]);
  }
  expect((await open(token, PASSPHRASE, undefined, guesser)).status).toBe(429);
  const browser = await opened(token, PASSPHRASE);
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(200);
  // Its cookie replaces the passphrase; the cookie of another link does not.
  expect((await open(token, undefined, browser)).status).toBe(200);
  expect((await open(token, undefined, await opened((await share()).token))).status).toBe(401);
});

test('a link with a passphrase tells nothing of its site before it is open, and then as before', async () => {
  const { token } = await share({ passphrase: PASSPHRASE });
  const locked = await new CookieBrowser(firstUrl).ask('GET', `/shared/${token}`);
  expect(sharedAnswer.parse(locked.json)).toEqual({ site: null, needsPassphrase: true });
  for (const asked of [await open(token), await open(token, 'wrong words again')]) {
    expect(asked.status).toBe(401);
    for (const word of ['Shop', 'shop', 'USD', 'UTC']) expect(asked.text).not.toContain(word);
  }
  const browser = await opened(token, PASSPHRASE);
  const known = await browser.ask('GET', `/shared/${token}`);
  expect(known.json).toMatchObject({ site: { id: 'shop', currency: 'USD' }, needsPassphrase: true });
  // A page in a frame has a view token instead of the cookie.
  const { viewToken } = openedShare.parse((await open(token, PASSPHRASE)).json);
  const framed = new CookieBrowser(firstUrl);
  const headers = { [VIEW_TOKEN]: viewToken };
  expect((await framed.ask('GET', `/shared/${token}`, { headers })).json).toMatchObject({
    site: { id: 'shop' },
  });
  // A link of another site is no proof for this one; a person who may read the site needs none.
  const other = await opened((await share({}, 'blog')).token);
  expect((await other.ask('GET', `/shared/${token}`)).json).toMatchObject({ site: null });
  const people = [root, must(service.roots.others, 'so have the others')].map(({ id, secret }) => ({
    clientId: id,
    clientSecret: secret,
  }));
  const seen: unknown[] = [];
  for (const body of people) {
    const person = new CookieBrowser(firstUrl);
    expect(await person.statusOf('POST', '/sign-in', { body })).toBe(200);
    const { json } = await person.ask('GET', `/shared/${token}`);
    seen.push(sharedAnswer.parse(json).site?.id);
  }
  expect(seen).toEqual(['shop', undefined]);
});

test('revoking, another passphrase and the end of a link end what was opened, in every process', async () => {
  const revoked = await share();
  const changed = await share({ passphrase: PASSPHRASE });
  const expiresAt = new Date(service.clock.nowMs() + 60_000).toISOString();
  const ending = await share({ expiresAt });
  const browsers = [
    await opened(revoked.token),
    await opened(changed.token, PASSPHRASE),
    await opened(ending.token),
  ];
  const [ofRevoked, ofChanged, ofEnding] = browsers;
  const ends = async (browser: CookieBrowser | undefined) => {
    for (const each of [must(browser, 'it was opened'), must(browser, 'it was opened').at(secondUrl)])
      await expect.poll(() => each.statusOf('GET', '/insights/shop/references'), POLL).toBe(401);
  };
  for (const each of browsers)
    expect(await each.at(secondUrl).statusOf('GET', '/insights/shop/references')).toBe(200);
  await service.ask(root, 'DELETE', `/manage/shares/${revoked.id}`);
  await ends(ofRevoked);
  expect((await open(revoked.token)).status).toBe(404);
  await service.ask(root, 'PATCH', `/manage/shares/${changed.id}`, {
    body: { passphrase: 'other words than before' },
  });
  await ends(ofChanged);
  service.clock.advance(60_000);
  await ends(ofEnding);
  expect(await new CookieBrowser(firstUrl).statusOf('GET', `/shared/${ending.token}`)).toBe(404);
});

test('what was opened is renewed while it is used, and ends when it is not', async () => {
  const browser = await opened((await share()).token);
  const first = browser.cookie(COOKIE);
  service.clock.advance(IDLE_MAX_MS);
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(200);
  expect(browser.cookie(COOKIE)).not.toBe(first);
  service.clock.advance(IDLE_MAX_MS);
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(200);
  const late = new CookieBrowser(firstUrl, new Map([[COOKIE, first]]));
  expect(await late.statusOf('GET', '/insights/shop/references')).toBe(401);
});

test('a forged cookie and a wrong token open nothing', async () => {
  const { token } = await share();
  const cookie = (await opened(token)).cookie(COOKIE);
  const [text = '', signature = ''] = cookie.split('.');
  const claim = Buffer.from(text, 'base64url').toString().replace('2026', '2030');
  for (const forged of [
    `${Buffer.from(claim).toString('base64url')}.${signature}`,
    `${text}.${'A'.repeat(43)}`,
    'x',
  ]) {
    const browser = new CookieBrowser(firstUrl, new Map([[COOKIE, forged]]));
    expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(401);
  }
  for (const wrong of [`${token.slice(0, 32)}${'A'.repeat(43)}`, `${'0'.repeat(32)}${token.slice(32)}`, 'x'])
    expect((await open(wrong)).status).toBe(404);
  expect((await open(token, undefined, undefined, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
});

test('a person who signed in sees a link of another team, too, and keeps its own rights', async () => {
  const others = must(service.roots.others, 'so have the others');
  const browser = await opened((await share()).token);
  const body = { clientId: others.id, clientSecret: others.secret };
  expect(await browser.statusOf('POST', '/sign-in', { body })).toBe(200);
  expect(await browser.statusOf('GET', '/insights/shop/references')).toBe(200);
  expect(await browser.statusOf('GET', '/insights/shop/profiles')).toBe(403);
  expect(await browser.statusOf('GET', '/insights/blog/references')).toBe(404);
  expect(await browser.statusOf('GET', '/manage/projects/shop')).toBe(404);
  expect(await browser.statusOf('GET', '/manage/projects')).toBe(200);
});

test('a link ends with its site, and neither token nor passphrase is stored', async () => {
  const { id } = await service.makeSite(root, 'Short');
  const { token } = await share({ passphrase: PASSPHRASE }, id);
  const browser = await opened(token, PASSPHRASE);
  const stored = [...(await contentsOf(service.bus)).values()].map((base64) =>
    Buffer.from(base64, 'base64').toString(),
  );
  expect(stored.some((text) => text.includes('"tokenHash"'))).toBe(true);
  for (const secret of [token, token.slice(32), PASSPHRASE, browser.cookie(COOKIE)])
    expect(stored.filter((text) => text.includes(secret))).toEqual([]);
  await service.ask(root, 'DELETE', `/manage/projects/${id}`);
  await expect.poll(() => browser.statusOf('GET', `/insights/${id}/references`), POLL).toBe(401);
  expect((await open(token, PASSPHRASE)).status).toBe(404);
});

test.each([
  [{ name: '' }, 'name: '],
  [{ passphrase: 'short' }, 'passphrase: expected at least 12'],
  [{ expiresAt: 'soon' }, 'expiresAt: expected an ISO'],
  [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt: expected a time in the future'],
  [{ token: 'x' }, 'token: no such field'],
])('a link with %j is rejected by field', async (wrong, message) => {
  const body = { projectId: 'shop', name: 'A', ...wrong };
  const { json } = await service.ask(root, 'POST', '/manage/shares', { body });
  expect(json).toMatchObject({ status: 400, message: expect.stringContaining(message) });
});
