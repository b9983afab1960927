import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import { Cluster } from '../cluster/cluster.ts';

// The page at /documentation in a real browser, over a real service: on a phone and at a desk, light and dark, and by
// keyboard. No request may leave the origin, whatever is done.

const chromium = await findChromium();
let cluster: Cluster;
let browser: Browser;
let url = '';
/** Exceptions, warnings and errors of the console, among them breaches of the content security policy. */
const troubles: string[] = [];
/** Requests to other origins. They are blocked. */
const outside: string[] = [];
/** Pages that several tests reuse, by where they began or for what they are: opening the documentation takes several seconds of a core. */
const shared = new Map<string, Page>();

interface Described {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>;
}

beforeAll(async () => {
  if (chromium === undefined) return;
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: [],
    withStore: false,
    env: { LOG_LEVEL: 'warn' },
  });
  url = cluster.url('web');
  browser = await startBrowser(chromium);
});

afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

afterEach(async () => {
  const kept = [...shared.values()].map((page) => page.context());
  for (const context of browser?.contexts() ?? []) if (!kept.includes(context)) await context.close();
  expect(outside.splice(0)).toEqual([]);
  expect(troubles.splice(0)).toEqual([]);
});

async function openPage(
  options: BrowserContextOptions = {},
  hash = '',
  path = '/documentation',
): Promise<Page> {
  const context = await browser.newContext(options);
  context.on('weberror', (failure) => troubles.push(String(failure.error())));
  context.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) troubles.push(message.text());
  });
  await context.route(
    (address) => address.protocol !== 'data:' && address.origin !== url,
    (route) => {
      outside.push(route.request().url());
      return route.abort();
    },
  );
  const page = await context.newPage();
  await page.goto(`${url}${path}${hash}`);
  if (path === '/documentation' && options.javaScriptEnabled !== false)
    await page.getByText('Client Libraries').first().waitFor();
  return page;
}

/** The page that an earlier test has opened there, at a desk, as that test left it; or a new one. */
async function sharedPage(hash = ''): Promise<Page> {
  const page = shared.get(hash) ?? (await openPage(DESK, hash));
  shared.set(hash, page);
  return page;
}

/** Goes to a part of a page that is open. */
async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  const part = page.locator(`[id$="${hash.slice(1)}"]`).first();
  await part.waitFor();
  await part.scrollIntoViewIfNeeded();
}

const PHONE = { viewport: { width: 390, height: 844 } };
const DESK = { viewport: { width: 1440, height: 900 } };
const PROJECTS = '#tag/manage/GET/manage/projects';
const METRICS = '#tag/insights/GET/insights/{projectId}/metrics';

describe.skipIf(chromium === undefined)('the page', () => {
  test('is gone through by keyboard: search first, then the contents', async () => {
    // Nothing may have had the focus yet: this is the first test on the shared page.
    const page = await sharedPage();
    await page.keyboard.press('Tab');
    expect(await focused(page)).toContain('Search');
    const group = page.getByRole('button', { name: /^Export Open Group/ });
    while (!(await focused(page)).startsWith('Export')) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await group.waitFor({ state: 'detached' });
    await page.keyboard.press('Tab');
    const operation = await focused(page);
    expect(operation).toContain('HTTP Method');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate<string>('location.hash')).toMatch(/^#tag\/export\/GET\/export\//);
  });

  test('lists every operation of the description', async () => {
    const { tags, paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Described;
    const page = await sharedPage();
    for (const { name } of tags) {
      const group = page.getByRole('button', { name: new RegExp(`^${name} (Open|Close) Group`) });
      if ((await group.getAttribute('aria-expanded')) === 'false') await group.click();
    }
    const listed = page.getByRole('button', { name: /HTTP Method/ });
    const described = Object.values(paths).flatMap((methods) =>
      Object.entries(methods).map(
        ([method, { summary }]) =>
          `${summary}HTTP Method: ${method === 'delete' ? 'DEL' : method.toUpperCase()}`,
      ),
    );
    await expect.poll(() => listed.count()).toBe(described.length);
    const shown = (await listed.allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());
    expect(shown.sort()).toEqual(described.sort());
  });

  test('finds an operation by words, and goes there by keyboard', async () => {
    const page = await sharedPage();
    await page.keyboard.press('Control+k');
    await expect.poll(() => page.evaluate<string>('document.activeElement.localName')).toBe('input');
    await page.keyboard.type('rotate');
    const found = page.getByRole('option');
    await expect.poll(() => found.allTextContents().then((texts) => texts.join())).toContain('/rotate');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.evaluate<string>('decodeURIComponent(location.hash)'))
      .toBe('#tag/manage/POST/manage/clients/{clientId}/rotate');
  });

  test('shows each request in several languages, as the example has it', async () => {
    const page = await sharedPage(METRICS);
    const shown = (text: string) =>
      page.locator('pre', { hasText: '/insights/demo/metrics' }).filter({ hasText: text }).waitFor();
    for (const [language, text] of [
      ['Node.js', "from 'undici'"],
      ['Python', 'import http.client'],
      ['Shell', 'startDate=2026-01-05&endDate=2026-01-05&interval=day'],
    ] as const) {
      await page.getByRole('tab', { name: language }).click();
      await shown(text);
    }
  });

  test('sends a request as the client whose id and secret are given, and shows the answer', async () => {
    const page = await sharedPage(METRICS);
    await goTo(page, PROJECTS);
    const { id, secret } = cluster.credentials.clients.root;
    // The form on top has one field for each header of the document's security schemes, in their order.
    const fields = page.locator('.scalar-password-input');
    await fields.nth(0).fill(id);
    await fields.nth(1).fill(secret);
    await page
      .getByRole('button', { name: /^Test Request.*\/manage\/projects\)?$/ })
      .first()
      .click();
    const answered = page.waitForResponse(`${url}/manage/projects`);
    await page.getByRole('button', { name: /^Send Request/ }).click();
    expect((await answered).status()).toBe(200);
    const headers = await (await answered).request().allHeaders();
    expect(headers).toMatchObject({ 'service-client-id': id, 'service-client-secret': secret });
    await page.getByText('200 OK').waitFor();
    await page.getByText('"demo"').first().waitFor();
  });

  test.each([
    ['the beginning', ''],
    ['a request with a body', '#tag/track/POST/track'],
    ['a question with parameters', METRICS],
  ])('is no wider than a phone: %s', async (_name, hash) => {
    const page = shared.get('phone') ?? (await openPage(PHONE));
    shared.set('phone', page);
    if (hash !== '') await goTo(page, hash);
    const [wide, shown] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    expect(wide).toBeLessThanOrEqual(shown);
  });

  test.each(['light', 'dark'] as const)('can be read where it is %s', async (colorScheme) => {
    // A page is light unless the browser says otherwise.
    const page =
      colorScheme === 'light' ? await sharedPage(METRICS) : await openPage({ ...DESK, colorScheme }, METRICS);
    const ground = luminance(await groundOf(page, '.section p'));
    expect(ground > 0.5).toBe(colorScheme === 'light');
    for (const selector of ['.section p', '.section h1, .section h2', 'aside button', 'pre code']) {
      const text = luminance(await colourOf(page, selector));
      const behind = luminance(await groundOf(page, selector));
      expect(contrast(text, behind), selector).toBeGreaterThanOrEqual(4.5);
    }
  });

  test('leads to the description where there is no JavaScript', async () => {
    const page = await openPage({ ...DESK, javaScriptEnabled: false });
    await page.getByRole('link', { name: 'openapi.json' }).click();
    expect(page.url()).toBe(`${url}/openapi.json`);
  });
});

describe.skipIf(chromium === undefined)('the start page', () => {
  const LINKS = [
    '/script.js',
    '/widget.js',
    '/documentation',
    '/openapi.json',
    '/healthz/ready',
    '/healthz/live',
    '/metrics',
  ];

  test('is at /help beside the dashboard, and its links lead to what is there, by keyboard', async () => {
    const page = await openPage(DESK, '', '/help');
    for (const path of LINKS) {
      await page.keyboard.press('Tab');
      const address = await page.evaluate<string>('document.activeElement.href');
      expect(address).toBe(url + path);
      // There is no store here.
      expect((await fetch(address)).status).toBe(path === '/healthz/ready' ? 503 : 200);
    }
    await page.getByRole('link', { name: 'API documentation' }).press('Enter');
    await page.getByText('Client Libraries').first().waitFor();
    expect(page.url()).toMatch(/\/documentation$/);
  });

  test.each(['light', 'dark'] as const)(
    'fits a phone and can be read where it is %s',
    async (colorScheme) => {
      const page = await openPage({ ...PHONE, colorScheme, javaScriptEnabled: true }, '', '/help');
      const [wide, shown] = await page.evaluate<[number, number]>(
        '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
      );
      expect(wide).toBeLessThanOrEqual(shown);
      const ground = luminance(await groundOf(page, 'li p'));
      expect(ground > 0.5).toBe(colorScheme === 'light');
      for (const selector of ['h1', 'p', 'li a', 'li code'])
        expect(contrast(luminance(await colourOf(page, selector)), ground), selector).toBeGreaterThanOrEqual(
          4.5,
        );
    },
  );
});

/** Text of the focused element. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent.trim()');
}

function colourOf(page: Page, selector: string): Promise<string> {
  return page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).color`);
}

/** The background colour of an element: its own, or the nearest ancestor's. */
function groundOf(page: Page, selector: string): Promise<string> {
  return page.evaluate<string>(`(() => {
    for (let one = document.querySelector('${selector}'); one !== null; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (!/^rgba\\(.*, 0\\)$/.test(colour)) return colour;
    }
  })()`);
}

/** The relative luminance of `rgb(…)` or `color(srgb …)`, 0 to 1, as the accessibility guidelines reckon it. */
function luminance(colour: string): number {
  const most = colour.startsWith('rgb') ? 255 : 1;
  const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/[\d.]+/g)]
    .map(([digits]) => Number(digits) / most)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
