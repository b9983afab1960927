import { afterAll, beforeAll, expect, test } from 'vitest';
import { clientKeyOf, clientSchema } from '../../infra/accounts/accounts.ts';
import { createSignInLink, LINK_AGE_MAX_MS } from '../../infra/accounts/sign-in-links.ts';
import { must } from '../../infra/assert.ts';
import { contentsOf, runAdmin } from '../manage/admin/testing/admin-program.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { sessionAnswer } from './sign-in-api.ts';
import { CookieBrowser } from './testing/cookie-browser.ts';

let service: ManageService;
let root: ClientKey;
let firstUrl = '';
let secondUrl = '';

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  firstUrl = await service.serve();
  secondUrl = await service.serve();
});
afterAll(() => service.stop());

async function recordOf({ id }: ClientKey) {
  const stored = must((await service.control.get(clientKeyOf(id)))?.bytes, 'the client is stored');
  return clientSchema.parse(JSON.parse(Buffer.from(stored).toString('utf8')));
}

const linkFor = async (key: ClientKey) =>
  createSignInLink(service.control, await recordOf(key), service.clock.nowMs());

function signIn(link: string, baseUrl = firstUrl) {
  return new CookieBrowser(baseUrl).ask('POST', '/sign-in', { body: { link } });
}

test('a link signs in as its client, once', async () => {
  const link = await linkFor(root);
  const { status, json, cookies } = await signIn(link);
  expect([status, cookies.length]).toEqual([200, 1]);
  expect(sessionAnswer.parse(json)).toMatchObject({ name: 'root', kind: 'client', role: 'root' });
  for (const baseUrl of [firstUrl, secondUrl]) expect((await signIn(link, baseUrl)).status).toBe(401);
});

test('of uses at once, in any process, one is right', async () => {
  for (let round = 0; round < 10; round += 1) {
    const link = await linkFor(root);
    const uses = [firstUrl, secondUrl, firstUrl, secondUrl].map((baseUrl) => signIn(link, baseUrl));
    const statuses = (await Promise.all(uses)).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([200, 401, 401, 401]);
    service.clock.advance(11_000);
  }
});

test('a link ends after an hour, and cannot be tried again afterwards', async () => {
  const early = await linkFor(root);
  const late = await linkFor(root);
  service.clock.advance(LINK_AGE_MAX_MS - 1);
  expect((await signIn(early)).status).toBe(200);
  service.clock.advance(1);
  expect((await signIn(late)).status).toBe(401);
});

test('a link ends with the secret of its client', async () => {
  const site = await service.makeSite(root, 'Shop');
  const read = await service.makeClient(root, { type: 'read', projectId: site.id });
  const link = await linkFor(read);
  await service.ask(root, 'POST', `/manage/clients/${read.id}/rotate`);
  await expect.poll(async () => (await signIn(await linkFor(read))).status).toBe(200);
  expect((await signIn(link)).status).toBe(401);
  const other = await linkFor(read);
  await service.ask(root, 'DELETE', `/manage/clients/${read.id}`);
  expect((await signIn(other)).status).toBe(401);
});

test('the token of a link and that of a cookie are not stored', async () => {
  const link = await linkFor(root);
  const used = await linkFor(root);
  const browser = new CookieBrowser(firstUrl);
  expect(await browser.statusOf('POST', '/sign-in', { body: { link: used } })).toBe(200);
  const [, secret = ''] = browser.cookie('footfall-session').split('.');
  expect(secret.length).toBe(43);
  const stored = [...(await contentsOf(service.bus))].map(
    ([path, base64]) => path + Buffer.from(base64, 'base64').toString('utf8'),
  );
  expect(stored.some((text) => text.startsWith('control/link.'))).toBe(true);
  expect(stored.some((text) => text.startsWith('control/signin.'))).toBe(true);
  for (const token of [link, used, secret, root.secret])
    expect(stored.filter((text) => text.includes(token))).toEqual([]);
});

test('the command prints a link that works, and has an entry in the audit log', async () => {
  const env = { BASE_URL: 'https://stats.example/numbers/' };
  const { code, stdout } = await runAdmin(service.natsUrl, ['sign-in', '--json'], env);
  expect(code).toBe(0);
  const { data } = JSON.parse(stdout) as {
    readonly data: { readonly url: string; readonly clientId: string };
  };
  expect(data.clientId).toBe(root.id);
  const [, link = ''] = /^https:\/\/stats\.example\/numbers\/#sign-in=([\w-]{43})$/.exec(data.url) ?? [];
  // The command uses the machine's time, the service the test's.
  service.clock.advance(Date.now() - service.clock.nowMs());
  expect((await signIn(link)).status).toBe(200);
  const audit = await service.ask(root, 'GET', '/manage/audit?action=admin');
  expect(audit.json).toMatchObject({
    data: [{ actor: 'admin', action: 'admin sign-in', ids: { clientId: root.id } }],
  });
  expect(audit.text).not.toContain(link);
});

test('the command names what it cannot do', async () => {
  const site = await service.makeSite(root, 'Other');
  const failing = async (...args: string[]) => (await runAdmin(service.natsUrl, ['sign-in', ...args])).stderr;
  expect(await failing('--client', site.write.id)).toContain('is a write client, which cannot sign in');
  expect(await failing('--team', 'nobody')).toContain('unknown team "nobody"');
  expect(await failing('--url', 'stats')).toContain('--url: expected a URL');
});
