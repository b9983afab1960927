import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { knownDashboard } from './known-dashboard.ts';
import { addReference } from './site-settings.ts';

// The overview in a real browser, over a real service with visits that can be counted by hand. No request may leave the
// origin, and the console stays empty, which a breach of the content security policy would not leave it.

const dashboard = await knownDashboard((cluster) => addReference(cluster, 'Launch', 1));

const YESTERDAY = '#/demo/overview?range=yesterday';

const open = (options: Parameters<typeof dashboard.open>[0] = {}) =>
  dashboard.open({ hash: YESTERDAY, ...options });

const figure = (page: Page, name: string) => page.locator(`[data-figure=${name}] .figure-value`);
const card = (page: Page, id: string) => page.locator(`[data-card=${id}]`);

/** Labels and values of a card's rows, once there are any. */
async function rowsOf(page: Page, id: string): Promise<string[]> {
  const rows = card(page, id).locator('.ranked-row');
  await rows.first().waitFor();
  return rows.evaluateAll((all) =>
    all.map((row) => {
      const text = (part: string) => row.querySelector(part)?.firstChild?.textContent ?? '';
      const label = text('.ranked-label');
      return `${label} ${text('.ranked-share')} ${text('.ranked-value')}`;
    }),
  );
}

describe.skipIf(!dashboard.isAvailable)('the overview', () => {
  test('shows the figures of the period and of the one before', async () => {
    const page = await open();
    const shown = async () =>
      Object.fromEntries(
        await page
          .locator('.figure')
          .evaluateAll((all) =>
            all.map((one): [string, string] => [
              one.querySelector('.figure-title')?.textContent ?? '',
              `${one.querySelector('.figure-value')?.textContent} ${one.querySelector('.figure-change')?.textContent}`.replace(
                /\s+/g,
                ' ',
              ),
            ]),
          ),
      );
    await figure(page, 'unique_visitors').waitFor();
    await expect.poll(shown).toEqual({
      Visitors: '3 up ↑ 200%from 1',
      Sessions: '4 up ↑ 300%from 1',
      'Page views': '6 up ↑ 500%from 1',
      'Views per session': '1.5 up ↑ 50%from 1',
      'Bounce rate': '50% down ↓ 50%from 100%',
      'Time per session': '38 s from 0 s',
    });
  });

  test('shows where visits came from, what they saw, and with what', async () => {
    const page = await open();
    // A card can show its rows before the figures of the period arrive. Shares need both.
    await expect.poll(() => rowsOf(page, 'sources')).toEqual(['Direct / none 50% 2', 'Google 50% 2']);
    await expect.poll(() => rowsOf(page, 'pages')).toEqual(['/ 75% 3', '/pricing 50% 2', '/docs 25% 1']);
    await expect
      .poll(() => rowsOf(page, 'devices'))
      .toEqual(['Firefox 50% 2', 'Chrome 25% 1', 'Safari 25% 1']);
    await expect.poll(() => rowsOf(page, 'events')).toEqual(['Page view  6', 'signup  1']);
    await card(page, 'pages').getByRole('tab', { name: 'Entry pages' }).click();
    await expect.poll(() => rowsOf(page, 'pages')).toEqual(['/ 50% 2', '/docs 25% 1', '/pricing 25% 1']);
    await card(page, 'devices').getByRole('tab', { name: 'Systems' }).click();
    await expect.poll(() => rowsOf(page, 'devices')).toEqual(['Linux 50% 2', 'Windows 25% 1', 'iOS 25% 1']);
  });

  test('is filtered by a click on a row, and Back undoes it', async () => {
    const page = await open();
    await card(page, 'sources')
      .getByRole('button', { name: /^Google/ })
      .click();
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('2');
    expect(new URL(page.url()).hash).toContain('f=referrer_name~is~Google');
    await page.getByRole('button', { name: 'Source is Google', exact: true }).waitFor();
    await card(page, 'pages')
      .getByRole('button', { name: /^\/pricing/ })
      .click();
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('1');
    await page.goBack();
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('2');
    await page.getByRole('button', { name: 'Remove the filter: Source is Google' }).click();
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('4');
  });

  test('filters by what the form says, with any operator', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Filter', exact: true }).click();
    await page.getByLabel('Field').selectOption('Browser');
    await page.getByLabel('Operator').selectOption('is not');
    await page.getByLabel('Values, one a line; one of them must match').fill('Firefox\nSafari');
    await page.getByRole('button', { name: 'Add the filter' }).click();
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('1');
    await page.getByText('Browser is not Firefox or Safari').first().waitFor();
  });

  test('is restored by its address', async () => {
    const page = await open({
      hash: '#/demo/overview?range=yesterday&compare=off&f=browser~is~Firefox&figure=total_screen_views&devices=os',
    });
    await expect.poll(() => figure(page, 'total_screen_views').textContent()).toBe('3');
    await expect
      .poll(() => page.locator('.figure[aria-pressed=true] .figure-title').textContent())
      .toBe('Page views');
    await expect.poll(() => rowsOf(page, 'devices')).toEqual(['Linux 100% 2']);
    expect(await page.locator('.change').count()).toBe(0);
    await page.reload();
    await expect.poll(() => figure(page, 'total_screen_views').textContent()).toBe('3');
  });

  test('shows all rows of a card, searched and sorted, and saves them', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Show all top pages' }).click();
    const rows = page.locator('dialog tbody tr');
    await expect.poll(() => rows.count()).toBe(3);
    const cells = () => rows.evaluateAll((all) => all.map((row) => row.querySelector('td')?.textContent));
    expect(await cells()).toEqual(['3', '2', '1']);
    await page
      .locator('dialog')
      .getByRole('button', { name: /Sessions/ })
      .click();
    await expect.poll(cells).toEqual(['1', '2', '3']);
    await page.getByLabel('Search top pages').fill('pric');
    await expect.poll(() => rows.count()).toBe(1);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as CSV' }).click();
    const saved = readFileSync(await (await saving).path(), 'utf8');
    expect(saved.split('\r\n')[0]).toBe('Top pages,,Sessions,Visitors,Views,Bounce rate,Time');
    expect(saved.split('\r\n')[1]).toMatch(/^\/pricing,Title of \/pricing,2,2,2,/);
    await page.keyboard.press('Escape');
    await rows.first().waitFor({ state: 'detached' });
  });

  test('saves figures over time and the chart', async () => {
    const page = await open();
    await figure(page, 'unique_visitors').waitFor();
    const save = async (name: string) => {
      await page.getByRole('button', { name: 'Export' }).click();
      const saving = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      return readFileSync(await (await saving).path());
    };
    const lines = (await save('Figures over time (CSV)')).toString('utf8').trim().split('\r\n');
    expect(lines).toHaveLength(25);
    expect(lines[0]).toMatch(/^date,unique_visitors,total_sessions,total_screen_views,/);
    expect(lines[11]).toMatch(/ 10:00:00,1,1,2,2,0,120,/);
    const image = await save('Chart (PNG)');
    expect(image.subarray(1, 4).toString()).toBe('PNG');
  });

  test('reads the chart point by point, and as a table, and lists references', async () => {
    const page = await open();
    await page.getByRole('group', { name: /^Visitors over time/ }).focus();
    for (let hour = 0; hour <= 10; hour += 1) await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.locator('.chart-point').textContent()).toMatch(/10:00.*1/);
    await page.getByRole('button', { name: 'Show as table' }).click();
    await expect.poll(() => page.locator('dialog tbody tr').count()).toBe(24);
    await page.keyboard.press('Escape');
    await page.getByText('1 reference').click();
    await page.getByText('Launch').first().waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('by keyboard', () => {
  test('periods, views and the palette have keys', async () => {
    const page = await open();
    await figure(page, 'unique_visitors').waitFor();
    await page.keyboard.press('w');
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('5');
    await page.keyboard.press('y');
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('4');
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('1');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.type('realtime');
    await page.keyboard.press('Enter');
    await page.locator('.wall-number').waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#\/demo\/realtime/);
  });

  test('the first stop skips to the figures, and menus are gone through by arrows', async () => {
    const page = await open();
    await figure(page, 'unique_visitors').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Skip to the figures');
    await page.keyboard.press('Enter');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('main');
    await page.getByRole('button', { name: /^Period:/ }).press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('5');
    expect(await page.evaluate<string>('document.activeElement.textContent')).toBe('Last 7 days');
  });

  test('an address that is opened while the service is asked who signed in stays', async () => {
    const page = await open();
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/session', async (route) => {
      await held;
      await route.continue();
    });
    // The browser reports another address later than the service answers, like on a busy machine.
    await page.addInitScript(
      "addEventListener('hashchange', (event) => event.isTrusted && event.stopImmediatePropagation())",
    );
    await page.goto('about:blank');
    await page.goto(`${dashboard.cluster.url('web')}/`);
    await page.evaluate(`location.hash = '${YESTERDAY}'`);
    answer();
    await figure(page, 'unique_visitors').waitFor();
    await page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))");
    await expect.poll(() => figure(page, 'total_sessions').textContent()).toBe('4');
    expect(await page.evaluate<string>('location.hash')).toBe(YESTERDAY);
  });

  test('a key that follows at once goes to the menu or dialog that the key before it opened', async () => {
    const page = await open();
    await figure(page, 'unique_visitors').waitFor();
    // Only tasks that were already waiting run between the two keys, like on a busy machine.
    await page.evaluate(`(async () => {
      document.querySelector('button[aria-label^="Period:"]').click();
      for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      const key = new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true });
      document.activeElement.dispatchEvent(key);
    })()`);
    const focused = () => page.evaluate<string>('document.activeElement.firstChild.textContent');
    await expect.poll(() => page.locator('.panel .own-dates').count()).toBe(1);
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 200)))');
    expect(await focused()).toBe('Last 7 days');
    // The palette is loaded when it is first opened.
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
    const focusedAtOnce = await page.evaluate<string>(`(async () => {
      const rest = async () => {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
      };
      document.querySelector('dialog [aria-label=Close]').click();
      await rest();
      dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }));
      await rest();
      return document.activeElement.tagName;
    })()`);
    expect(focusedAtOnce).toBe('INPUT');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('places', () => {
  test('are a map, too, with the same countries and sessions, and a country filters', async () => {
    const page = await open();
    await card(page, 'places').locator('.ranked-share', { hasText: '%' }).first().waitFor();
    const listed = (await rowsOf(page, 'places'))
      .map((row) => row.replace(/ [\d.]+% (\d+)$/, ': $1'))
      .filter((row) => !row.startsWith('Unknown'));
    expect(listed.length).toBeGreaterThan(0);
    await card(page, 'places').getByRole('tab', { name: 'Map' }).click();
    const countries = page.locator('[data-country]');
    await countries.first().waitFor();
    const labels = await countries.evaluateAll((all) =>
      all.map((one) => one.getAttribute('aria-label') ?? ''),
    );
    expect(labels.toSorted()).toEqual(listed.toSorted());
    await countries.first().press('Enter');
    await page.locator('.chip-words', { hasText: 'Country is' }).waitFor();
  });
});
