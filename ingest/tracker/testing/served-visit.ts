import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Site } from '../../../infra/accounts/accounts.ts';
import type { Bus } from '../../../infra/bus/bus.ts';
import { type Launcher, startLauncher } from '../../../infra/testing/launcher.ts';
import { type NatsServer, startNatsServer } from '../../../infra/testing/nats-server.ts';
import { connectBus, createClient, createSite } from '../../testing/collector.ts';
import { openPage, startBrowser, type TestPage } from './test-browser.ts';
import { startTestSite, type TestSite } from './test-site.ts';

// The service allows 100 queries in ten seconds, so polls must be slow.
export const WAIT = { timeout: 20_000, interval: 250 };
/** An additional path prefix of the collection endpoints. */
export const PREFIX = '/assets/menu';

/** An event as the service exports it. */
export interface ExportedEvent {
  readonly name: string;
  readonly path: string;
  readonly origin: string;
  readonly title: string;
  readonly referrer?: string;
  readonly deviceId: string;
  readonly sessionId: string;
  readonly language?: string;
  readonly timezone?: string;
  readonly screen?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
}

/** Tools of a test of the script against the real service. Each test has a site and a visitor of its own. */
export interface ServedVisit {
  readonly pages: TestSite;
  readonly visitor: TestPage;
  readonly serviceUrl: string;
  /** Switches to a new site with these settings. */
  useSite(tracking: Partial<Site['tracking']>, fields?: Partial<Site>): Promise<void>;
  /** HTML with the served script and this body. */
  html(title: string, body?: string, script?: { attributes?: string; prefix?: string }): string;
  /** Opens this HTML at a path and waits for its screen view. */
  openViewed(path: string, html: string): Promise<void>;
  /** Opens this HTML at a path and waits for the script. */
  open(path: string, html: string): Promise<void>;
  /** Runs code on the open page. */
  run(code: string): Promise<unknown>;
  /** Waits until a call with this name is answered. */
  answered(name: string): Promise<unknown>;
  /** The site's exported events, in order of time. */
  recorded(): Promise<readonly ExportedEvent[]>;
  /** The site's exported events, once their names and paths are these. */
  recordedAs(expected: readonly string[]): Promise<readonly ExportedEvent[]>;
}

const TRACKING: Site['tracking'] = {
  screenViews: true,
  outgoingLinks: false,
  attributes: false,
  hashChanges: false,
  sessionReplay: false,
  replaySampleRate: 1,
  replayNeedsConsent: false,
  paymentProviders: [],
};

/**
 * Sets up the whole service, a browser and pages for the tests of a file. After each test, the page must have no
 * errors.
 */
export function useServedVisit(chromium: string | undefined): ServedVisit {
  const folder = mkdtempSync(join(tmpdir(), 'footfall-tracker-'));
  let nats: NatsServer;
  let bus: Bus;
  let service: Launcher;
  let serviceUrl = '';
  let rootHeaders: Record<string, string> = {};
  let browser: Browser;
  let pages: TestSite;
  let visitor: TestPage;
  let siteCount = 0;
  let projectId = '';
  let clientId = '';

  const useSite: ServedVisit['useSite'] = async (tracking, fields = {}) => {
    siteCount += 1;
    projectId = `site-${siteCount}`;
    await createSite(bus, projectId, {
      ...fields,
      cors: [pages.url],
      tracking: { ...TRACKING, ...tracking },
    });
    clientId = (await createClient(bus, 'write', projectId)).id;
    const isKnown = async () =>
      (await fetch(`${serviceUrl}/config/tracking?clientId=${clientId}`)).status === 200;
    await expect.poll(isKnown, WAIT).toBe(true);
  };

  beforeAll(async () => {
    if (chromium === undefined) return;
    nats = await startNatsServer();
    const dataDir = join(folder, 'data');
    const env = {
      NATS_URL: nats.url,
      SECRETS_KEY: '7'.repeat(64),
      CLICKHOUSE_URL: undefined,
      COLLECT_PREFIXES: PREFIX,
    };
    service = startLauncher(dataDir, env);
    [, serviceUrl = ''] = await service.waitFor(/footfall is running at (http:\/\/\S+)/);
    await service.waitFor(/Press Ctrl-C to stop/);
    const { root } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8')).clients;
    rootHeaders = { 'service-client-id': root.id, 'service-client-secret': root.secret };
    bus = await connectBus(nats.url);
    pages = await startTestSite();
    browser = await startBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await pages?.stop();
    await bus?.close();
    service?.signal('SIGTERM');
    await service?.exited;
    await nats?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    if (chromium === undefined) return;
    await useSite({});
    visitor = await openPage(browser);
  });
  afterEach(async () => {
    if (chromium === undefined) return;
    const { errors } = visitor;
    await visitor.close();
    expect(errors).toEqual([]);
  });

  const answered = (name: string) =>
    visitor.page.waitForEvent('requestfinished', (request: Request) => {
      return request.method() === 'POST' && (request.postData() ?? '').includes(`"${name}"`);
    });
  const recorded = async () => {
    const query = new URLSearchParams({ projectId, limit: '1000', includes: 'properties,referrer,device' });
    const answer = await fetch(`${serviceUrl}/export/events?${query}`, { headers: rootHeaders });
    expect(answer.status).toBe(200);
    const { data } = (await answer.json()) as { data: ExportedEvent[] };
    return data.filter(({ name }) => !name.startsWith('session_')).reverse();
  };
  const open = async (path: string, html: string) => {
    pages.show(path, html);
    await visitor.page.goto(pages.url + path);
    await visitor.page.waitForFunction('window.op');
  };
  return {
    get pages() {
      return pages;
    },
    get visitor() {
      return visitor;
    },
    get serviceUrl() {
      return serviceUrl;
    },
    useSite,
    html: (title, body = '', { attributes = '', prefix = '' } = {}) => {
      const src = `${serviceUrl}${prefix}/script.js`;
      return `<!doctype html><title>${title}</title>
        <script src="${src}" data-client-id="${clientId}" ${attributes} async></script><body>${body}`;
    },
    open,
    openViewed: async (path, html) => {
      await Promise.all([answered('screen_view'), open(path, html)]);
    },
    run: (code) => visitor.page.evaluate(`(async () => { ${code} })()`),
    answered,
    recorded,
    recordedAs: async (expected) => {
      let events: readonly ExportedEvent[] = [];
      const look = async () => {
        events = await recorded();
        return events.map(({ name, path }) => `${name} ${path}`);
      };
      await expect.poll(look, WAIT).toEqual(expected);
      return events;
    },
  };
}
