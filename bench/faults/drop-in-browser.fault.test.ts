import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buildSync } from 'esbuild';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot } from '../../infra/root.ts';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import { Cluster } from '../cluster/cluster.ts';
import { type Exported, eventually, type Profile, SiteOfCluster } from '../cluster/site-of-cluster.ts';

// A small site of two pages and a single-page one, visited in a real browser: with the service's own script, and with
// the published package of the de-facto standard interface, of which only the address is changed.

const chromium = await findChromium();
let cluster: Cluster;
let site: SiteOfCluster;
let browser: Browser;
let pages: Server;
let pagesUrl: string;

beforeAll(async () => {
  if (chromium === undefined) return;
  cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { FLUSH_INTERVAL_MS: '100', LOG_LEVEL: 'warn' },
  });
  await cluster.ready('web');
  site = new SiteOfCluster(cluster, 'web');
  browser = await startBrowser(chromium);
  pages = servePages();
  await once(pages, 'listening');
  pagesUrl = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
});

afterAll(async () => {
  await browser?.close();
  pages?.closeAllConnections();
  pages?.close();
  await cluster?.stop();
});

let visitors = 0;

/** A visitor with a browser version of their own, and so with their own device. */
function newVisitor(): Promise<BrowserContext> {
  visitors += 1;
  const userAgent = `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${130 + visitors}.0.0.0 Safari/537.36`;
  return browser.newContext({ userAgent });
}

/** The ways in which a page gets its tracker. */
const TRACKERS = ['script', 'package'] as const;
type Tracker = (typeof TRACKERS)[number];

function headOf(tracker: Tracker): string {
  const options = `{
    clientId: '${cluster.credentials.clients.write.id}', apiUrl: '${cluster.url('web')}',
    trackScreenViews: true, trackOutgoingLinks: true, trackAttributes: true
  }`;
  if (tracker === 'package')
    return `<script src="/package.js"></script><script>window.op = new Package.OpenPanel(${options});</script>`;
  const stub =
    'window.op = function () { (window.op.q = window.op.q || []).push([].slice.call(arguments)); };';
  return `<script>${stub} op('init', ${options});</script><script async src="${cluster.url('web')}/script.js"></script>`;
}

function servePages(): Server {
  const { outputFiles } = buildSync({
    stdin: { contents: "export { OpenPanel } from '@openpanel/web';", resolveDir: projectRoot },
    bundle: true,
    format: 'iife',
    globalName: 'Package',
    target: 'es2020',
    write: false,
    external: ['./replay-*'],
    logLevel: 'error',
  });
  const published = outputFiles[0]?.text ?? '';
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://site');
    if (pathname === '/package.js') {
      response.setHeader('content-type', 'text/javascript').end(published);
      return;
    }
    const tracker = searchParams.get('tracker') === 'package' ? 'package' : 'script';
    const links = `<a id="pricing" href="/pricing?tracker=${tracker}">Pricing</a>
      <a id="away" href="http://localhost:1/elsewhere" target="_blank">Elsewhere</a>
      <button id="buy" data-track="bought" data-plan-name="pro">Buy</button>`;
    const title = pathname === '/' ? 'Home' : pathname.slice(1);
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><title>${title}</title>${headOf(tracker)}<body>${links}</body>`);
  });
  server.listen(0, '127.0.0.1');
  return server;
}

/** All events of a device, oldest first, once there are this many. */
function eventsOf(deviceId: string, count: number): Promise<readonly Exported[]> {
  return eventually(`${count} events`, async () => {
    const found = (await site.events('')).filter(
      (event) => event.deviceId === deviceId && !event.name.startsWith('session_'),
    );
    return found.length >= count ? [...found].reverse() : undefined;
  });
}

const shown = ({ name, path }: Exported) => `${name} ${path}`;

describe.skipIf(chromium === undefined).each(TRACKERS)('with the %s', (tracker) => {
  test('a visit of two pages is one session with its views, clicks, profile and group', async () => {
    const context = await newVisitor();
    const page = await context.newPage();
    await page.goto(`${pagesUrl}/?tracker=${tracker}&utm_source=newsletter&utm_medium=email`);
    const deviceId = await identityOf(page, tracker);
    expect(deviceId).toMatch(/^[0-9a-f]{32}$/);
    await page.click('#buy');
    await eventsOf(deviceId, 2);
    const opened = context.waitForEvent('page');
    await page.click('#away');
    await (await opened).close();
    await eventsOf(deviceId, 3);
    await page.click('#pricing');
    await page.waitForURL('**/pricing?**');
    await eventsOf(deviceId, 4);
    const profileId = `visitor-${tracker}`;
    await page.evaluate((id) => {
      const { op } = globalThis as unknown as { op: Record<string, (given: unknown) => unknown> };
      op.identify?.({ profileId: id, firstName: 'Ada', properties: { plan: 'pro' } });
      op.increment?.({ profileId: id, property: 'visits', value: 3 });
      op.setGroup?.('acme');
      op.upsertGroup?.({ id: 'acme', type: 'company', name: 'Acme' });
      op.track?.('done');
    }, profileId);
    const events = await eventsOf(deviceId, 5);
    // The package does not report the page of a click.
    const clickPath = tracker === 'package' ? '' : '/';
    expect(events.map(shown)).toEqual([
      'screen_view /',
      `bought ${clickPath}`,
      `link_out ${clickPath}`,
      'screen_view /pricing',
      'done /pricing',
    ]);
    expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(1);
    const [view, bought, away, pricing, done] = events;
    expect(view).toMatchObject({
      title: 'Home',
      utmSource: 'newsletter',
      channel: 'Email',
      browser: 'Chrome',
      os: 'Linux',
      device: 'desktop',
      sdkName: 'web',
    });
    expect(bought?.properties).toMatchObject({ planName: 'pro' });
    expect(away?.properties).toMatchObject({ href: 'http://localhost:1/elsewhere', text: 'Elsewhere' });
    // A page of the same site is no referrer.
    expect(pricing).toMatchObject({ title: 'pricing', referrer: '' });
    expect(done?.profileId).toBe(profileId);
    const profile = await eventually('the profile', async () => {
      const { status, body } = await site.askProfile(profileId);
      const known = body as Profile;
      return status === 200 && (known.groups as unknown[])?.length === 1 ? known : undefined;
    });
    expect(profile).toMatchObject({
      firstName: 'Ada',
      groups: ['acme'],
      properties: { plan: 'pro', visits: '3' },
    });
    await context.close();
  });

  test('a single page counts a view for every address it shows, and none twice', async () => {
    const context = await newVisitor();
    const page = await context.newPage();
    await page.goto(`${pagesUrl}/spa?tracker=${tracker}`);
    const deviceId = await identityOf(page, tracker);
    const go = async (act: string, views: number) => {
      await page.evaluate(act);
      await eventsOf(deviceId, views);
    };
    await eventsOf(deviceId, 1);
    await go("history.pushState({}, '', '/spa/a')", 2);
    await go("history.pushState({}, '', '/spa/b'); history.replaceState({}, '', '/spa/b')", 3);
    await go('history.back()', 4);
    const views = await eventsOf(deviceId, 4);
    expect(views.map(shown)).toEqual([
      'screen_view /spa',
      'screen_view /spa/a',
      'screen_view /spa/b',
      'screen_view /spa/a',
    ]);
    await context.close();
  });
});

/** The device as the page knows it after its first event was answered. */
async function identityOf(page: Page, tracker: Tracker): Promise<string> {
  return eventually(`the device of the ${tracker}`, async () => {
    const known = await page.evaluate(async () => {
      const { op } = globalThis as unknown as { op: { getDeviceId?: () => unknown } };
      return (await op.getDeviceId?.()) ?? '';
    });
    return typeof known === 'string' && known !== '' ? known : undefined;
  });
}
