import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { openPage } from '../../ingest/tracker/testing/test-browser.ts';
import { startTestSite } from '../../ingest/tracker/testing/test-site.ts';
import type { LiveTokenAnswer } from '../../query/live/live-api.ts';
import { waitFor } from '../cluster/child-process.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { findings } from './axe-findings.ts';
import { knownDashboard, textsOf } from './known-dashboard.ts';
import { manage } from './site-settings.ts';

// The widget in the settings, in a real browser: it is live whether or not the number is public, and its code is honest.

/** In the browser. */
declare const getComputedStyle: (element: unknown) => { getPropertyValue(name: string): string };

const dashboard = await knownDashboard();
const PATIENCE = { timeout: 60_000 };
const HASH = '#/demo/settings?section=widget';

/** Notes every text that a number of a widget had. Widgets are found once they have a shadow. */
const RECORDER = `
  window.seen = [];
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    const root = attach.call(this, options);
    const note = () => {
      const number = root.querySelector('[part=number]');
      if (number !== null) window.seen.push(number.textContent);
    };
    new MutationObserver(note).observe(root, { childList: true, characterData: true, subtree: true });
    return root;
  };
`;

let site: SiteOfCluster;
let visitors = 0;

beforeAll(() => {
  if (dashboard.isAvailable) site = new SiteOfCluster(dashboard.cluster, 'web');
});

async function makePublic(publicWidget: boolean): Promise<void> {
  await manage(dashboard.cluster, 'PATCH', 'projects/demo', { publicWidget, cors: ['*'] });
  const asked = `${dashboard.cluster.url('web')}/live/demo.json`;
  const status = publicWidget ? 200 : 401;
  await waitFor('the site is as it was made', async () => (await fetch(asked)).status === status, 15_000);
}

/** A visitor who was not there before. */
async function visit(path: string): Promise<void> {
  const properties = { __deviceId: site.freshDevice(), __path: `https://known.example${path}` };
  expect((await site.send('track', { name: 'screen_view', properties })).status).toBe(200);
  visitors += 1;
}

const widgets = (page: Page) => page.locator('.widget-preview live-visitors');
const partsOf = (page: Page, part: string) =>
  widgets(page)
    .locator(`[part=${part}]`)
    .evaluateAll((all) => all.map((one) => one.textContent));
const numbersAre = (page: Page, number: number) =>
  expect.poll(() => partsOf(page, 'number'), PATIENCE).toEqual([String(number), String(number)]);
const styleOf = (element: Locator, property: string) =>
  element.evaluateAll(
    (all, name) => all.map((one) => getComputedStyle(one).getPropertyValue(name)),
    property,
  );

describe.skipIf(!dashboard.isAvailable)('where the number is not public', () => {
  test('the preview follows events because the browser is signed in, and no code contains a token', async () => {
    await makePublic(false);
    const page = await dashboard.open({ role: 'read' });
    const opened: string[] = [];
    page.on('websocket', (socket) => opened.push(socket.url()));
    await page.goto(`${dashboard.cluster.url('web')}/${HASH}`);
    await numbersAre(page, visitors);
    await visit('/');
    await visit('/pricing');
    await numbersAre(page, visitors);
    expect(opened).not.toHaveLength(0);
    for (const url of opened) expect(url).not.toContain('token');
    for (const look of ['number', 'badge', 'sparkline', 'pages']) {
      await page.getByLabel('Look').selectOption(look);
      const codes = await textsOf(page, '.code code');
      expect(codes).toHaveLength(3);
      expect(codes[1]).toContain('token="YOUR_TOKEN"');
      expect(codes[2]).toContain(`look=${look}&amp;token=YOUR_TOKEN`);
    }
    // Only managers of the site can make the number public.
    expect(await page.getByRole('button', { name: 'Make it public' }).count()).toBe(0);
    await page.getByText('A person who manages the site can do it.').waitFor();
  });

  test('the code shows the number in a page once a server has put a token into it, and keeps it while the token changes', async () => {
    const page = await dashboard.open({ hash: HASH });
    await page.getByLabel('Look').selectOption('badge');
    await page.getByLabel('Dot').fill('#ff0000');
    const [request = '', element = '', style = ''] = await page
      .locator('.code code')
      .evaluateAll((all) => all.map((one) => one.textContent ?? ''));
    const [, url = ''] = /^curl "([^"]+)"/.exec(request) ?? [];
    const { id, secret } = dashboard.cluster.credentials.clients.read;
    expect([...request.matchAll(/-H "([\w-]+): \$(\w+)"/g)].map(([, name, value]) => [name, value])).toEqual([
      ['service-client-id', 'CLIENT_ID'],
      ['service-client-secret', 'CLIENT_SECRET'],
    ]);
    const headers = { 'service-client-id': id, 'service-client-secret': secret };
    const answer = await fetch(url, { headers });
    const { token } = (await answer.json()) as LiveTokenAnswer;
    const other = await fetch(url.replace(/ttl=\d+/, 'ttl=1800'), { headers });
    const { token: next } = (await other.json()) as LiveTokenAnswer;
    expect(next).not.toBe(token);
    const host = await startTestSite();
    host.show('/without', `<!doctype html><style>${style}</style>${element}`);
    host.show('/with', `<!doctype html><style>${style}</style>${element.replace('YOUR_TOKEN', token)}`);
    const reader = await openPage(dashboard.browser);
    const number = reader.page.locator('live-visitors [part=number]');
    const sockets: string[] = [];
    reader.page.on('websocket', (socket) => sockets.push(socket.url()));
    await reader.page.addInitScript(RECORDER);
    await reader.page.goto(`${host.url}/with`);
    await expect.poll(() => number.textContent(), PATIENCE).toBe(String(visitors));
    expect(await styleOf(reader.page.locator('live-visitors [part=dot]'), 'background-color')).toEqual([
      'rgb(255, 0, 0)',
    ]);
    await reader.page.evaluate('window.seen = []');
    await reader.page
      .locator('live-visitors')
      .evaluate((widget, changed) => widget.setAttribute('token', changed), next);
    await expect.poll(() => sockets.filter((socket) => socket.includes(next)), PATIENCE).toHaveLength(1);
    await visit('/docs');
    await expect.poll(() => number.textContent(), PATIENCE).toBe(String(visitors));
    expect(await reader.page.evaluate('window.seen')).not.toContain('–');
    const [rejected] = await Promise.all([
      reader.page.waitForEvent('websocket').then((socket) => socket.waitForEvent('socketerror')),
      reader.page.goto(`${host.url}/without`),
    ]);
    expect(String(rejected)).toContain('HTTP Authentication failed');
    expect(await number.textContent()).toBe('–');
    await reader.close();
    await host.stop();
  });
});

describe.skipIf(!dashboard.isAvailable)('the looks', () => {
  const LOOKS: readonly (readonly [
    look: string,
    colors: readonly (readonly [label: string, part: string, property: string])[],
  ])[] = [
    ['number', [['Text', 'number', 'color']]],
    [
      'badge',
      [
        ['Text', 'label', 'color'],
        ['Background', 'row', 'background-color'],
        ['Dot', 'dot', 'background-color'],
      ],
    ],
    [
      'sparkline',
      [
        ['Text', 'label', 'color'],
        ['Dot', 'dot', 'background-color'],
        ['Line', 'line', 'stroke'],
      ],
    ],
    [
      'pages',
      [
        ['Text', 'page', 'color'],
        ['Dot', 'dot', 'background-color'],
      ],
    ],
  ];

  test.each(LOOKS)(
    '%s is tried with its colours on a light and on a dark page, and is accessible',
    async (look, colors) => {
      await visit('/');
      const page = await dashboard.open({ hash: HASH, browser: { reducedMotion: 'reduce' } });
      await page.getByLabel('Look').selectOption(look);
      await expect.poll(() => widgets(page).count(), PATIENCE).toBe(2);
      await numbersAre(page, visitors);
      if (look === 'pages')
        await expect
          .poll(() => partsOf(page, 'path'), PATIENCE)
          .toEqual(expect.arrayContaining(['/', '/docs']));
      if (look === 'sparkline')
        await expect
          .poll(
            () =>
              widgets(page)
                .locator('polyline')
                .evaluateAll((all) => all.map((one) => (one.getAttribute('points') ?? '').split(' ').length)),
            PATIENCE,
          )
          .toEqual([30, 30]);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await findings(page)).toEqual([]);
        expect(await styleOf(page.locator('.widget-page'), 'background-color')).toEqual([
          'rgb(255, 255, 255)',
          'rgb(18, 20, 22)',
        ]);
      }
      await expect.poll(() => page.locator('.color input').count()).toBe(colors.length);
      for (const [label, part, property] of colors) {
        const shown = () => styleOf(widgets(page).locator(`[part=${part}]`), property);
        const before = await shown();
        await page.getByLabel(label, { exact: true }).fill('#123456');
        await expect.poll(async () => new Set(await shown())).toEqual(new Set(['rgb(18, 52, 86)']));
        expect((await textsOf(page, '.code code')).join()).toContain('#123456');
        await page.getByRole('button', { name: `Reset ${label}` }).click();
        await expect.poll(shown).toEqual(before);
      }
      expect((await textsOf(page, '.code code')).join()).not.toContain('#');
      for (const width of [768, 360]) {
        await page.setViewportSize({ width, height: 800 });
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
    },
  );
});

describe.skipIf(!dashboard.isAvailable)('where the number is public', () => {
  test('the preview needs no token, and the code names the site alone', async () => {
    await makePublic(true);
    const page = await dashboard.open({ hash: HASH });
    await page.getByLabel('Look').selectOption('badge');
    await page.getByLabel('Words behind the number').fill('here "now"');
    expect((await textsOf(page, '.code code'))[0]).toContain(
      '<live-visitors site="demo" look="badge" label="here &quot;now&quot;"></live-visitors>',
    );
    await expect.poll(() => partsOf(page, 'label'), PATIENCE).toEqual(['here "now"', 'here "now"']);
    await numbersAre(page, visitors);
    await visit('/');
    await numbersAre(page, visitors);
    expect((await textsOf(page, '.code code')).join()).not.toContain('YOUR_TOKEN');
    const [wall] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'The wall page' }).click(),
    ]);
    await expect.poll(() => wall.locator('#number').textContent()).toMatch(/^\d+$/);
    await expect.poll(() => wall.locator('#today').textContent()).toMatch(/^\d+$/);
    await wall.close();
  });
});
