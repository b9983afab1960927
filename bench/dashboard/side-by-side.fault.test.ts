import { describe, expect, test } from 'vitest';
import { openPage } from '../../ingest/tracker/testing/test-browser.ts';
import { startTestSite } from '../../ingest/tracker/testing/test-site.ts';
import { knownDashboard } from './known-dashboard.ts';

// A page with the script of the installation page, that page, and the dashboard, side by side in real browsers.

const dashboard = await knownDashboard();

describe.skipIf(!dashboard.isAvailable)('a page with the snippet', () => {
  test('is opened: installation turns green, and every number moves', async () => {
    const installation = await dashboard.open({ hash: '#/empty/installation' });
    await installation.locator('[data-arrived=false]').waitFor();
    await installation.getByRole('button', { name: 'Create a write client' }).click();
    const code = installation.locator('#snippet code');
    await expect.poll(() => code.textContent()).toMatch(/data-client-id="[0-9a-f-]{36}"/);
    const overview = await dashboard.open({ hash: '#/empty/overview?range=today' });
    await overview.locator('[data-live="0"]').waitFor();
    const realtime = await dashboard.open({ hash: '#/empty/realtime' });
    await realtime.locator('[data-wall="0"]').waitFor();

    const pages = await startTestSite();
    const visitor = await openPage(dashboard.browser);
    try {
      await installation.getByLabel('Another origin').fill(new URL(pages.url).origin);
      await installation.getByRole('button', { name: 'Allow it' }).click();
      await installation.locator('.chip', { hasText: new URL(pages.url).origin }).waitFor();
      pages.show('/welcome', `<!doctype html><title>Welcome</title>${await code.textContent()}<p>Hello</p>`);
      await visitor.page.goto(`${new URL(pages.url).origin}/welcome`);
      await installation.locator('[data-arrived=true]').waitFor();
      await installation.getByText('a view of /welcome').waitFor();
      await overview.locator('[data-live="1"]').waitFor();
      await realtime.locator('[data-wall="1"]').waitFor();
      await realtime.locator('.stream-path', { hasText: '/welcome' }).waitFor();
      await realtime.reload();
      await realtime.locator('[data-today="1"]').waitFor();
      await overview.reload();
      await expect
        .poll(() => overview.locator('[data-figure=unique_visitors] .figure-value').textContent())
        .toBe('1');
      expect(visitor.errors).toEqual([]);
    } finally {
      await visitor.close();
      await pages.stop();
    }
  });
});
