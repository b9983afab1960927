import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { projectRoot } from '../../infra/root.ts';
import { findChromium } from '../../ingest/testing/chromium.ts';
import { startBrowser } from '../../ingest/tracker/testing/test-browser.ts';
import { Cluster } from '../cluster/cluster.ts';
import { believableVisits, sendEvents } from './sent-visits.ts';
import { openDashboard } from './signed-in-page.ts';
import { addEmptySite, addReference, addReports } from './site-settings.ts';

/** Writes every view of the dashboard, light, dark and on a phone, to this folder. */
const FOLDER = join(projectRoot, '.cache/screenshots');
const DAYS = 70;
const VISITS = 4_000;

interface Shot {
  readonly name: string;
  readonly hash: string;
  readonly isSignedIn?: boolean;
  /** Waits until the view is complete, and opens the part to be seen. */
  readonly prepare: (page: Page) => Promise<void>;
}

const views = [{ name: 'screen_view', segment: 'event' }];
const REPORTS = [
  { name: 'Page views', chartType: 'metric', series: views },
  { name: 'Views by country', chartType: 'map', series: views, breakdowns: [{ name: 'country' }] },
  { name: 'To sign up', chartType: 'funnel', series: [{ name: 'screen_view' }, { name: 'signup' }] },
  { name: 'Views by source', chartType: 'pie', series: views, breakdowns: [{ name: 'referrer_name' }] },
  { name: 'Views by browser', chartType: 'bar', series: views, breakdowns: [{ name: 'browser' }] },
  { name: 'Views by day', chartType: 'linear', series: views },
];

const overview = async (page: Page) => {
  await page.locator('[data-figure=unique_visitors]').waitFor();
  await page.locator('.cards .ranked-row').nth(12).waitFor();
};
const press = (key: string) => async (page: Page) => {
  await overview(page);
  await page.keyboard.press(key);
  await page.locator('dialog').waitFor();
};

const SHOTS: readonly Shot[] = [
  {
    name: 'sign-in',
    hash: '',
    isSignedIn: false,
    prepare: (page) => page.getByRole('button', { name: 'Sign in' }).waitFor(),
  },
  { name: 'overview', hash: '#/demo/overview?range=30d', prepare: overview },
  {
    name: 'overview-filtered',
    hash: '#/demo/overview?range=today&f=path~contains~blog&f=country~isNotNull',
    prepare: (page) => page.locator('.ranked-row').first().waitFor(),
  },
  {
    name: 'full-list',
    hash: '#/demo/overview?range=30d',
    prepare: async (page) => {
      await overview(page);
      await page.getByRole('button', { name: 'Show all top pages' }).click();
      await page.locator('dialog tbody tr').first().waitFor();
    },
  },
  {
    name: 'period-menu',
    hash: '#/demo/overview?range=30d',
    prepare: async (page) => {
      await overview(page);
      await page.getByRole('button', { name: /^Period:/ }).click();
    },
  },
  { name: 'filter-form', hash: '#/demo/overview?range=30d', prepare: press('f') },
  { name: 'commands', hash: '#/demo/overview?range=30d', prepare: press('Control+k') },
  {
    name: 'realtime',
    hash: '#/demo/realtime',
    prepare: (page) => page.locator('.stream li').first().waitFor(),
  },
  {
    name: 'events',
    hash: '#/demo/events?range=30d&event=signup',
    prepare: (page) => page.locator('[data-list=values] .ranked-row').first().waitFor(),
  },
  {
    name: 'sessions',
    hash: '#/demo/sessions?range=today',
    prepare: (page) => page.locator('.session').nth(20).waitFor(),
  },
  {
    name: 'journey',
    hash: '#/demo/sessions?range=today',
    prepare: async (page) => {
      await page.locator('.session', { hasText: 'events' }).first().click();
      await page.locator('.journey li').first().waitFor();
    },
  },
  {
    name: 'funnels',
    hash: '#/demo/funnels?range=30d&steps=screen_view%0Avideo_play%0Asignup',
    prepare: (page) => page.locator('.funnel li').first().waitFor(),
  },
  {
    name: 'retention',
    hash: '#/demo/retention',
    prepare: (page) => page.locator('.cohorts td').first().waitFor(),
  },
  {
    name: 'people',
    hash: '#/demo/people?sort=sessions',
    prepare: (page) => page.locator('.person').nth(10).waitFor(),
  },
  {
    name: 'person',
    hash: '#/demo/people?sort=sessions',
    prepare: async (page) => {
      await page.locator('.person').first().click();
      await page.locator('.calendar-day').first().waitFor();
      await page.locator('.session').first().waitFor();
    },
  },
  {
    name: 'flows',
    hash: '#/demo/flows?range=30d',
    prepare: (page) => page.locator('.flow-node').nth(10).waitFor(),
  },
  {
    name: 'revenue',
    hash: '#/demo/revenue?range=30d',
    prepare: (page) => page.locator('main .notice, [data-earnings=pages] .ranked-row').first().waitFor(),
  },
  {
    name: 'reports',
    hash: '#/demo/reports',
    prepare: async (page) => {
      await page
        .locator('.report')
        .nth(REPORTS.length - 1)
        .waitFor();
      await page.locator('.report .loading').first().waitFor({ state: 'detached' });
    },
  },
  {
    name: 'map',
    hash: '#/demo/overview?range=30d&places=map',
    prepare: async (page) => {
      await overview(page);
      await page.locator('[data-card=places] svg path').first().waitFor({ state: 'attached' });
    },
  },
  {
    name: 'wall',
    hash: 'live/demo/embed?look=wall',
    prepare: (page) => page.locator('#number', { hasText: /\d/ }).waitFor(),
  },
  ...['site', 'clients', 'users', 'widget', 'audit', 'health'].map(
    (section): Shot => ({
      name: `settings-${section}`,
      hash: `#/demo/settings?section=${section}`,
      prepare: (page) =>
        page.locator('.form fieldset, .record, .notice, .code, .table td, .facts dd').first().waitFor(),
    }),
  ),
  {
    name: 'installation',
    hash: '#/demo/installation',
    prepare: (page) => page.locator('.arrived').waitFor(),
  },
  {
    name: 'nothing-yet',
    hash: '#/empty/overview',
    prepare: (page) => page.locator('.hint').waitFor(),
  },
];

const SIZES = [
  { name: 'light', viewport: { width: 1360, height: 900 }, colorScheme: 'light' },
  { name: 'dark', viewport: { width: 1360, height: 900 }, colorScheme: 'dark' },
  { name: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
] as const;

/** The pictures of the README: the first screen of the overview, small enough to be in every clone. */
const README_FOLDER = join(projectRoot, 'query/dashboard/pictures');
const README_VIEWPORT = { width: 1180, height: 820 };
const README_QUALITY = 78;

async function paintReadme(browser: Browser, cluster: Cluster): Promise<void> {
  mkdirSync(README_FOLDER, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openDashboard(browser, cluster, {
      hash: '#/demo/overview?range=30d',
      browser: { viewport: README_VIEWPORT, colorScheme, locale: 'en-GB', reducedMotion: 'reduce' },
    });
    await overview(page);
    const path = join(README_FOLDER, `overview-${colorScheme}.jpg`);
    await page.screenshot({ path, type: 'jpeg', quality: README_QUALITY });
    process.stdout.write(`${path}\n`);
    await page.context().close();
  }
}

async function main(wanted: readonly string[]): Promise<void> {
  const chromium = await findChromium();
  if (chromium === undefined) throw new Error('no Chromium: name one with CHROMIUM');
  const cluster = await Cluster.start({
    hosts: { web: ['ingest', 'query'] },
    processors: ['processor'],
    withStore: true,
    env: { LOG_LEVEL: 'warn', QUERY_LIMIT_PER_10_S: '0' },
  });
  let browser: Browser | undefined;
  try {
    await cluster.ready('web');
    await addEmptySite(cluster);
    await addReference(cluster, 'New pricing', 12);
    await addReports(cluster, REPORTS);
    await sendEvents(cluster, 'web', believableVisits(Date.now(), DAYS, VISITS));
    browser = await startBrowser(chromium);
    if (wanted.includes('readme')) await paintReadme(browser, cluster);
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    for (const { name, hash, isSignedIn = true, prepare } of SHOTS) {
      if (wanted.length > 0 && !wanted.includes(name)) continue;
      for (const { name: size, ...options } of SIZES) {
        const { page } = await openDashboard(browser, cluster, {
          hash,
          isSignedIn,
          browser: { ...options, locale: 'en-GB', reducedMotion: 'reduce' },
        });
        await prepare(page);
        const path = join(FOLDER, `${name}-${size}.png`);
        const isFull = (await page.locator('dialog, .panel').count()) === 0;
        await page.screenshot({ path, fullPage: isFull });
        process.stdout.write(`${path}\n`);
        await page.context().close();
      }
    }
  } finally {
    await browser?.close();
    await cluster.stop();
  }
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
