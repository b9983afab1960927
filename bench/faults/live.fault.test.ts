import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { TestSocket } from '../../infra/testing/test-socket.ts';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { openPage, startBrowser, type TestPage } from '../../ingest/tracker/testing/test-browser.ts';
import { LIVE_WINDOW_MS } from '../../processor/fold/site-counters.ts';
import { SENT_EVERY_MS } from '../../query/live/live-hub.ts';
import { waitFor } from '../cluster/child-process.ts';
import { Cluster } from '../cluster/cluster.ts';
import { PAGE_ORIGIN, SiteOfCluster } from '../cluster/site-of-cluster.ts';
import { Events, numberIn, RECORD_NUMBERS } from './live-viewers.ts';

// Live numbers as clients see them, over a real service: they rise with each event, and a process that is killed neither
// makes them wrong nor stays unnoticed.

const WAIT_MAX_MS = 60_000;
const PATIENCE = { interval: 20 };
/** For requests, which are limited. */
const SLOWLY = { interval: 200 };
/** From a request to the number on every connection. The promise is a tenth of a second; the machine is shared. */
const SEEN_MAX_MS = 400;
const FOLLOWED = '/live/demo';
const TEXT = '/live/visitors/demo';
const SITE_MAX = 8;

let cluster: Cluster;
let site: SiteOfCluster;
let url = '';
const chromium = await findChromium();
let browser: Browser | undefined;
/** Pages of the site and of strangers, on this machine: a browser asks before a page from elsewhere reaches it. */
const pages = createServer((_request, response) =>
  response.writeHead(200, pageShown.headers).end(pageShown.body),
);
let pageShown = { headers: {}, body: '' };
const pageOrigin = (name: string) => `http://${name}.localhost:${(pages.address() as AddressInfo).port}`;

beforeAll(async () => {
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'], other: ['query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', SECRETS_KEY: '7'.repeat(64) },
    envOf: { other: { LIVE_CONNECTIONS_MAX: String(2 * SITE_MAX) } },
  });
  await cluster.ready('web');
  if (chromium !== undefined) browser = await startBrowser(chromium);
  pages.listen(0, '127.0.0.1');
  await once(pages, 'listening');
  site = new SiteOfCluster(cluster, 'web');
  url = cluster.url('web');
  await site.change({ publicWidget: true, cors: [PAGE_ORIGIN, pageOrigin('shop')] });
  await waitFor('a public site', async () => (await fetch(`${url}${FOLLOWED}.json`)).ok, WAIT_MAX_MS);
});

afterAll(async () => {
  await browser?.close();
  pages.close();
  await cluster?.stop();
});

async function visit(): Promise<void> {
  const { status } = await site.send('track', {
    name: 'screen_view',
    properties: { __deviceId: site.freshDevice(), __path: '/pricing' },
  });
  expect(status).toBe(200);
}

async function shown(): Promise<number> {
  return numberIn(await (await fetch(`${url}${FOLLOWED}.json`)).text());
}

test('every kind of connection sees each visitor soon after the event', async () => {
  const before = await shown();
  const json = await TestSocket.open(url + FOLLOWED);
  const text = await TestSocket.open(url + TEXT);
  const events = await Events.open(`${url}${FOLLOWED}/events`);
  const other = await TestSocket.open(cluster.url('other') + TEXT);
  await expect
    .poll(() => [json.last && numberIn(json.last), text.last, events.numbers.at(-1), other.last], PATIENCE)
    .toEqual([before, String(before), before, String(before)]);
  const delaysMs: number[] = [];
  for (let more = 1; more <= 5; more += 1) {
    const sentAtMs = Date.now();
    await visit();
    await expect
      .poll(() => [text.last, events.numbers.at(-1), other.last], PATIENCE)
      .toEqual([String(before + more), before + more, String(before + more)]);
    const seenAtMs = must(text.messages.at(-1), 'a number').atMs;
    delaysMs.push(seenAtMs - sentAtMs);
    // A number that follows another one sooner waits for its turn.
    await expect.poll(() => Date.now() - seenAtMs).toBeGreaterThan(SENT_EVERY_MS);
  }
  process.stdout.write(`from the request to the number: ${delaysMs.join(', ')} ms\n`);
  expect(Math.min(...delaysMs)).toBeLessThan(SEEN_MAX_MS);
  // Each number once, and none that was not there.
  expect(text.texts).toEqual(Array.from({ length: 6 }, (_, more) => String(before + more)));
  expect(json.texts.map(numberIn)).toEqual(text.texts.map(Number));
  expect(events.numbers).toEqual(text.texts.map(Number));
  expect(events.text).toMatch(/^retry: \d+\n\n/);
  expect(await (await fetch(url + TEXT)).text()).toBe(String(before + 5));
  for (const one of [json, text, other]) one.destroy();
  events.close();
});

test('many visitors at once are few messages, the last of which is right', async () => {
  const before = await shown();
  const socket = await TestSocket.open(url + TEXT);
  await expect.poll(() => socket.last).toBe(String(before));
  const startedAtMs = Date.now();
  await Promise.all(Array.from({ length: 100 }, visit));
  await expect.poll(() => socket.last, PATIENCE).toBe(String(before + 100));
  const seconds = (Date.now() - startedAtMs) / 1_000;
  expect(socket.messages.length).toBeLessThanOrEqual(2 + Math.ceil(4 * seconds));
  socket.destroy();
});

test('a number falls five minutes after the last event of a visitor, and not before', async () => {
  const before = await shown();
  const socket = await TestSocket.open(url + TEXT);
  await expect.poll(() => socket.last).toBe(String(before));
  // Visitors are counted by the second of their last event, so a whole one ends exactly.
  const endsAtMs = Math.ceil((Date.now() + 4_000) / 1_000) * 1_000;
  const properties = {
    __deviceId: site.freshDevice(),
    __path: '/pricing',
    __timestamp: new Date(endsAtMs - LIVE_WINDOW_MS).toISOString(),
  };
  expect((await site.send('track', { name: 'screen_view', properties })).status).toBe(200);
  await expect.poll(() => socket.last, PATIENCE).toBe(String(before + 1));
  await expect.poll(() => socket.last, PATIENCE).toBe(String(before));
  const fellAtMs = must(socket.messages.at(-1), 'a number').atMs;
  process.stdout.write(`after the end of the five minutes: ${fellAtMs - endsAtMs} ms\n`);
  expect(fellAtMs).toBeGreaterThanOrEqual(endsAtMs);
  socket.destroy();
});

async function statusOf(path: string, headers: Record<string, string> = {}): Promise<number> {
  return (await fetch(url + path, { headers })).status;
}

describe('while a process is killed', () => {
  test('the processor: no number is false, and the next event counts on the same connection', async () => {
    const before = await shown();
    expect(before).toBeGreaterThan(0);
    const socket = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    await expect.poll(() => [socket.last, events.numbers.at(-1)]).toEqual([String(before), before]);
    await cluster.kill('processor');
    // Accepted and not yet counted.
    await visit();
    const late = await TestSocket.open(url + TEXT);
    // A number from an owner is valid for a third of a second.
    await expect.poll(() => statusOf(`${FOLLOWED}.json`), SLOWLY).toBe(503);
    const badge = await (await fetch(`${url}${FOLLOWED}.svg`)).text();
    expect(badge).toContain('–');
    expect((await TestSocket.open(url + TEXT)).texts).toEqual([]);
    expect(late.texts.filter((text) => text !== String(before))).toEqual([]);
    await cluster.restart('processor');
    const wanted = String(before + 1);
    await expect
      .poll(() => [socket.last, events.numbers.at(-1), late.last], PATIENCE)
      .toEqual([wanted, before + 1, wanted]);
    const seen = [...socket.texts, ...late.texts].map(Number).concat(events.numbers);
    expect(seen.filter((number) => number < before)).toEqual([]);
    for (const one of [socket, late]) one.destroy();
    events.close();
  });

  test('the one that answers: connections end, and new ones begin with a true number', async () => {
    const before = await shown();
    const socket = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    await expect.poll(() => [socket.last, events.numbers.length]).toEqual([String(before), 1]);
    const widget = browser && (await widgetPage(browser, '<live-visitors site="demo"></live-visitors>'));
    if (widget) await expect.poll(() => numberOf(widget.page), PATIENCE).toBe(String(before));
    await cluster.kill('web');
    await expect.poll(() => [socket.closeCode, events.isOver], PATIENCE).toEqual([1006, true]);
    if (widget) expect(await numberOf(widget.page)).toBe(String(before));
    await cluster.restart('web');
    const again = await TestSocket.open(url + TEXT);
    await expect.poll(() => again.texts[0], PATIENCE).toBe(String(before));
    again.destroy();
    await visit();
    if (!widget) return;
    await expect.poll(() => numberOf(widget.page), PATIENCE).toBe(String(before + 1));
    expect(await seenBy(widget.page)).toEqual(['–', String(before), String(before + 1)]);
    expect(widget.errors).toEqual([]);
    await widget.close();
  });

  test('one that is stopped says so', async () => {
    const socket = await TestSocket.open(cluster.url('other') + TEXT);
    await expect.poll(() => socket.last, PATIENCE).toBeDefined();
    await cluster.restart('other');
    await expect.poll(() => socket.closeCode, PATIENCE).toBe(1012);
  });
});

/** A page of the site that contains the widget, with a policy that allows nothing more than it needs. */
async function widgetPage(
  inBrowser: Browser,
  body: string,
  { before = '', from = 'shop', head = '' } = {},
): Promise<TestPage> {
  const opened = await openPage(inBrowser);
  const { page } = opened;
  await page.addInitScript(RECORD_NUMBERS + before);
  const policy = `default-src 'none'; script-src ${url}; connect-src ${url} ${url.replace('http', 'ws')}; frame-src ${url}; img-src data:`;
  pageShown = {
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
    body: `<!doctype html><html ${head}><link rel="icon" href="data:,"><script async src="${url}/widget.js"></script>${body}`,
  };
  await page.goto(`${pageOrigin(from)}/`);
  return opened;
}

function inWidget<Result>(page: Page, expression: string): Promise<Result> {
  return page.evaluate<Result>(
    `(() => { const widget = document.querySelector('live-visitors'); const root = widget.shadowRoot; return ${expression}; })()`,
  );
}

function numberOf(page: Page): Promise<string | undefined> {
  return inWidget(page, `root?.querySelector('.number')?.textContent`);
}

function seenBy(page: Page): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>('window.seen');
}

describe.skipIf(chromium === undefined)('the widget', () => {
  const chrome = () => must(browser, 'a browser');

  test('shows a dash and then the number, in the language and the direction of the page', async () => {
    const before = await shown();
    const { page, errors, close } = await widgetPage(
      chrome(),
      '<live-visitors site="demo" look="badge" label="هنا"></live-visitors>',
      { head: 'lang="ar-EG" dir="rtl"' },
    );
    const spelled = (count: number) => new Intl.NumberFormat('ar-EG').format(count);
    await expect.poll(() => numberOf(page), PATIENCE).toBe(spelled(before));
    expect(await seenBy(page)).toEqual(['–', spelled(before)]);
    const wide = await inWidget<number>(page, `root.querySelector('.row').getBoundingClientRect().width`);
    await visit();
    await expect.poll(() => numberOf(page), PATIENCE).toBe(spelled(before + 1));
    expect(await inWidget<number>(page, `root.querySelector('.row').getBoundingClientRect().width`)).toBe(
      wide,
    );
    // Said once a minute at most.
    expect(await inWidget(page, `root.querySelector('[role=status]').textContent`)).toBe(
      `${spelled(before)} هنا`,
    );
    const placed = await inWidget<readonly number[]>(
      page,
      `['.dot', '.number', '.label'].map((one) => root.querySelector(one).getBoundingClientRect().left)`,
    );
    expect(placed).toEqual([...placed].sort((a, b) => b - a));
    expect(errors).toEqual([]);
    await close();
  });

  test('finds another way where WebSockets are blocked, and where event streams are, too', async () => {
    const blocked = `class { constructor() { throw new Error('blocked'); } }`;
    const body = '<live-visitors site="demo"></live-visitors>';
    const byEvents = await widgetPage(chrome(), body, { before: `window.WebSocket = ${blocked};` });
    const byRequests = await widgetPage(chrome(), body, {
      before: `window.WebSocket = window.EventSource = ${blocked};`,
    });
    const number = String(await shown());
    for (const { page, close } of [byEvents, byRequests]) {
      await expect.poll(() => numberOf(page), PATIENCE).toBe(number);
      expect(await seenBy(page)).toEqual(['–', number]);
      await close();
    }
  });

  test('shows the top pages and a line of the last half hour', async () => {
    const { page, errors, close } = await widgetPage(
      chrome(),
      '<live-visitors site="demo" look="pages"></live-visitors>',
    );
    const number = String(await shown());
    await expect
      .poll(() => inWidget(page, `root?.querySelector('li')?.textContent`), PATIENCE)
      .toBe(`/pricing${number}`);
    await inWidget(page, `widget.setAttribute('look', 'sparkline')`);
    await expect
      .poll(
        () => inWidget(page, `root.querySelector('polyline')?.getAttribute('points').split(' ').length`),
        PATIENCE,
      )
      .toBe(30);
    expect(errors).toEqual([]);
    await close();
  });

  test('rests while the page is hidden, and goes on when it is seen', async () => {
    const { page, close } = await widgetPage(chrome(), '<live-visitors site="demo"></live-visitors>');
    await expect.poll(() => numberOf(page), PATIENCE).toBe(String(await shown()));
    const turn = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${hidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await turn(true);
    await expect.poll(connections, SLOWLY).toBe(0);
    const before = Number(await numberOf(page));
    await visit();
    await turn(false);
    await expect.poll(() => numberOf(page), PATIENCE).toBe(String(before + 1));
    expect(await connections()).toBe(1);
    await close();
  });

  test('can be framed by the pages of the site, and by no other', async () => {
    const frame = `<iframe src="${url}${FOLLOWED}/embed?look=badge"></iframe>`;
    const { page, close } = await widgetPage(chrome(), frame);
    const number = page.frameLocator('iframe').locator('live-visitors .number');
    await expect.poll(() => number.textContent(), PATIENCE).toBe(String(await shown()));
    await close();
    const foreign = await widgetPage(chrome(), frame, { from: 'evil' });
    await expect.poll(() => foreign.errors.join(), PATIENCE).toContain('frame-ancestors');
    await foreign.close();
  });

  async function connections(): Promise<number> {
    const text = await (await fetch(`${url}/metrics`)).text();
    return Number(/^live_connections\{kind="websocket"\} (\d+)$/m.exec(text)?.[1]);
  }
});

describe('who may see', () => {
  const clientHeaders = () => {
    const { id, secret } = cluster.credentials.clients.read;
    return { 'service-client-id': id, 'service-client-secret': secret };
  };
  test('pages of the site and of the service see a public site, others do not', async () => {
    for (const origin of [PAGE_ORIGIN, 'https://www.shop.example', url]) {
      expect([origin, await statusOf(`${FOLLOWED}.json`, { origin })]).toEqual([origin, 200]);
      (await TestSocket.open(url + FOLLOWED, { origin })).destroy();
    }
    for (const origin of ['https://evil.example', 'null', 'https://shop.example.evil.example']) {
      expect([origin, await statusOf(`${FOLLOWED}.json`, { origin })]).toEqual([origin, 403]);
      expect(await TestSocket.connect(url + FOLLOWED, { origin })).toMatchObject({ status: 403 });
    }
    expect(await statusOf('/live/nothing.json')).toBe(401);
    expect(await TestSocket.connect(`${url}/live/nothing`)).toMatchObject({ status: 401 });
    expect(await statusOf(`${FOLLOWED}.svg?color=plaid`)).toBe(400);
  });

  test('a private site needs a client or a token; what is open ends when the access does', async () => {
    const publicly = await TestSocket.open(url + TEXT);
    const events = await Events.open(`${url}${FOLLOWED}/events`);
    const asked = await site.ask('/insights/demo/live/token?ttl=3');
    const token = String(asked.body.token);
    const byToken = await TestSocket.open(`${url}${TEXT}?token=${token}`);
    const byClient = await TestSocket.open(url + TEXT, clientHeaders());
    const startedAtMs = Date.now();
    await site.change({ publicWidget: false });
    await expect.poll(() => [publicly.closeCode, events.isOver], PATIENCE).toEqual([4403, true]);
    expect(Date.now() - startedAtMs).toBeLessThan(2_000);
    expect(byToken.closeCode).toBeUndefined();
    for (const path of [
      `${FOLLOWED}.json`,
      `${FOLLOWED}.svg`,
      `${FOLLOWED}/events`,
      `${FOLLOWED}/embed`,
      TEXT,
    ])
      expect([path, await statusOf(path)]).toEqual([path, 401]);
    expect(await TestSocket.connect(url + TEXT)).toMatchObject({ status: 401 });
    expect(await statusOf(`${FOLLOWED}.json`, clientHeaders())).toBe(200);
    expect(await statusOf(`${FOLLOWED}.json?token=${token}`)).toBe(200);
    expect(await statusOf(`${FOLLOWED}.json?token=${token.slice(0, -2)}`)).toBe(401);
    expect(await statusOf('/live/other.json', clientHeaders())).toBe(403);
    await expect.poll(() => byToken.closeCode, PATIENCE).toBe(4403);
    expect(Date.now()).toBeLessThan(Date.parse(String(asked.body.expiresAt)) + 2_000);
    expect(await statusOf(`${FOLLOWED}.json?token=${token}`)).toBe(401);
    expect(byClient.closeCode).toBeUndefined();
    byClient.destroy();
    await site.change({ publicWidget: true });
    await expect.poll(() => statusOf(`${FOLLOWED}.json`), SLOWLY).toBe(200);
  });

  test('a site has so many connections, and the answer to one more says when to retry', async () => {
    const there = cluster.url('other');
    await expect
      .poll(
        () =>
          fetch(`${there}${TEXT}`).then(
            ({ status }) => status,
            () => 0,
          ),
        PATIENCE,
      )
      .toBe(200);
    const open = await Promise.all(Array.from({ length: SITE_MAX }, () => TestSocket.open(there + TEXT)));
    const full = await TestSocket.connect(there + TEXT);
    expect(full).toMatchObject({ status: 503, headers: { 'retry-after': '30' } });
    expect(full).toMatchObject({ text: expect.stringContaining('for this site') });
    expect(await statusAt(`${there}${FOLLOWED}/events`)).toBe(503);
    open[0]?.destroy();
    await expect.poll(() => statusAtSocket(there + TEXT), PATIENCE).toBe(101);
    for (const one of open) one.destroy();
  });

  const statusAt = async (address: string) => (await fetch(address)).status;
  const statusAtSocket = async (address: string) => {
    const connected = await TestSocket.connect(address);
    if (!(connected instanceof TestSocket)) return connected.status;
    connected.destroy();
    return 101;
  };
});
