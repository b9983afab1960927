import { describe, expect, test } from 'vitest';
import type { Cluster } from '../cluster/cluster.ts';
import { knownDashboard, textsOf } from './known-dashboard.ts';

// People, groups and flows in a real browser, over visits that can be counted by hand.

/** Introduces anna, and the company of anna and ben. */
async function introduce(cluster: Cluster): Promise<void> {
  const { id, secret } = cluster.credentials.clients.write;
  const operations = [
    {
      type: 'identify',
      payload: {
        profileId: 'anna',
        firstName: 'Anna',
        lastName: 'Fischer',
        email: 'anna@known.example',
        properties: { plan: 'pro' },
      },
    },
    { type: 'group', payload: { id: 'acme', type: 'company', name: 'Acme', properties: { seats: '2' } } },
    { type: 'assign_group', payload: { profileId: 'anna', groupIds: ['acme'] } },
    { type: 'assign_group', payload: { profileId: 'ben', groupIds: ['acme'] } },
  ];
  for (const operation of operations) {
    const response = await fetch(`${cluster.url('web')}/track`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'service-client-id': id,
        'service-client-secret': secret,
        'user-agent': 'known-server/1.0',
      },
      body: JSON.stringify(operation),
    });
    if (!response.ok) throw new Error(`/track: ${response.status} ${await response.text()}`);
  }
}

const dashboard = await knownDashboard(introduce);
/** In the currency of the first site. */
const REVENUE_OF_NOTHING = 'US$0';

describe.skipIf(!dashboard.isAvailable)('people', () => {
  test('are listed, sorted and found by name, and one has a page with figures, sessions and events', async () => {
    const page = await dashboard.open({ hash: '#/demo/people' });
    const names = () => textsOf(page, '.person-name');
    await expect.poll(names).toEqual(['Anna Fischeranna@known.example', 'carla', 'ben']);
    await expect
      .poll(() => textsOf(page, '.person-sessions'))
      .toEqual(['2 sessions', '1 session', '2 sessions']);
    await page.getByLabel('Order').selectOption('Most sessions');
    await expect.poll(names).toEqual(['Anna Fischeranna@known.example', 'ben', 'carla']);
    await page.getByLabel('Search by name, e-mail or id').fill('FISCH');
    await expect.poll(names).toEqual(['Anna Fischeranna@known.example']);
    expect(new URL(page.url()).hash).toContain('search=FISCH');

    await page.getByRole('link', { name: /Anna Fischer/ }).click();
    await page.getByRole('heading', { name: 'Anna Fischer' }).waitFor();
    await expect
      .poll(() => textsOf(page, '.facts > div'))
      .toEqual([
        'Sessions2',
        'Views3',
        'Other events1',
        'Days active1',
        'Average session1 m 00 s',
        'Events a session2',
        'Bounce rate50%',
        `Revenue${REVENUE_OF_NOTHING}`,
      ]);
    await expect.poll(() => textsOf(page, '.person-properties .property')).toEqual(['acme', 'plan: pro']);
    await expect.poll(() => textsOf(page, '.session-path')).toEqual(['/docs', '/ → /pricing']);
    const active = page.locator('.calendar-day:not([data-sessions="0"])');
    await expect.poll(() => active.count()).toBe(1);
    expect(await active.getAttribute('data-sessions')).toBe('2');
    await page.getByRole('tab', { name: 'Every event' }).click();
    await expect
      .poll(() => textsOf(page, '.journey-what'))
      .toEqual([
        '/ Title of /',
        '/pricing Title of /pricing',
        'signup /pricingplan: pro',
        '/docs Title of /docs',
      ]);
    await page.goBack();
    await expect.poll(names).toEqual(['Anna Fischeranna@known.example']);
  });

  test('have groups, and a session leads to its person', async () => {
    const page = await dashboard.open({ hash: '#/demo/people?list=groups&range=yesterday' });
    await expect.poll(() => textsOf(page, '.person')).toEqual(['Acmeacmecompany2 members']);
    await page.getByRole('button', { name: /Acme/ }).click();
    await expect
      .poll(() => textsOf(page, '.facts > div'))
      .toEqual([
        'Members2',
        'Active members2',
        'Sessions3',
        'Events5',
        'Views4',
        `Revenue${REVENUE_OF_NOTHING}`,
      ]);
    await expect.poll(() => textsOf(page, '.person-name')).toEqual(['Anna Fischeranna@known.example', 'ben']);

    const sessions = await dashboard.open({ hash: '#/demo/sessions?range=yesterday' });
    await sessions.locator('.session').last().click();
    await sessions.getByRole('button', { name: 'Everything about anna' }).click();
    await sessions.getByRole('heading', { name: 'Anna Fischer' }).waitFor();
    await sessions.getByRole('button', { name: 'All people' }).click();
    await sessions.locator('.person').first().waitFor();
  });

  test('who are unknown are said to be so', async () => {
    const page = await dashboard.open({ hash: '#/empty/people' });
    await page.getByText('Nobody is known by id yet').waitFor();
    await page.goto(page.url().replace('people', 'people?person=nobody'));
    await page.reload();
    await page.getByText('no such profile').waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('flows', () => {
  test('show where sessions go, and begin at what is chosen', async () => {
    const page = await dashboard.open({ hash: '#/demo/flows?range=yesterday' });
    const nodes = () =>
      page
        .locator('.flow-node title')
        .evaluateAll((all) => all.map((one) => (one.textContent ?? '').replace(/ sessions, .*/, '')));
    const whole = ['/: 2', '/docs: 1', '/pricing: 1', '/: 1', '/pricing: 1', 'Left: 2', 'Left: 2'];
    await expect.poll(nodes).toEqual(whole);
    await page.getByText('As a table').click();
    await expect
      .poll(() => textsOf(page, '.as-table tbody tr'))
      .toEqual(['1//pricing1', '1/Left1', '1/docsLeft1', '1/pricing/1', '2/Left1', '2/pricingLeft1']);
    await page.locator('[data-node="0:value:/pricing"]').press('Enter');
    await expect.poll(nodes).toEqual(['/pricing: 2', '/: 1', 'Left: 1', 'Left: 1']);
    expect(new URL(page.url()).hash).toContain('start=%2Fpricing');
    await page.getByLabel('Direction').selectOption('backward');
    await expect.poll(nodes).toEqual(['/pricing: 2', '/: 1', 'Began here: 1', 'Began here: 1']);
    await page.getByRole('button', { name: 'From any page' }).click();
    await page.getByLabel('What is followed').selectOption('events');
    await page.getByLabel('Direction').selectOption('forward');
    await expect.poll(nodes).toEqual(['screen_view: 4', 'signup: 1', 'Left: 3', 'Left: 1']);
  });
});

describe.skipIf(!dashboard.isAvailable)('the palette', () => {
  test('finds people, pages and events, and goes there', async () => {
    const page = await dashboard.open({ hash: '#/demo/overview?range=yesterday' });
    await page.locator('[data-figure=unique_visitors]').waitFor();
    const find = async (words: string, found: string) => {
      await page.keyboard.press('Control+k');
      await page.getByLabel('Find a command').fill(words);
      await page.getByRole('option', { name: found }).waitFor();
      await page.keyboard.press('ArrowUp');
      await page.keyboard.press('Enter');
    };
    await find('fischer', 'Person Anna Fischer · anna@known.example · anna');
    await page.getByRole('heading', { name: 'Anna Fischer' }).waitFor();
    await find('pric', 'Page /pricing');
    await page.locator('.chip-words', { hasText: 'Page is /pricing' }).waitFor();
    await find('signu', 'Event signup');
    await page.locator('[data-list=values] .ranked-row').first().waitFor();
  });
});

describe.skipIf(!dashboard.isAvailable)('revenue', () => {
  test('stands over time and by source, and what earned nothing says how it is sent', async () => {
    const page = await dashboard.open({ hash: '#/demo/revenue' });
    await page.getByText('No revenue in this period').waitFor();
    const { id, secret } = dashboard.cluster.credentials.clients.write;
    const place = { __path: 'https://known.example/shop', __referrer: 'https://www.google.com/' };
    // A payment by itself opens no session.
    for (const [name, properties] of [
      ['screen_view', place],
      ['revenue', { ...place, __revenue: 4200 }],
    ] as const) {
      const sent = await fetch(`${dashboard.cluster.url('web')}/track`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'service-client-id': id,
          'service-client-secret': secret,
          'service-client-ip': '81.0.0.7',
          'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Gecko/20100101 Firefox/126.0',
        },
        body: JSON.stringify({ type: 'track', payload: { name, profileId: 'zoe', properties } }),
      });
      expect(sent.status).toBe(200);
    }
    await expect
      .poll(async () => {
        await page.reload();
        await page.locator('[data-earnings=referrer_name] :is(.ranked-row, .notice)').first().waitFor();
        return textsOf(page, '[data-earnings=referrer_name] .ranked-row');
      })
      .toEqual(['GoogleUS$42']);
    await expect
      .poll(() => page.locator('[data-figure=total_revenue] .figure-value').textContent())
      .toBe('US$42');
    await page.locator('[data-earnings=referrer_name] .ranked-row').click();
    expect(new URL(page.url()).hash).toContain('f=referrer_name~is~Google');
  });
});
