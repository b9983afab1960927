import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { must } from '../../infra/assert.ts';
import { goalAnswer, segmentAnswer } from '../definitions/definition-records.ts';
import { shareCreated } from '../manage/share-api.ts';
import { type ClientKey, type ManageService, startManageService } from '../manage/testing/manage-service.ts';
import { CookieBrowser } from './testing/cookie-browser.ts';

const POLL = { timeout: 60_000 };
const EMAIL = [{ name: 'profile.email', operator: 'startsWith', value: ['a'] }];
const PATH = [{ name: 'path', operator: 'is', value: ['/'] }];

let service: ManageService;
let root: ClientKey;
let browser: CookieBrowser;

beforeAll(async () => {
  service = await startManageService(['team']);
  root = must(service.roots.team, 'the team has a root client');
  await service.makeSite(root, 'Shop');
  const url = await service.serve();
  const body = { projectId: 'shop', name: 'For the agency' };
  const { data } = await service.read(shareCreated, root, 'POST', '/manage/shares', { body });
  for (const [name, filters] of [
    ['people', EMAIL],
    ['places', PATH],
  ] as const) {
    const segment = { body: { name, filters } };
    const goal = { body: { name, type: 'event', event: 'signup', filters } };
    await service.read(segmentAnswer, root, 'POST', '/manage/projects/shop/segments', segment);
    await service.read(goalAnswer, root, 'POST', '/manage/projects/shop/goals', goal);
  }
  browser = new CookieBrowser(url);
  const until = (path: string, status: number) =>
    vi.waitFor(async () => expect(await browser.statusOf('GET', path)).toBe(status), POLL);
  await until(`/shared/${data.token}`, 200);
  await browser.ask('POST', `/shared/${data.token}/open`, { body: {} });
  // The last record has arrived, and with it the others.
  await until('/insights/shop/metrics?goal=places', 503);
});
afterAll(() => service.stop());

const documented = z.object({
  paths: z.record(
    z.string(),
    z.object({
      get: z.object({ parameters: z.array(z.object({ name: z.string() })).optional() }).optional(),
    }),
  ),
});

/** The paths of questions about the site that take a parameter. */
async function pathsWith(parameter: string): Promise<readonly string[]> {
  const { paths } = documented.parse((await browser.ask('GET', '/openapi.json')).json);
  return Object.entries(paths)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === parameter))
    .map(([path]) => path.replace('{projectId}', 'shop').replace(/\{\w+\}/g, 'a'))
    .filter((path) => path.startsWith('/insights/'));
}

test.each(['segment', 'goal'])('no question of a shared link takes a %s about people', async (parameter) => {
  const paths = await pathsWith(parameter);
  const refused: string[] = [];
  for (const path of paths) {
    const ask = (name: string) => browser.ask('GET', `${path}?range=7d&${parameter}=${name}`);
    service.clock.advance(10_000);
    const { status, text } = await ask('people');
    // Some questions lack a parameter of their own, which is checked first; a shared link gets no other of them.
    if (status === 400 && (await ask('places')).status === 400) continue;
    expect([path, status]).toEqual([path, 403]);
    if (text.includes('shows the overview')) continue;
    expect(text).toContain(`${parameter}: a shared link cannot use this ${parameter}`);
    refused.push(path);
    // Without a store, permitted questions get 503.
    expect([path, (await ask('places')).status]).toEqual([path, 503]);
  }
  const least = ['metrics', 'pages', 'pages/entry_exit', 'country', 'referrer_name', 'traffic/geo'];
  expect(refused).toEqual(expect.arrayContaining(least.map((path) => `/insights/shop/${path}`)));
});
