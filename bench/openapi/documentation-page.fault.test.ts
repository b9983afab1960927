import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import { Cluster } from '../cluster/cluster.ts';

// The page at /documentation as a person has it: in a real browser, on a phone and at a desk, by day and by night, with
// and without script, and by keyboard.

const chromium = await findChromium();
let cluster: Cluster;
let browser: Browser;
let url = '';
/** Exceptions, console output and breaches of the content security policy. */
let troubles: string[] = [];
let requested: string[] = [];

beforeAll(async () => {
  if (chromium === undefined) return;
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: [],
    withStore: false,
    env: { PARTITIONS: '1', LOG_LEVEL: 'warn' },
  });
  url = cluster.url('web');
  browser = await startBrowser(chromium);
});

afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

afterEach(async () => {
  for (const context of browser?.contexts() ?? []) await context.close();
});

async function openPage(options: BrowserContextOptions = {}): Promise<Page> {
  troubles = [];
  requested = [];
  const context = await browser.newContext(options);
  context.on('weberror', (failure) => troubles.push(String(failure.error())));
  context.on('console', (message) => troubles.push(message.text()));
  context.on('request', (request) => requested.push(request.url()));
  const page = await context.newPage();
  await page.goto(`${url}/documentation`);
  return page;
}

const PHONE = { viewport: { width: 360, height: 740 } };
const DESK = { viewport: { width: 1440, height: 900 } };

describe.skipIf(chromium === undefined)('the page', () => {
  test('asks for nothing but itself, and has nothing to complain of', async () => {
    const page = await openPage(DESK);
    await page.waitForLoadState('networkidle');
    expect(requested.filter((one) => !one.startsWith('data:'))).toEqual([`${url}/documentation`]);
    expect(troubles).toEqual([]);
    // The script ran, and so the policy names it rightly.
    expect(await page.isVisible('#filter')).toBe(true);
  });

  test.each([
    ['a phone', PHONE],
    ['a desk', DESK],
  ])('is no wider than %s, also where everything is unfolded', async (_name, options) => {
    const page = await openPage(options);
    await page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true");
    const [wide, shown] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    expect(wide).toBeLessThanOrEqual(shown);
    // Or there would be nothing to scroll in a box of its own.
    const boxes = await page.evaluate<number>(
      "[...document.querySelectorAll('pre')].filter((box) => box.scrollWidth > box.clientWidth).length",
    );
    expect(boxes).toBeGreaterThan(0);
  });

  test.each(['light', 'dark'] as const)('can be read where it is %s', async (colorScheme) => {
    const page = await openPage({ ...DESK, colorScheme });
    const ground = luminance(await colourOf(page, 'body', 'background-color'));
    expect(ground > 0.5).toBe(colorScheme === 'light');
    for (const selector of ['main p', 'main a', '.type', '.quiet', '.method', 'pre code', 'nav a']) {
      const text = luminance(await colourOf(page, selector, 'color'));
      const behind = luminance(await groundOf(page, selector));
      expect(contrast(text, behind), selector).toBeGreaterThanOrEqual(4.5);
    }
  });

  test('is gone through by keyboard: past the contents, to every link and box, visibly', async () => {
    const page = await openPage(DESK);
    await page.keyboard.press('Tab');
    expect(await focused(page)).toBe('a.skip Skip to the content');
    expect(await page.isVisible('.skip')).toBe(true);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    const passed: string[] = [];
    for (let steps = 0; steps < 12; steps += 1) {
      await page.keyboard.press('Tab');
      passed.push(await focused(page));
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
    }
    expect(passed.some((element) => element.startsWith('pre '))).toBe(true);
    expect(passed.some((element) => element.startsWith('summary '))).toBe(true);
  });

  test('opens a group of the contents by keyboard, and leads to what is in it', async () => {
    const page = await openPage(DESK);
    const group = page.locator('nav summary').first();
    await group.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    const target = await page.evaluate<string>("document.activeElement.getAttribute('href')");
    expect(target).toMatch(/^#\w+/);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('location.hash')).toBe(target);
    const top = await page.evaluate<number>(
      'document.querySelector(location.hash).getBoundingClientRect().top',
    );
    expect(top).toBeGreaterThanOrEqual(0);
    expect(top).toBeLessThan(DESK.viewport.height);
  });

  test('finds an operation by words, and shows all again', async () => {
    const page = await openPage(DESK);
    const all = await page.locator('article:visible').count();
    await page.fill('#filter input', 'manage CLIENTS rotate');
    expect(await page.locator('article:visible').count()).toBe(1);
    expect(await page.locator('nav li[data-of]:visible').count()).toBe(1);
    expect(await page.textContent('#found')).toBe(`1 of ${all}`);
    await page.fill('#filter input', '');
    expect(await page.locator('article:visible').count()).toBe(all);
  });

  test('is whole without script', async () => {
    const page = await openPage({ ...DESK, javaScriptEnabled: false });
    expect(await page.isVisible('#filter')).toBe(false);
    expect(await page.locator('article').count()).toBeGreaterThan(50);
    expect(await page.locator('article:visible').count()).toBe(await page.locator('article').count());
  });

  test('has landmarks, headings in order, and a name for every table and box', async () => {
    const page = await openPage(DESK);
    for (const landmark of ['header', 'nav[aria-label]', 'main']) {
      expect(await page.locator(`body > ${landmark}`).count(), landmark).toBe(1);
    }
    const levels = await page.evaluate<number[]>(
      "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((heading) => Number(heading.tagName[1]))",
    );
    expect(levels[0]).toBe(1);
    expect(levels.filter((level, index) => index > 0 && level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
    const unnamed = await page.evaluate<number>(
      "[...document.querySelectorAll('table, pre, [role=region]')].filter((one) => !one.ariaLabel && !document.getElementById(one.getAttribute('aria-labelledby'))?.textContent).length",
    );
    expect(unnamed).toBe(0);
  });

  test('is printed with everything that is folded, and without the contents', async () => {
    const page = await openPage(DESK);
    const folded = page.locator('main details:not([open])');
    expect(await folded.count()).toBeGreaterThan(0);
    await page.evaluate("dispatchEvent(new Event('beforeprint'))");
    expect(await folded.count()).toBe(0);
    await page.emulateMedia({ media: 'print' });
    expect(await page.isVisible('nav')).toBe(false);
  });
});

/** The element that has the focus: what it is, its class, and how its text begins. */
function focused(page: Page): Promise<string> {
  return page.evaluate<string>(
    "((one) => one.localName + (one.className && '.' + one.className) + ' ' + one.textContent.slice(0, 40))(document.activeElement)",
  );
}

function colourOf(page: Page, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`,
  );
}

/** The colour behind an element: its own or that of the nearest one around it that has any. */
function groundOf(page: Page, selector: string): Promise<string> {
  return page.evaluate<string>(`(() => {
    for (let one = document.querySelector('${selector}'); one !== null; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (colour !== 'rgba(0, 0, 0, 0)') return colour;
    }
  })()`);
}

/** The relative luminance of `rgb(…)`, 0 to 1, as the accessibility guidelines reckon it. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/[\d.]+/g)]
    .map(([digits]) => Number(digits) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: number, b: number): number {
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
