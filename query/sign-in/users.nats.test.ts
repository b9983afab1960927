import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { contentsOf } from '../manage/admin/testing/admin-program.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { userAnswer, usersAnswer } from '../manage/user-api.ts';
import { GUESSES } from './guesses.ts';
import { sessionAnswer } from './sign-in-api.ts';
import { CookieBrowser } from './testing/cookie-browser.ts';

const PASSPHRASE = 'four words are enough';

let service: ManageService;
let root: ClientKey;
let others: ClientKey;
let firstUrl = '';
let secondUrl = '';

beforeAll(async () => {
  service = await startManageService(['team', 'others'], { TRUSTED_PROXIES: '127.0.0.1' });
  root = must(service.roots.team, 'the team has a root client');
  others = must(service.roots.others, 'so have the others');
  for (const name of ['Shop', 'Blog', 'Docs']) await service.makeSite(root, name);
  firstUrl = await service.serve();
  secondUrl = await service.serve();
});
beforeEach(() => service.clock.advance(GUESSES.windowMs));
afterAll(() => service.stop());

interface Given {
  readonly email: string;
  readonly role?: 'root' | 'read';
  readonly sites?: readonly string[];
  readonly passphrase?: string;
}

async function makeUser(given: Given, key = root) {
  const body = { name: 'Ada', role: 'read', passphrase: PASSPHRASE, ...given };
  return (await service.read(userAnswer, key, 'POST', '/manage/users', { body })).data;
}

const attempt = (email: string, passphrase = PASSPHRASE, headers?: Record<string, string>) =>
  new CookieBrowser(firstUrl).ask('POST', '/sign-in', {
    body: { email, passphrase },
    ...(headers === undefined ? {} : { headers }),
  });

async function signedIn(email: string, passphrase = PASSPHRASE): Promise<CookieBrowser> {
  const browser = new CookieBrowser(firstUrl);
  await expect.poll(() => browser.statusOf('POST', '/sign-in', { body: { email, passphrase } })).toBe(200);
  return browser;
}

test('a user with the role read reads its sites and manages nothing', async () => {
  const user = await makeUser({ email: 'Reader@shop.example', sites: ['shop', 'blog', 'shop'] });
  expect(user).toMatchObject({ role: 'read', sites: ['shop', 'blog'], email: 'Reader@shop.example' });
  const browser = await signedIn('reader@SHOP.example');
  const session = sessionAnswer.parse((await browser.ask('GET', '/session')).json);
  expect(session).toMatchObject({ name: 'Ada', kind: 'user', role: 'read' });
  expect(session.sites.map(({ id }) => id)).toEqual(['blog', 'shop']);
  for (const [site, status] of [
    ['shop', 200],
    ['blog', 200],
    ['docs', 403],
    ['nowhere', 403],
  ] as const)
    expect([site, await browser.statusOf('GET', `/insights/${site}/references`)]).toEqual([site, status]);
  expect(await browser.statusOf('GET', '/manage/users')).toBe(403);
  expect(await browser.statusOf('POST', '/manage/projects', { body: { name: 'No' } })).toBe(403);
  expect(await browser.statusOf('GET', '/export/events')).toBe(400);
  expect(await browser.statusOf('GET', '/export/events?projectId=docs')).toBe(403);
  expect((await browser.ask('GET', '/insights/shop/live/token')).text).toContain('only a client gets tokens');
});

test('a user with the role root manages its team, and the audit log says who it was', async () => {
  const { id } = await makeUser({ email: 'boss@shop.example', role: 'root' });
  const browser = await signedIn('boss@shop.example');
  const { sites, role } = sessionAnswer.parse((await browser.ask('GET', '/session')).json);
  expect([role, sites.map(({ name }) => name)]).toEqual(['root', ['Blog', 'Docs', 'Shop']]);
  expect(await browser.statusOf('PATCH', '/manage/projects/docs', { body: { name: 'Docs' } })).toBe(200);
  const { json } = await service.ask(root, 'GET', '/manage/audit?action=PATCH&limit=1');
  expect(json).toMatchObject({
    data: [{ actor: 'user', userId: id, userName: 'Ada', clientId: null, clientName: null, status: 200 }],
  });
  await service.ask(root, 'DELETE', `/manage/users/${id}`);
  const after = await service.ask(root, 'GET', '/manage/audit?action=PATCH&limit=1');
  expect(after.json).toMatchObject({ data: [{ userId: id, userName: null }] });
  const stored = [...(await contentsOf(service.bus)).values()].map((base64) =>
    Buffer.from(base64, 'base64').toString(),
  );
  expect(stored.filter((text) => text.includes('boss@shop.example'))).toEqual([]);
});

test('a new role and new sites apply at once, a new passphrase and a deletion end sign-ins everywhere', async () => {
  const { id } = await makeUser({ email: 'grace@shop.example', sites: ['shop'] });
  const change = (body: object) => service.ask(root, 'PATCH', `/manage/users/${id}`, { body });
  const browser = await signedIn('grace@shop.example');
  const elsewhere = browser.at(secondUrl);
  const becomes = (one: CookieBrowser, path: string, status: number) =>
    expect.poll(() => one.statusOf('GET', path)).toBe(status);
  expect((await change({ sites: ['blog'] })).status).toBe(200);
  await becomes(elsewhere, '/insights/blog/references', 200);
  await becomes(browser, '/insights/shop/references', 403);
  expect((await change({ role: 'root' })).json).toMatchObject({ data: { role: 'root', sites: null } });
  await becomes(browser, '/manage/users', 200);
  expect((await change({ role: 'read', sites: ['docs'] })).status).toBe(200);
  await becomes(browser, '/manage/users', 403);
  expect((await change({ passphrase: 'another four words or so' })).status).toBe(200);
  await becomes(browser, '/session', 401);
  await becomes(elsewhere, '/session', 401);
  expect((await attempt('grace@shop.example')).status).toBe(401);
  const again = await signedIn('grace@shop.example', 'another four words or so');
  expect((await service.ask(root, 'DELETE', `/manage/users/${id}`)).status).toBe(200);
  await becomes(again, '/session', 401);
  await becomes(again.at(secondUrl), '/session', 401);
  expect((await attempt('grace@shop.example', 'another four words or so')).status).toBe(401);
});

test('a wrong passphrase and an unknown address get the same answer', async () => {
  await makeUser({ email: 'same@shop.example', sites: ['shop'] });
  await signedIn('same@shop.example');
  const answers = [
    await attempt('same@shop.example', 'wrong words again'),
    await attempt('nobody@shop.example'),
  ];
  expect(answers.map(({ status, cookies }) => [status, cookies.length])).toEqual([
    [401, 0],
    [401, 0],
  ]);
  expect(answers[0]?.text).toBe(answers[1]?.text);
});

test('an address that guesses passphrases is not heard, and nobody else is shut out', async () => {
  await makeUser({ email: 'target@shop.example', sites: ['shop'] });
  await signedIn('target@shop.example');
  const guesser = { 'x-forwarded-for': '203.0.113.9' };
  for (let count = 0; count < GUESSES.failuresMax; count += 1)
    expect((await attempt('target@shop.example', 'wrong words again', guesser)).status).toBe(401);
  const limited = await attempt('target@shop.example', PASSPHRASE, guesser);
  expect([limited.status, limited.headers['retry-after']]).toEqual([429, String(GUESSES.windowMs / 1_000)]);
  expect(
    (await attempt('target@shop.example', PASSPHRASE, { 'x-forwarded-for': '203.0.113.10' })).status,
  ).toBe(200);
  service.clock.advance(GUESSES.windowMs);
  expect((await attempt('target@shop.example', PASSPHRASE, guesser)).status).toBe(200);
});

test('an address is unique in its team, whatever its case, also for requests at once', async () => {
  const body = (email: string) => ({ name: 'Ada', email, role: 'root', passphrase: PASSPHRASE });
  await makeUser({ email: 'one@shop.example', sites: ['shop'] });
  const post = (email: string, baseUrl?: string) =>
    service.ask(root, 'POST', '/manage/users', {
      body: body(email),
      ...(baseUrl === undefined ? {} : { baseUrl }),
    });
  expect((await post('ONE@shop.example')).json).toMatchObject({
    status: 409,
    message: 'email: another user of the team has this address',
  });
  const raced = [firstUrl, secondUrl, firstUrl].map((baseUrl) => post('raced@shop.example', baseUrl));
  expect((await Promise.all(raced)).map(({ status }) => status).toSorted()).toEqual([200, 409, 409]);
  const { id } = await makeUser({ email: 'two@shop.example', sites: ['shop'] });
  const renamed = await service.ask(root, 'PATCH', `/manage/users/${id}`, {
    body: { email: 'One@shop.example' },
  });
  expect(renamed.status).toBe(409);
  const own = await service.ask(root, 'PATCH', `/manage/users/${id}`, {
    body: { email: 'Two@shop.example' },
  });
  expect(own.json).toMatchObject({ data: { email: 'Two@shop.example' } });
  const { data } = await service.read(usersAnswer, root, 'GET', '/manage/users');
  const emails = data.map(({ email }) => email.toLowerCase());
  expect(new Set(emails).size).toBe(emails.length);
});

test('people of two teams with one address sign in by their passphrases', async () => {
  await makeUser({ email: 'both@shop.example', role: 'root' });
  await makeUser({ email: 'both@shop.example', role: 'root', passphrase: 'words of the others' }, others);
  const browser = await signedIn('both@shop.example', 'words of the others');
  expect(sessionAnswer.parse((await browser.ask('GET', '/session')).json).sites).toEqual([]);
  const own = await signedIn('both@shop.example');
  expect(sessionAnswer.parse((await own.ask('GET', '/session')).json).sites.length).toBe(3);
});

test('a later site with the id of a purged one is another site', async () => {
  const { id: siteId } = await service.makeSite(root, 'Gone');
  await makeUser({ email: 'gone@shop.example', sites: ['shop', siteId] });
  const browser = await signedIn('gone@shop.example');
  expect(await browser.statusOf('GET', `/insights/${siteId}/references`)).toBe(200);
  await service.purge(root, siteId);
  expect((await service.makeSite(root, 'Gone')).id).toBe(siteId);
  await expect.poll(() => browser.statusOf('GET', `/insights/${siteId}/references`)).toBe(403);
  expect(
    await service.ask(root, 'GET', `/insights/${siteId}/references`, { baseUrl: firstUrl }),
  ).toMatchObject({
    status: 200,
  });
});

test.each([
  [{ passphrase: 'too short' }, 'passphrase: expected at least 12 characters'],
  [{ email: 'nobody' }, 'email: expected an e-mail address'],
  [{ role: 'write' }, 'role: '],
  [{ sites: undefined }, 'sites: missing'],
  [{ sites: [] }, 'sites: expected at least one site'],
  [{ role: 'root' }, 'sites: not allowed for the role root'],
  [{ passphraseHash: 'x' }, 'passphraseHash: no such field'],
])('a user of %j is rejected by field', async (wrong, message) => {
  const body = {
    name: 'A',
    email: 'a@shop.example',
    role: 'read',
    sites: ['shop'],
    passphrase: PASSPHRASE,
    ...wrong,
  };
  const { json } = await service.ask(root, 'POST', '/manage/users', { body });
  expect(json).toMatchObject({ status: 400, message: expect.stringContaining(message) });
});

test('a change must leave a user with sites or with the role root', async () => {
  const { id } = await makeUser({ email: 'change@shop.example', role: 'root' });
  const change = (body: object, headers = {}) =>
    service.ask(root, 'PATCH', `/manage/users/${id}`, { body, headers });
  expect((await change({ role: 'read' })).json).toMatchObject({
    status: 400,
    message: expect.stringMatching(/^sites: missing/),
  });
  expect((await change({ sites: ['shop'] })).status).toBe(400);
  expect((await change({ role: 'read', sites: ['foreign'] })).status).toBe(404);
  const { etag } = await service.ask(root, 'GET', `/manage/users/${id}`);
  expect((await change({ name: 'Once' }, { 'if-match': etag })).status).toBe(200);
  expect((await change({ passphrase: 'another passphrase' }, { 'if-match': etag })).status).toBe(412);
  await signedIn('change@shop.example');
});

test('no passphrase and no hash is answered, and no passphrase stored', async () => {
  for (const text of service.answers) expect(text).not.toMatch(/"passphraseHash"|scrypt|four words/);
  const stored = [...(await contentsOf(service.bus)).values()].map((base64) =>
    Buffer.from(base64, 'base64').toString(),
  );
  expect(stored.some((text) => text.includes('"passphraseHash":"scrypt-n32768-r8-p1:'))).toBe(true);
  expect(stored.filter((text) => text.includes(PASSPHRASE))).toEqual([]);
});
