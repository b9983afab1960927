import { describe, expect, test } from 'vitest';
import { colourFindings, findings } from './axe-findings.ts';
import { knownDashboard } from './known-dashboard.ts';

// Properties of every view: it fits a phone, it is accessible in light and dark, and its address leads to it.

const dashboard = await knownDashboard();
/** Each view with something that is there once it is complete. */
const VIEWS: readonly (readonly [view: string, hash: string, complete: string])[] = [
  ['overview', '#/demo/overview?range=yesterday&f=path~isNotNull', '[data-card=events] .ranked-row'],
  ['realtime', '#/demo/realtime', '.stream li, .notice'],
  ['events', '#/demo/events?range=yesterday&event=signup', '[data-list=values] .ranked-row'],
  ['sessions', '#/demo/sessions?range=yesterday', '.session'],
  ['funnels', '#/demo/funnels?range=yesterday&steps=screen_view%0Asignup', '.funnel li'],
  ['people', '#/demo/people', '.person'],
  ['a person', '#/demo/people?person=anna', '.facts dd'],
  ['flows', '#/demo/flows?range=yesterday', '.flow-node'],
  ['retention', '#/demo/retention?cohorts=day', '.cohorts td'],
  ['revenue', '#/demo/revenue?range=yesterday', '.figure-value'],
  ['reports', '#/demo/reports', '.form'],
  ['installation', '#/demo/installation', '.arrived .quiet'],
  ['settings of a site', '#/demo/settings', '.form fieldset'],
  ['all sites', '#/demo/settings?section=sites', '.record'],
  ['clients', '#/demo/settings?section=clients', '.record'],
  ['users', '#/demo/settings?section=users', '.notice'],
  ['shared links', '#/demo/settings?section=shares', '.notice'],
  ['the widget', '#/demo/settings?section=widget', '.code'],
  ['goals', '#/demo/settings?section=goals', '.notice'],
  ['segments', '#/demo/settings?section=segments&f=country~is~DE', '.form'],
  ['marks', '#/demo/settings?section=marks', '.notice'],
  ['integrations', '#/demo/settings?section=integrations', '.notice'],
  ['privacy', '#/demo/settings?section=privacy', '.notice'],
  ['the audit log', '#/demo/settings?section=audit', '.table td'],
  ['health', '#/demo/settings?section=health', '.facts dd'],
  ['a site without events', '#/empty/overview', '.hint'],
];

test.skipIf(!dashboard.isAvailable).each(VIEWS)(
  '%s is accessible in light and dark, and no wider than a phone or a tablet',
  async (_view, hash, complete) => {
    const page = await dashboard.open({ hash, browser: { colorScheme: 'light', reducedMotion: 'reduce' } });
    await page.locator(complete).first().waitFor();
    expect(await findings(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await colourFindings(page)).toEqual([]);
    for (const width of [768, 360]) {
      await page.setViewportSize({ width, height: 800 });
      const size = () =>
        page.evaluate<readonly [number, number]>(
          '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
        );
      // The chart follows the width of the page a moment later.
      await expect.poll(async () => Math.max(...(await size()))).toBe(width);
    }
  },
);

describe.skipIf(!dashboard.isAvailable)('signing in', () => {
  test('says when it is wrong, and leads to the figures when it is right', async () => {
    const page = await dashboard.open({ isSignedIn: false });
    const { id, secret } = dashboard.cluster.credentials.clients.root;
    await page.getByLabel('Client id').fill(id);
    await page.getByLabel('Client secret').fill('sec_wrong');
    expect(await findings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Client secret').fill(secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('[data-figure=unique_visitors]').waitFor();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Client id').waitFor();
  });

  test('a read client sees its own site and no commands of others', async () => {
    const page = await dashboard.open({ role: 'read' });
    await page.locator('[data-figure=unique_visitors]').waitFor();
    await page.getByRole('button', { name: /^Site:/ }).click();
    expect(await page.locator('.panel li').count()).toBe(1);
  });
});

describe.skipIf(!dashboard.isAvailable)('now', () => {
  test('an event is in the live number, on the wall and in the stream, and installation turns green', async () => {
    const page = await dashboard.open({ hash: '#/empty/installation' });
    await page.locator('[data-arrived=false]').waitFor();
    await page.getByRole('button', { name: 'Create a write client' }).click();
    const code = page.locator('#snippet code');
    await expect.poll(() => code.textContent()).toMatch(/data-client-id="[0-9a-f-]{36}"/);
    const [, clientId = ''] = /data-client-id="([^"]+)"/.exec((await code.textContent()) ?? '') ?? [];
    const secret = (await page.locator('.once code').textContent()) ?? '';
    const sent = await fetch(`${dashboard.cluster.url('web')}/track`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'service-client-id': clientId,
        'service-client-secret': secret,
        'service-client-ip': '81.0.0.9',
        'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
      },
      body: JSON.stringify({
        type: 'track',
        payload: { name: 'screen_view', properties: { __path: 'https://empty.example/first' } },
      }),
    });
    expect(sent.status).toBe(200);
    await page.locator('[data-arrived=true]').waitFor();
    await page.locator('[data-live="1"]').waitFor();
    await page.getByText('a view of /first').waitFor();
    await page.getByRole('link', { name: 'Realtime' }).click();
    await page.locator('[data-wall="1"]').waitFor();
    await page
      .locator('[data-now=path]')
      .getByRole('button', { name: /^\/first\s*1 now/ })
      .waitFor();
    await page.locator('.stream-path', { hasText: '/first' }).waitFor();
  });
});
