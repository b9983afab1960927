import { describe, expect, test } from 'vitest';
import { knownDashboard, textsOf as texts } from './known-dashboard.ts';

// Events, sessions, funnels and retention in a real browser, over visits that can be counted by hand.

const dashboard = await knownDashboard();

describe.skipIf(!dashboard.isAvailable)('events', () => {
  test('lead to their properties and values, and a value filters', async () => {
    const page = await dashboard.open({ hash: '#/demo/events?range=yesterday' });
    await page.locator('[data-list=values] .ranked-row').first().waitFor();
    expect(await texts(page, '[data-list=names] .ranked-row')).toEqual(['screen_view85.7%6', 'signup14.3%1']);
    expect(await texts(page, '[data-list=properties] .ranked-row')).toEqual(['plan100%1']);
    expect(await texts(page, '[data-list=values] .ranked-row')).toEqual(['pro100%1']);
    await page.locator('[data-list=values] .ranked-row').click();
    await expect.poll(() => texts(page, '[data-list=names] .ranked-row')).toEqual(['signup100%1']);
    expect(new URL(page.url()).hash).toContain('f=properties.plan~is~pro');
  });
});

describe.skipIf(!dashboard.isAvailable)('sessions', () => {
  test('are listed newest first, and open as journeys that have an address', async () => {
    const page = await dashboard.open({ hash: '#/demo/sessions?range=yesterday' });
    await expect.poll(() => texts(page, '.session-who')).toEqual(['anna', 'carla', 'ben', 'anna']);
    expect(await texts(page, '.session-path')).toEqual(['/docs', '/pricing → /', '/', '/ → /pricing']);
    expect(await texts(page, '.session-figures')).toEqual([
      '1 view · 0 s',
      '2 views · 30 s',
      '1 view · 0 s',
      '2 views · 1 event · 2 m 00 s',
    ]);
    await page.locator('.session').last().click();
    const what = () => texts(page, '.journey-what');
    const journey = ['/ Title of /', '/pricing Title of /pricing', 'signup /pricingplan: pro'];
    await expect.poll(what).toEqual(journey);
    expect((await texts(page, '.journey-time')).slice(1)).toEqual(['+ 1 m 00 s', '+ 1 m 00 s']);
    await page.reload();
    await expect.poll(what).toEqual(journey);
    await page.keyboard.press('Escape');
    await expect.poll(() => new URL(page.url()).hash).toBe('#/demo/sessions?range=yesterday');
  });
});

describe.skipIf(!dashboard.isAvailable)('a funnel', () => {
  test('is built from events, and counts who reaches each', async () => {
    const page = await dashboard.open({ hash: '#/demo/funnels?range=yesterday' });
    await page.getByText('Choose two events or more').waitFor();
    await page.getByLabel('Another step').selectOption('screen_view');
    await page.getByLabel('Another step').selectOption('signup');
    await page.locator('.funnel li').first().waitFor();
    expect(await texts(page, '.funnel-sum')).toEqual(['25% of 4 reach the last step: 1']);
    expect(await texts(page, '.funnel-users')).toEqual(['4 100%', '1 25%']);
    // From the earliest start of the best run, which is the first of two page views.
    expect((await texts(page, '.funnel-loss'))[1]).toBe('75% lost, the most · half take 2 m 00 s');
    await page.getByLabel('Who goes through the steps').selectOption('people');
    await expect.poll(() => texts(page, '.funnel-users')).toEqual(['3 100%', '1 33.3%']);
    await page.getByRole('button', { name: 'Remove step 2, signup' }).click();
    await page.getByText('Choose two events or more').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('retention', () => {
  test('shows who came again, by day', async () => {
    const page = await dashboard.open({ hash: '#/demo/retention' });
    await page.getByRole('tab', { name: 'By day' }).click();
    const rows = () =>
      page
        .locator('.cohorts tbody tr')
        .evaluateAll((all) =>
          all
            .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent ?? ''))
            .filter(([sum]) => sum !== '0'),
        )
        .then((cells) => cells.map((texts) => texts.filter((text) => text !== '').join(' ')));
    // Ben came on both days, and anna and carla began on the second; there were no visits today.
    await expect.poll(rows).toEqual(['1 100% 100% 0%', '2 100% 0%']);
  });
});
