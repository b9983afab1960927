import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import { Cluster } from '../cluster/cluster.ts';
import { knownVisits } from './known-visits.ts';
import { sendEvents } from './sent-visits.ts';
import { type DashboardPage, openDashboard } from './signed-in-page.ts';
import { addEmptySite } from './site-settings.ts';

/** The dashboard of a real service that has the known visits, and an empty site beside them. */
export interface KnownDashboard {
  /** Without a browser there is nothing to test. */
  readonly isAvailable: boolean;
  /** Only within tests. */
  readonly cluster: Cluster;
  /** For pages of visitors. Only within tests. */
  readonly browser: Browser;
  /** Opens it in its own browser, signed in unless the options say otherwise. */
  open(options?: Parameters<typeof openDashboard>[2]): Promise<Page>;
}

/**
 * Starts the service before the tests of a file and ends it after them. After each test no page may have had a request to
 * another origin, or anything in its console, which a breach of the content security policy would leave there.
 * @param prepare adds what the tests need besides the known visits
 */
export async function knownDashboard(
  prepare: (cluster: Cluster) => Promise<void> = async () => {},
): Promise<KnownDashboard> {
  const chromium = await findChromium();
  let cluster: Cluster | undefined;
  let browser: Browser | undefined;
  let opened: DashboardPage[] = [];

  beforeAll(async () => {
    if (chromium === undefined) return;
    cluster = await Cluster.start({
      hosts: { web: ['ingest', 'query'] },
      processors: ['processor'],
      withStore: true,
      env: {
        LOG_LEVEL: 'warn',
        QUERY_LIMIT_PER_10_S: '0',
        MANAGE_LIMIT_PER_10_S: '0',
        SECRETS_KEY: 'ab'.repeat(32),
      },
    });
    await cluster.ready('web');
    await addEmptySite(cluster);
    await prepare(cluster);
    await sendEvents(cluster, 'web', knownVisits(Date.now()));
    browser = await startBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await cluster?.stop();
  });
  afterEach(async () => {
    const [troubles, outside] = [opened.flatMap((one) => one.troubles), opened.flatMap((one) => one.outside)];
    for (const { page } of opened) await page.context().close();
    opened = [];
    expect(troubles).toEqual([]);
    expect(outside).toEqual([]);
  });

  const started = <Part>(part: Part | undefined): Part => {
    if (part === undefined) throw new Error('the service runs during tests only');
    return part;
  };
  return {
    isAvailable: chromium !== undefined,
    get cluster() {
      return started(cluster);
    },
    get browser() {
      return started(browser);
    },
    open: async (options = {}) => {
      const dashboard = await openDashboard(started(browser), started(cluster), {
        ...options,
        browser: { locale: 'en-GB', ...options.browser },
      });
      opened.push(dashboard);
      return dashboard.page;
    },
  };
}

/** The text of each element, in one line. */
export function textsOf(page: Page, selector: string): Promise<string[]> {
  return page
    .locator(selector)
    .evaluateAll((all) => all.map((one) => (one.textContent ?? '').replace(/\s+/g, ' ').trim()));
}
