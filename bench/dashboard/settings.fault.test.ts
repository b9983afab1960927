import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { openPage } from '../../ingest/tracker/testing/test-browser.ts';
import { startTestSite } from '../../ingest/tracker/testing/test-site.ts';
import { knownDashboard, textsOf } from './known-dashboard.ts';
import { manage } from './site-settings.ts';

// Settings in a real browser: each section has its effect, which is checked through the API.

const dashboard = await knownDashboard();
const open = (section: string, more = '') =>
  dashboard.open({ hash: `#/demo/settings?section=${section}${more}` });
const stored = async <Data>(path: string) =>
  ((await manage(dashboard.cluster, 'GET', path)) as { readonly data: Data }).data;

interface StoredSite {
  readonly id: string;
  readonly name: string;
  readonly cors: readonly string[];
  readonly publicWidget: boolean;
  readonly retentionDays: number | null;
  readonly filters: { readonly paths: readonly string[] };
}

const save = (page: Page, name = 'Save') => page.getByRole('button', { name, exact: true }).click();

describe.skipIf(!dashboard.isAvailable)('the site', () => {
  test('is changed by what differs, and a wrong value is said beside its field', async () => {
    const page = await open('site');
    await page.getByLabel('Paths').fill('/admin*\n/internal');
    await page.getByLabel('Days for which events are kept').fill('90');
    await page.getByLabel('Anybody may see the live number').check();
    await save(page);
    await page.getByText('Saved').waitFor();
    const site = await stored<StoredSite>('projects/demo');
    expect(site).toMatchObject({
      filters: { paths: ['/admin*', '/internal'] },
      retentionDays: 90,
      publicWidget: true,
    });
    await page.getByLabel('Time zone').fill('Europe/Nowhere');
    await save(page);
    await page.getByLabel('Time zone').and(page.locator('[aria-invalid=true]')).waitFor();
    await expect
      .poll(() => textsOf(page, '.field-problem'))
      .toEqual(['expected a time zone such as Europe/Berlin']);
    expect((await stored<{ readonly timezone: string }>('projects/demo')).timezone).toBe('UTC');
  });

  test('does not overwrite what somebody else changed meanwhile', async () => {
    const page = await open('site');
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await manage(dashboard.cluster, 'PATCH', 'projects/demo', { name: 'Theirs' });
    await save(page);
    await page.getByText('Somebody changed these settings meanwhile').waitFor();
    expect((await stored<StoredSite>('projects/demo')).name).toBe('Theirs');
    await page.getByRole('button', { name: 'Load them again' }).click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Theirs');
    await page.getByLabel('Name', { exact: true }).fill('Demo');
    await save(page);
    await page.getByRole('button', { name: 'Site: Demo' }).waitFor();
  });

  test('is made, deleted and restored', async () => {
    const page = await open('sites');
    await page.getByLabel('Name', { exact: true }).fill('Second');
    await save(page, 'Create the site');
    await page.locator('[data-arrived=false]').waitFor();
    expect((await stored<StoredSite[]>('projects')).map(({ name }) => name)).toContain('Second');
    await page.goto(`${dashboard.cluster.url('web')}/#/demo/settings?section=sites`);
    const row = page
      .getByRole('list', { name: 'Sites', exact: true })
      .getByRole('listitem')
      .filter({ hasText: 'Second' });
    await row.getByRole('button', { name: 'Delete', exact: true }).click();
    await row.getByRole('button', { name: 'Delete Second' }).click();
    await page.getByRole('button', { name: 'Restore' }).click();
    await row.waitFor();
    expect((await stored<StoredSite[]>('projects')).map(({ name }) => name)).toContain('Second');
  });
});

describe.skipIf(!dashboard.isAvailable)('access', () => {
  test('a new client sends, gets another secret, and is deleted', async () => {
    const page = await open('clients');
    await page.getByLabel('Name', { exact: true }).fill('Shop server');
    await save(page, 'Create the client');
    const secret = page.locator('.once code');
    await secret.waitFor();
    const row = page.locator('.record', { hasText: 'Shop server' });
    const id = (await row.locator('code').textContent()) ?? '';
    const send = async (text: string) => {
      const response = await fetch(`${dashboard.cluster.url('web')}/track`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'service-client-id': id,
          'service-client-secret': text,
          'user-agent': 'shop/1.0',
        },
        body: JSON.stringify({ type: 'track', payload: { name: 'ordered', profileId: 'dora' } }),
      });
      return response.status;
    };
    const first = (await secret.textContent()) ?? '';
    expect(await send(first)).toBe(200);
    await row.getByRole('button', { name: 'New secret' }).click();
    await row.getByRole('button', { name: 'Make a new secret' }).click();
    await expect.poll(async () => (await secret.textContent()) !== first).toBe(true);
    expect(await send((await secret.textContent()) ?? '')).toBe(200);
    await expect.poll(() => send(first)).toBe(401);
    await row.getByRole('button', { name: 'Delete', exact: true }).click();
    await row.getByRole('button', { name: 'Delete Shop server' }).click();
    await row.waitFor({ state: 'detached' });
  });

  test('somebody is given access, signs in, sees no controls, and is removed', async () => {
    const page = await open('users');
    await page.getByLabel('Name', { exact: true }).fill('Rita');
    await page.getByLabel('E-mail address').fill('rita@known.example');
    await save(page, 'Give access');
    const told = page.locator('.once code');
    await told.waitFor();
    const [email = '', passphrase = ''] = ((await told.textContent()) ?? '').split('\n');
    const theirs = await dashboard.open({ isSignedIn: false, hash: '#/demo/settings' });
    await theirs
      .getByRole('button', { name: /mail/ })
      .or(theirs.getByRole('tab', { name: /mail/ }))
      .first()
      .click();
    await theirs.getByLabel('E-mail').fill(email);
    await theirs.getByLabel('Passphrase').fill(passphrase);
    await theirs.getByRole('button', { name: 'Sign in' }).click();
    await theirs.getByText('What can be changed is shown to whoever manages the site.').waitFor();
    expect(await textsOf(theirs, '.settings-list li')).toEqual(['Widget', 'System health']);
    const row = page.locator('.record', { hasText: 'rita@known.example' });
    await row.getByRole('button', { name: 'Remove', exact: true }).click();
    await row.getByRole('button', { name: 'Remove Rita' }).click();
    await page.getByText('Nobody yet').waitFor();
    await expect
      .poll(async () => {
        await theirs.reload();
        return theirs.getByRole('button', { name: 'Sign in' }).count();
      })
      .toBe(1);
  });

  test('a link is shared, shows the figures, and is revoked', async () => {
    const page = await open('shares');
    await page.getByLabel('Name', { exact: true }).fill('For the board');
    await save(page, 'Make a link');
    const link = page.locator('.once code').first();
    await link.waitFor();
    const token = ((await link.textContent()) ?? '').replace(/.*#\/shared\//, '');
    const state = async () => (await fetch(`${dashboard.cluster.url('web')}/shared/${token}`)).status;
    expect(await state()).toBe(200);
    const address = (await link.textContent()) ?? '';
    const shown = await dashboard.open({ isSignedIn: false, hash: new URL(address).hash });
    const figure = shown.locator('[data-figure=unique_visitors] .figure-value');
    await figure.waitFor();
    await shown.keyboard.press('y');
    await expect.poll(() => figure.textContent()).toBe('3');
    expect(await shown.getByRole('navigation').count()).toBe(0);
    await shown.locator('[data-card=sources] .ranked-row').first().click();
    await shown.reload();
    await shown.locator('.chip').first().waitFor();
    expect(new URL(shown.url()).hash).toMatch(/^#\/shared\/[\w-]+\?range=yesterday&f=/);
    await shown.getByRole('button', { name: 'Filter' }).first().click();
    expect(await shown.getByLabel('Field').textContent()).not.toContain('Profile');
    await shown.keyboard.press('Escape');
    // In a frame of another site, which is sent no cookie.
    const [, frame = ''] =
      /src="([^"]+)"/.exec((await page.locator('.once code').last().textContent()) ?? '') ?? [];
    const host = await startTestSite();
    host.show(
      '/board',
      `<!doctype html><title>Board</title><iframe src="${frame}?range=yesterday" width="1000" height="800"></iframe>`,
    );
    const visitor = await openPage(dashboard.browser);
    await visitor.page.goto(`${host.otherUrl}/board`);
    const framed = visitor.page.frameLocator('iframe').locator('[data-figure=unique_visitors] .figure-value');
    await framed.waitFor();
    await expect.poll(() => framed.textContent()).toBe('3');
    expect(await visitor.context.cookies(dashboard.cluster.url('web'))).toEqual([]);
    expect(visitor.errors).toEqual([]);
    await visitor.close();
    await host.stop();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('button', { name: 'Revoke For the board' }).click();
    await page.getByText('Nothing is shared.').waitFor();
    await expect.poll(state).toBe(404);
    await shown.reload();
    await shown.getByText('no such shared link, or it has ended').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('a link with a passphrase', () => {
  test('opens with it only, and stays open in this browser', async () => {
    const page = await open('shares');
    await page.getByLabel('Name', { exact: true }).fill('For the press');
    await page.getByLabel('Passphrase').fill('open the door please');
    await save(page, 'Make a link');
    const link = page.locator('.once code').first();
    await link.waitFor();
    const shown = await dashboard.open({
      isSignedIn: false,
      hash: new URL((await link.textContent()) ?? '').hash,
    });
    await shown.getByLabel('Passphrase').fill('let me in let me in');
    await shown.getByRole('button', { name: 'Open' }).click();
    await shown.getByRole('alert').waitFor();
    await shown.getByLabel('Passphrase').fill('open the door please');
    await shown.getByRole('button', { name: 'Open' }).click();
    await shown.locator('[data-figure=unique_visitors]').waitFor();
    await shown.reload();
    await shown.locator('[data-figure=unique_visitors]').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('definitions', () => {
  test('goals, segments and marks are made and deleted', async () => {
    const page = await open('goals');
    await page.getByLabel('Name', { exact: true }).fill('Signed up');
    await page.getByLabel('Event', { exact: true }).fill('signup');
    await page.getByLabel(/^Worth/).fill('5');
    await save(page, 'Create the goal');
    await expect.poll(() => textsOf(page, '.record-name')).toEqual(['Signed upevent signup · worth US$5']);
    const metrics = await fetch(
      `${dashboard.cluster.url('web')}/insights/demo/metrics?range=yesterday&goal=Signed%20up`,
      {
        headers: {
          'service-client-id': dashboard.cluster.credentials.clients.read.id,
          'service-client-secret': dashboard.cluster.credentials.clients.read.secret,
        },
      },
    );
    expect(await metrics.json()).toMatchObject({ metrics: { conversions: 1 } });
    await page.goto(`${dashboard.cluster.url('web')}/#/demo/overview?range=yesterday`);
    await page.getByLabel('Goal').selectOption('Signed up');
    const figure = (name: string) => page.locator(`[data-figure=${name}] .figure-value`).textContent();
    await expect.poll(() => figure('conversions')).toBe('1');
    expect(await figure('conversion_rate')).toBe('25%');
    await expect.poll(() => textsOf(page, '[data-card=sources] .ranked-share')).toEqual(['0%', '50%']);

    await page.goto(`${dashboard.cluster.url('web')}/#/demo/settings?section=segments&f=browser~is~Firefox`);
    await page.getByLabel('Name', { exact: true }).fill('Firefox');
    await save(page, 'Create the segment');
    await expect.poll(() => textsOf(page, '.record-name')).toEqual(['FirefoxBrowser is Firefox']);
    await page.getByRole('button', { name: 'Look at it' }).click();
    expect(new URL(page.url()).hash).toContain('segment=Firefox');
    await expect.poll(() => page.getByLabel('Segment').inputValue()).toBe('Firefox');
    await page.keyboard.press('y');
    await expect
      .poll(() => page.locator('[data-figure=unique_visitors] .figure-value').textContent())
      .toBe('1');
    // It holds in every view, until the filters are removed.
    await page.getByRole('link', { name: 'Sessions' }).click();
    await expect.poll(() => page.getByLabel('Segment').inputValue()).toBe('Firefox');
    await expect.poll(() => page.locator('.session').count()).toBe(2);
    await page.keyboard.press('x');
    await expect.poll(() => page.locator('.session').count()).toBeGreaterThan(2);
    expect(new URL(page.url()).hash).not.toContain('segment');

    await page.goto(`${dashboard.cluster.url('web')}/#/demo/settings?section=marks`);
    await page.getByLabel('Title').fill('Launch');
    await page.getByLabel('Date').fill('2026-01-02');
    await save(page, 'Mark the date');
    await expect.poll(() => textsOf(page, '.record-name')).toEqual(['Launch2 Jan 2026, 00:00']);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete Launch' }).click();
    await page.getByText('No date is marked.').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('operations', () => {
  test('somebody is found and erased, and the receipt names nobody', async () => {
    const page = await open('privacy');
    await page.getByLabel('Name, e-mail or id').fill('carla');
    const found = page.locator('[aria-label=Found] .record');
    await found.getByRole('button', { name: 'Erase' }).click();
    await found.getByRole('button', { name: 'Erase for good' }).click();
    const receipts = page.getByRole('list', { name: 'Receipts' });
    await receipts.getByText(/^erased/).waitFor({ timeout: 60_000 });
    expect(await receipts.textContent()).not.toContain('carla');
    expect(await receipts.textContent()).toMatch(/\d events, 1 sessions/);
  });

  test('a bucket that does not answer says so, and health and audit log tell what there is', async () => {
    const page = await open('integrations');
    await page.getByLabel('Bucket', { exact: true }).fill('no');
    await page.getByLabel('Access key id').fill('key');
    await page.getByLabel('Secret access key').fill('secret');
    await save(page, 'Deliver to it');
    await page.locator('.field-problem', { hasText: 'expected a bucket name' }).waitFor();
    await page.goto(`${dashboard.cluster.url('web')}/#/demo/settings?section=health`);
    await page.getByText('Ready', { exact: true }).waitFor();
    expect((await textsOf(page, '.facts dd')).filter((text) => text.startsWith('reached'))).toHaveLength(2);
    await page.goto(`${dashboard.cluster.url('web')}/#/demo/settings?section=audit`);
    await page.getByLabel('Action, such as rotate or DELETE').fill('PATCH');
    await expect
      .poll(async () =>
        (await textsOf(page, '.table td:nth-child(3)')).every((text) => text.startsWith('PATCH ')),
      )
      .toBe(true);
  });
});
