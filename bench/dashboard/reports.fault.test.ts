import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { knownDashboard, textsOf } from './known-dashboard.ts';
import { manage } from './site-settings.ts';

// Dashboards and reports in a real browser: made by choosing, drawn over visits that can be counted by hand.

const dashboard = await knownDashboard();

const report = (page: Page, name: string) => page.locator(`[data-report="${name}"]`);

/** Opens the form of a new report and chooses its name and how it is shown. */
async function begin(page: Page, name: string, shownAs: string): Promise<void> {
  await page.getByRole('button', { name: 'New report' }).click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByLabel('Shown as').selectOption(shownAs);
  await page.getByLabel('Period').selectOption('Yesterday');
}

const save = (page: Page) => page.getByRole('button', { name: 'Save the report' }).click();

describe.skipIf(!dashboard.isAvailable)('reports', () => {
  test('are made by choosing, seen while they are made, drawn, changed and deleted', async () => {
    const page = await dashboard.open({ hash: '#/demo/reports' });
    await page.getByLabel('Name of a new dashboard').fill('Board');
    await page.getByRole('button', { name: 'Make a dashboard' }).click();
    await page.getByText('No report yet. Make the first one.').waitFor();

    await begin(page, 'Views', 'Number');
    await page.getByLabel('Event', { exact: true }).selectOption('screen_view');
    await expect.poll(() => textsOf(page, '.report-preview .numbers strong')).toEqual(['6']);
    await page.getByLabel('What is counted').selectOption('visitors');
    await expect.poll(() => textsOf(page, '.report-preview .numbers strong')).toEqual(['3']);
    await save(page);
    await expect.poll(() => textsOf(page, '[data-report="Views"] .numbers strong')).toEqual(['3']);

    await begin(page, 'Browsers', 'Ring');
    await page.getByLabel('Event', { exact: true }).selectOption('screen_view');
    await page.getByLabel('Broken down by').selectOption('Browser');
    await save(page);
    await expect
      .poll(() => textsOf(page, '[data-report="Browsers"] .legend li'))
      .toEqual(['Firefox 3', 'Safari 2', 'Chrome 1']);

    await begin(page, 'To sign up', 'Funnel');
    await page.getByText('Choose two steps or more.').waitFor();
    await page.getByLabel('Event', { exact: true }).selectOption('screen_view');
    await page.getByRole('button', { name: 'Another step' }).click();
    await page.getByLabel('Event', { exact: true }).last().selectOption('signup');
    await expect.poll(() => textsOf(page, '.report-preview .funnel-users')).toEqual(['4 100%', '1 25%']);
    await save(page);
    await expect
      .poll(() => textsOf(page, '[data-report="To sign up"] .funnel-users'))
      .toEqual(['4 100%', '1 25%']);

    await begin(page, 'Paths', 'Flow');
    await save(page);
    await report(page, 'Paths').locator('[data-node="0:value:/"]').waitFor();

    await begin(page, 'Course', 'Lines');
    await page.getByLabel('Width of a bucket').selectOption('hour');
    await page.getByLabel('Formula').fill('A / 0 +');
    await save(page);
    await page.locator('.field-problem').waitFor();
    await page.getByLabel('Formula').fill('A * 2');
    await save(page);
    await report(page, 'Course').locator('.lines-line').waitFor();
    // Seven events, twice.
    await expect.poll(() => textsOf(page, '[data-report="Course"] .legend strong')).toEqual(['14']);

    await report(page, 'Course').getByRole('button', { name: 'Change' }).click();
    await page.getByLabel('Shown as').selectOption('Bars over time');
    await save(page);
    await report(page, 'Course').locator('rect').first().waitFor({ state: 'attached' });
    await report(page, 'Course').getByRole('button', { name: 'Delete', exact: true }).click();
    await report(page, 'Course').getByRole('button', { name: 'Delete the report' }).click();
    await report(page, 'Course').waitFor({ state: 'detached' });

    // The newest comes first, until someone arranges them: here only with the keyboard.
    const names = () =>
      page.locator('[data-report]').evaluateAll((all) => all.map((one) => one.getAttribute('data-report')));
    // A report has its name with its data.
    const all = ['Browsers', 'Paths', 'To sign up', 'Views'];
    await expect.poll(async () => (await names()).sort()).toEqual(all);
    const before = await names();
    const [first, second, third, last] = before;
    await report(page, first ?? '')
      .getByRole('button', { name: 'Move down' })
      .focus();
    for (const expected of [
      [second, first, third, last],
      [second, third, first, last],
      [second, third, last, first],
    ]) {
      await page.keyboard.press('Enter');
      await expect.poll(names).toEqual(expected);
    }
    await page.keyboard.press('Enter');
    await page.reload();
    await expect.poll(names).toEqual([second, third, last, first]);
    const [board] = (await manage(dashboard.cluster, 'GET', 'projects/demo/dashboards')) as {
      readonly id: string;
    }[];
    const kept = await manage(dashboard.cluster, 'GET', `projects/demo/dashboards/${board?.id}/reports`);
    expect((kept as { readonly name: string }[]).map(({ name }) => name).sort()).toEqual([
      'Browsers',
      'Paths',
      'To sign up',
      'Views',
    ]);
  });

  test('are a map where they are by country, and a ring closes over what it does not name', async () => {
    const [board] = (await manage(dashboard.cluster, 'GET', 'projects/demo/dashboards')) as {
      readonly id: string;
    }[];
    const path = `projects/demo/dashboards/${board?.id}/reports`;
    const series = [{ name: '*', segment: 'event' }];
    for (const body of [
      { name: 'Countries', chartType: 'map', series, breakdowns: [{ name: 'country' }] },
      { name: 'Events by id', chartType: 'pie', series, breakdowns: [{ name: 'id' }] },
    ])
      await manage(dashboard.cluster, 'POST', path, body);
    const page = await dashboard.open({ hash: '#/demo/reports', role: 'read' });
    const map = report(page, 'Countries');
    await map.locator('.world-land.seen').first().waitFor({ state: 'attached' });
    const rows = await textsOf(page, '[data-report="Countries"] .ranked-label');
    const titles = await map
      .locator('.world-land.seen title')
      .evaluateAll((all) => all.map((one) => one.textContent?.split(':')[0] ?? ''));
    expect(titles.slice().sort()).toEqual(rows.filter((row) => row !== 'unknown').sort());
    const rest = report(page, 'Events by id').locator('.ring-rest');
    await rest.waitFor({ state: 'attached' });
    await report(page, 'Browsers').locator('.ring').waitFor();
    expect(await report(page, 'Browsers').locator('.ring-rest').count()).toBe(0);
  });

  test('are seen without controls by whoever may only read', async () => {
    const page = await dashboard.open({ hash: '#/demo/reports', role: 'read' });
    await report(page, 'Views').waitFor();
    expect(await page.getByRole('button', { name: 'New report' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  });
});
