import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../infra/durations.ts';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import type { LiveNumberAnswer } from '../../query/live/live-api.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { textsOf } from './known-dashboard.ts';
import { type SentEvent, sendEvents } from './sent-visits.ts';
import { manage } from './site-settings.ts';

// The wall page over a real service: its numbers equal visits counted by hand, and change with real events. Pages come from
// `screens`, a process that only answers, so it can be killed while `web` collects.

const chromium = await findChromium();
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Maximum time for reloads and backoffs. */
const PATIENCE = { timeout: 60_000 };

/**
 * Records every number shown, every move of rows, and every lock that keeps the screen on. A breach of the page's policy goes to
 * the console, where it fails the test.
 */
const RECORDER = `
  window.seen = [];
  window.moves = [];
  window.locks = 0;
  window.sockets = 0;
  addEventListener('securitypolicyviolation', ({ violatedDirective }) => console.error('policy: ' + violatedDirective));
  document.addEventListener('DOMContentLoaded', () => {
    const root = document.querySelector('#number');
    if (root === null) return;
    const note = () => window.seen.push(root.textContent);
    note();
    new MutationObserver(note).observe(root, { childList: true, characterData: true, subtree: true });
  });
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (frames, timing) {
    window.moves.push(this.querySelector('.name').textContent + ' ' + Object.keys(frames[0])[0]);
    return animate.call(this, frames, timing);
  };
  Object.defineProperty(navigator, 'wakeLock', { value: { request: async () => { window.locks += 1; } } });
  const Socket = WebSocket;
  window.WebSocket = class extends Socket { constructor(url) { super(url); window.sockets += 1; } };
`;

let cluster: Cluster;
let browser: Browser;
let site: SiteOfCluster;
let opened: Page[] = [];
let troubles: string[] = [];

beforeAll(async () => {
  if (chromium === undefined) return;
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], screens: ['query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', QUERY_LIMIT_PER_10_S: '0', SECRETS_KEY: '5'.repeat(64) },
  });
  await cluster.ready('web');
  await cluster.ready('screens');
  site = new SiteOfCluster(cluster, 'web');
  await manage(cluster, 'PATCH', 'projects/demo', { timezone: zoneWhereItIsNoon(Date.now()) });
  await sendEvents(cluster, 'web', visits(Date.now()));
  browser = await startBrowser(chromium);
});

afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});

afterEach(async () => {
  for (const page of opened) await page.context().close();
  opened = [];
  const found = troubles;
  troubles = [];
  expect(found).toEqual([]);
});

/** Half a day from midnight on both sides, the same day a week ago is the same in every minute of the test. */
function zoneWhereItIsNoon(nowMs: number): string {
  const ahead = 12 - new Date(nowMs).getUTCHours();
  // The signs of these names are the other way round.
  return ahead === 0 ? 'Etc/GMT' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

/** Now: two visitors of /pricing from Google, one of / without a source. A week ago two visitors by this time, and a third one later. */
function visits(nowMs: number): readonly SentEvent[] {
  const visit = (last: number, path: string, atMs: number, referrer = ''): SentEvent => ({
    atMs,
    address: `81.0.0.${last}`,
    agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
    name: 'screen_view',
    properties: {
      __path: `https://known.example${path}`,
      ...(referrer !== '' && { __referrer: referrer }),
    },
  });
  const weekAgoMs = nowMs - 7 * DAY_MS;
  return [
    visit(1, '/pricing', nowMs, 'https://www.google.com/'),
    visit(2, '/pricing', nowMs, 'https://www.google.com/'),
    visit(3, '/', nowMs),
    visit(4, '/', weekAgoMs - HOUR_MS),
    visit(5, '/', weekAgoMs - 2 * HOUR_MS),
    visit(6, '/', weekAgoMs + 2 * HOUR_MS),
  ];
}

/** Opens the wall page in its own browser. */
async function open({
  siteId = 'demo',
  look = 'wall',
  isSignedIn = false,
  query = '',
  options = {},
  prepare = async () => {},
}: {
  readonly siteId?: string;
  readonly look?: string;
  readonly isSignedIn?: boolean;
  readonly query?: string;
  readonly options?: BrowserContextOptions;
  readonly prepare?: (page: Page) => Promise<void>;
} = {}): Promise<Page> {
  const viewport = { width: 1920, height: 1080 };
  const context = await browser.newContext({ viewport, locale: 'en-GB', ...options });
  await context.addInitScript(RECORDER);
  context.on('weberror', (failure) => troubles.push(String(failure.error())));
  context.on('console', (message) => {
    // The browser itself says that a request failed, which some tests are about.
    if (!/^Failed to load resource|WebSocket connection|net::ERR_/.test(message.text()))
      troubles.push(message.text());
  });
  const url = cluster.url('screens');
  if (isSignedIn) {
    const { id, secret } = cluster.credentials.clients.root;
    const signedIn = await context.request.post(`${url}/sign-in`, {
      data: { clientId: id, clientSecret: secret },
    });
    expect(signedIn.ok()).toBe(true);
  }
  const page = await context.newPage();
  opened.push(page);
  await prepare(page);
  await page.goto(`${url}/live/${siteId}/embed?look=${look}${query}`);
  return page;
}

async function makePublic(publicWidget: boolean): Promise<void> {
  await manage(cluster, 'PATCH', 'projects/demo', { publicWidget });
  const status = publicWidget ? 200 : 401;
  const asked = `${cluster.url('screens')}/live/demo.json`;
  await waitFor('the site is as it was made', async () => (await fetch(asked)).status === status, 15_000);
}

async function visit(path: string): Promise<void> {
  const properties = { __deviceId: site.freshDevice(), __path: `https://known.example${path}` };
  expect((await site.send('track', { name: 'screen_view', properties })).status).toBe(200);
}

const numberOf = (page: Page) => page.locator('#number').textContent();
const rowsOf = async (page: Page, id: string) =>
  page
    .locator(`#${id} li`)
    .evaluateAll((all) =>
      all.map((row) => [...row.querySelectorAll('.name, .count')].map((one) => one.textContent).join(' ')),
    );
const seenBy = (page: Page) => page.evaluate<readonly string[]>('window.seen');

describe.skipIf(chromium === undefined)('the wall page', () => {
  test('shows what is there now and today, and its rows move to their places as visitors come', async () => {
    const page = await open({ isSignedIn: true });
    const still = await open({ isSignedIn: true, options: { reducedMotion: 'reduce' } });
    for (const one of [page, still]) {
      await expect.poll(() => numberOf(one), PATIENCE).toBe('3');
      await expect.poll(() => rowsOf(one, 'pages'), PATIENCE).toEqual(['/pricing 2', '/ 1']);
      await expect.poll(() => rowsOf(one, 'sources'), PATIENCE).toEqual(['Google 2', 'Direct / none 1']);
      await expect.poll(() => one.locator('#today').textContent(), PATIENCE).toBe('3');
      const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long' });
      const day = weekday.format(Date.now() + 12 * HOUR_MS - (Date.now() % DAY_MS));
      expect(await textsOf(one, '#change')).toEqual([
        expect.stringMatching(new RegExp(`^\\+50% · 2 last ${day} by 12:\\d\\d$`)),
      ]);
    }
    // The visits are in one of the minutes, which is then as high as the chart.
    const heights = await page
      .locator('#minutes rect')
      .evaluateAll((all) => all.map((bar) => Number(bar.getAttribute('height'))));
    expect(heights).toHaveLength(30);
    expect(Math.max(...heights)).toBe(100);
    expect(heights.filter((height) => height > 0).length).toBeLessThanOrEqual(2);
    await page.evaluate('window.moves = []');
    for (const path of ['/', '/', '/docs']) await visit(path);
    for (const one of [page, still]) {
      await expect.poll(() => numberOf(one), PATIENCE).toBe('6');
      await expect.poll(() => rowsOf(one, 'pages'), PATIENCE).toEqual(['/ 3', '/pricing 2', '/docs 1']);
    }
    const moves = await page.evaluate<readonly string[]>('window.moves');
    expect(moves).toEqual(expect.arrayContaining(['/ transform', '/pricing transform', '/docs opacity']));
    expect(await still.evaluate('window.moves')).toEqual([]);
    for (const one of [page, still]) expect(await seenBy(one)).not.toContain('0');
  });

  test('of a public site shows no more than is public', async () => {
    await makePublic(true);
    const page = await open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await expect.poll(() => rowsOf(page, 'pages'), PATIENCE).toEqual(['/ 3', '/pricing 2', '/docs 1']);
    await expect.poll(() => numberOf(page)).toBe('6');
    expect(await page.locator('#sources, #today').count()).toBe(0);
    await expect.poll(() => asked.length, PATIENCE).toBeGreaterThan(1);
    expect(asked.filter((url) => url.includes('today'))).toEqual([]);
    expect(await page.content()).not.toContain('Google');
    await makePublic(false);
    await page.getByText('There is no such site, or its live visitors are not public').waitFor();
    expect(await numberOf(page)).toBe('–');
    expect(await rowsOf(page, 'pages')).toEqual([]);
    expect(await page.locator('#pages-none').textContent()).toBe('–');
    await makePublic(true);
    await expect.poll(() => numberOf(page), PATIENCE).toBe('6');
    await expect.poll(() => page.locator('#state').textContent(), PATIENCE).toBe('');
    await makePublic(false);
  });

  test('shows by a token what the token was made for, until it ends', async () => {
    const tokenFor = async (query: string) => {
      const { status, body } = await site.ask(`/insights/demo/live/token?${query}`);
      expect([status, typeof body.token]).toEqual([200, 'string']);
      return String(body.token);
    };
    const plain = await open({ query: `&token=${await tokenFor('ttl=3600')}` });
    await expect.poll(() => numberOf(plain), PATIENCE).toBe('6');
    expect(await plain.locator('#sources, #today').count()).toBe(0);
    // The page asks twice a minute, and one count serves all requests within half a minute. Strangers may ask 100 times in 10 s, pages included.
    const today = `${cluster.url('screens')}/live/demo.json?today=true&token=${await tokenFor('ttl=3600&wall=true')}`;
    await expect
      .poll(async () => ((await (await fetch(today)).json()) as LiveNumberAnswer).today?.visitors, {
        ...PATIENCE,
        interval: 1_000,
      })
      .toBe(6);
    const whole = await open({ query: `&token=${await tokenFor('ttl=20&wall=true')}` });
    await expect.poll(() => whole.locator('#today').textContent(), PATIENCE).toBe('6');
    await expect
      .poll(async () => (await rowsOf(whole, 'sources')).toSorted(), PATIENCE)
      .toEqual(['Direct / none 4', 'Google 2']);
    await whole.getByText('Token: unknown, expired or of another site').waitFor(PATIENCE);
    expect(await numberOf(whole)).toBe('–');
    await expect.poll(() => whole.locator('#today').textContent()).toBe('–');
  });

  test('is one whole on every screen, large enough to be read from afar, and accessible', async () => {
    for (const path of ['/a', '/b', `/a-very-long-path-${'that-goes-on-'.repeat(20)}`, '/e', '/f'])
      await visit(path);
    // A row on its way to its place may be anywhere, and pale.
    const page = await open({ isSignedIn: true, options: { reducedMotion: 'reduce' } });
    await expect.poll(async () => (await rowsOf(page, 'pages')).length, PATIENCE).toBe(5);
    await expect.poll(() => page.locator('#today').textContent(), PATIENCE).not.toBe('–');
    for (const [width, height] of [
      [1920, 1080],
      [1280, 720],
      [3840, 2160],
      [1080, 1920],
    ] as const) {
      await page.setViewportSize({ width, height });
      const measured = await page.evaluate<{ outside: string[]; smallest: number }>(`(() => {
        const all = [...document.querySelectorAll('h1, h2, p, li, strong, time, svg, .axis span')]
          .filter((one) => !one.hidden && !one.classList.contains('unseen') && one.getBoundingClientRect().width > 0);
        const outside = all.filter((one) => {
          const { left, top, right, bottom } = one.getBoundingClientRect();
          return left < 0 || top < 0 || right > innerWidth || bottom > innerHeight;
        });
        const sizes = all.filter((one) => one.textContent.trim() !== '').map((one) => parseFloat(getComputedStyle(one).fontSize));
        return { outside: outside.map((one) => one.outerHTML.slice(0, 200)), smallest: Math.min(...sizes) };
      })()`);
      expect([width, measured.outside]).toEqual([width, []]);
      expect(measured.smallest).toBeGreaterThanOrEqual(Math.min(width, height) / 31);
    }
    for (const [width, height] of [
      [1920, 1080],
      [768, 900],
      [360, 800],
    ] as const) {
      await page.setViewportSize({ width, height });
      // The furthest that the page shifts sideways; nothing may become scrollable.
      await page.evaluate(`document.querySelector('main').style.transform = 'translate(1.6vmin, 1.6vmin)'`);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.evaluate(AXE);
        const { violations } = await page.evaluate<{ violations: { id: string; impact: string }[] }>(
          'axe.run()',
        );
        expect(violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')).toEqual([]);
      }
    }
  });

  test('keeps the screen on, moves a little every minute, connects anew after sleep, and rests while hidden', async () => {
    const page = await open({ isSignedIn: true, prepare: (made) => made.clock.install() });
    await expect.poll(() => numberOf(page), PATIENCE).not.toBe('–');
    expect(await page.evaluate('window.locks')).toBe(1);
    const placeOf = () => page.evaluate<string>(`document.querySelector('main').style.transform`);
    const [place, sockets] = [await placeOf(), await page.evaluate<number>('window.sockets')];
    expect(place).toMatch(/^translate\(/);
    await page.clock.fastForward(120_000);
    await expect.poll(placeOf, PATIENCE).not.toBe(place);
    await expect.poll(() => page.evaluate<number>('window.sockets'), PATIENCE).toBeGreaterThan(sockets);
    const turn = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn(true);
    await expect.poll(connections, PATIENCE).toBe(0);
    await turn(false);
    await expect.poll(connections, PATIENCE).toBe(1);
    expect(await page.evaluate('window.locks')).toBe(2);
  });

  async function connections(): Promise<number> {
    const text = await (await fetch(`${cluster.url('screens')}/metrics`)).text();
    return Number(/^live_connections\{[^}]*kind="websocket"[^}]*\} (\d+)$/m.exec(text)?.[1]);
  }
});

describe.skipIf(chromium === undefined)('while the process that answers is killed and restarted', () => {
  test('wall and widget keep their number, say that it is old, and go on by themselves without a false zero', async () => {
    // A site of its own, so that no visitor of the tests above leaves in the middle of this one.
    const made = (await manage(cluster, 'POST', 'projects', { name: 'Lobby' })) as {
      readonly data: {
        readonly id: string;
        readonly client: { readonly id: string; readonly secret: string };
      };
    };
    const { id, client } = made.data;
    await manage(cluster, 'PATCH', `projects/${id}`, { publicWidget: true });
    const come = async (last: number) => {
      const body = {
        type: 'track',
        payload: { name: 'screen_view', properties: { __path: 'https://lobby.example/' } },
      };
      const headers = {
        'service-client-id': client.id,
        'service-client-secret': client.secret,
        'service-client-ip': `81.0.1.${last}`,
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
      };
      expect((await site.post('/track', body, headers)).status).toBe(200);
    };
    for (const last of [1, 2, 3]) await come(last);
    const asked = `${cluster.url('screens')}/live/${id}.json`;
    await waitFor('the site is public', async () => (await fetch(asked)).ok, 15_000);
    const wall = await open({ siteId: id, isSignedIn: true });
    const widget = await open({ siteId: id, look: 'badge' });
    const ofWidget = () => widget.locator('live-visitors [part=number]').textContent();
    const both = async () => [await numberOf(wall), await ofWidget()];
    await expect.poll(both, PATIENCE).toEqual(['3', '3']);
    await cluster.kill('screens');
    await wall.getByText(/^The service cannot be reached\. Figures of \d\d:\d\d\.$/).waitFor(PATIENCE);
    expect(await wall.locator('main.late').count()).toBe(1);
    expect(await both()).toEqual(['3', '3']);
    await come(4);
    await cluster.restart('screens');
    await expect.poll(both, PATIENCE).toEqual(['4', '4']);
    await expect.poll(() => wall.locator('main.late').count(), PATIENCE).toBe(0);
    expect(await wall.locator('#state').textContent()).toBe('');
    expect(new Set(await seenBy(wall))).toEqual(new Set(['–', '3', '4']));
  });
});
