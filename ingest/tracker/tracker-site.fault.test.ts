import { describe, expect, test } from 'vitest';
import { findChromium } from '../testing/chromium.ts';
import { PREFIX, useServedVisit, WAIT } from './testing/served-visit.ts';
import { VISITOR_LOCALE } from './testing/test-browser.ts';

// The served script on pages in a real browser, and the events that the real service recorded: each exactly once.

const chromium = await findChromium();
const visit = useServedVisit(chromium);
const inBrowser = describe.skipIf(chromium === undefined);

/** The recorded names in alphabetical order, for calls sent in parallel. */
async function sortedNames(): Promise<string[]> {
  return (await visit.recorded()).map(({ name }) => name).sort();
}

inBrowser('a site of several pages', () => {
  test('records a view of each page, the first referrer, and another view of a page restored from the cache', async () => {
    const { pages, visitor } = visit;
    const reportRestored = `<script>
      addEventListener('pageshow', (event) => event.persisted && op('track', 'restored'));
    </script>`;
    pages.show('/a', visit.html('A', `${reportRestored}<a id="next" href="/b?x=1#y">next</a>`));
    pages.show('/b', visit.html('B'));
    pages.show('/outside', `<a id="in" href="${pages.url}/a">in</a>`, { 'referrer-policy': 'unsafe-url' });
    await visitor.page.goto(`${pages.otherUrl}/outside`);
    for (const id of ['in', 'next'])
      await Promise.all([visit.answered('screen_view'), visitor.page.click(`#${id}`)]);
    // A restored page has no load event to wait for.
    await visit.run('setTimeout(() => history.back())');
    const events = await visit.recordedAs([
      'screen_view /a',
      'screen_view /b',
      'restored /a',
      'screen_view /a',
    ]);
    expect(events[0]).toMatchObject({ title: 'A', origin: pages.url, referrer: `${pages.otherUrl}/outside` });
    for (const event of events) expect(event).toMatchObject(VISITOR_LOCALE);
    expect(events[1]).toMatchObject({ title: 'B' });
    expect(events[1]?.referrer ?? '').toBe('');
    expect(new Set(events.map(({ sessionId }) => sessionId)).size).toBe(1);
  });

  test('records calls made while a page is left', async () => {
    visit.pages.show('/b', visit.html('B'));
    await visit.openViewed('/a', visit.html('A'));
    await Promise.all([
      visit.answered('screen_view'),
      visit.run(`for (const name of ['one', 'two', 'three']) op('track', name); location.href = '/b';`),
    ]);
    await expect.poll(sortedNames, WAIT).toEqual(['one', 'screen_view', 'screen_view', 'three', 'two']);
  });

  test('records clicks on outgoing links, however they are made', async () => {
    const { pages, visitor } = visit;
    await visit.useSite({ outgoingLinks: true });
    const away = (path: string) => `id="${path}" href="${pages.otherUrl}/${path}"`;
    const body = `
      <a ${away('left')}>Left</a> <a ${away('middle')}><img alt="Middle"></a>
      <a ${away('enter')} target="_blank">Enter</a> <a id="own" href="/a#own">Own</a>
      <a id="mail" href="mailto:a@b.example">Mail</a> <div id="host"></div>
      <script>
        host.attachShadow({ mode: 'open' }).innerHTML = '<a ${away('shadow')} target="_blank"><b>In shadow</b></a>';
        document.addEventListener('click', (event) => {
          event.stopPropagation();
          if (event.target === mail) event.preventDefault();
        }, true);
      </script>`;
    for (const path of ['left', 'middle', 'enter', 'shadow']) pages.show(`/${path}`, 'elsewhere');
    await visit.openViewed('/a', visit.html('A', body));
    await visitor.page.click('#own');
    await visitor.page.click('#mail');
    await visitor.page.click('#middle', { button: 'middle' });
    await visitor.page.focus('#enter');
    await visitor.page.keyboard.press('Enter');
    await visitor.page.click('#shadow b');
    await visitor.page.click('#left');
    await visitor.page.waitForURL('**/left');
    const links = async () =>
      (await visit.recorded()).filter(({ name }) => name === 'link_out').map(({ properties }) => properties);
    await expect.poll(links, WAIT).toEqual([
      { href: `${pages.otherUrl}/middle`, text: 'Middle' },
      { href: `${pages.otherUrl}/enter`, text: 'Enter' },
      { href: `${pages.otherUrl}/shadow`, text: 'In shadow' },
      { href: `${pages.otherUrl}/left`, text: 'Left' },
    ]);
    expect(await visit.recorded()).toHaveLength(5);
  });
});

inBrowser('a single-page application', () => {
  // Longer than an address has to stay to count as a view.
  const stay = 'await new Promise((resolve) => setTimeout(resolve, 100));';
  // A browser goes back when it has the time, and what follows would replace the address that is left.
  const back =
    'history.back(); await new Promise((done) => addEventListener("popstate", done, { once: true }));';
  const walk = `
    history.pushState(null, '', '/guess'); history.replaceState(null, '', '/one'); document.title = 'One'; ${stay}
    history.replaceState({ scroll: 1 }, '', '/one'); ${stay}
    location.hash = 'part'; ${stay}
    history.pushState(null, '', '/two?x=1'); op('track', 'arrived'); ${stay}
    ${back} ${stay}
    history.replaceState(null, '', '/three'); ${stay}
    op('track', 'end');`;

  test('records a view of each lasting address, and none of a hash', async () => {
    await visit.openViewed('/app', visit.html('App'));
    await visit.run(walk);
    const events = await visit.recordedAs([
      'screen_view /app',
      'screen_view /one',
      'arrived /two',
      'screen_view /two',
      'screen_view /one',
      'screen_view /three',
      'end /three',
    ]);
    expect(events[1]).toMatchObject({ title: 'One' });
  });

  test('records a view of each hash, as a page of its own, when the settings say so', async () => {
    await visit.useSite({ hashChanges: true });
    await visit.openViewed('/app', visit.html('App'));
    await visit.run(walk);
    await visit.recordedAs([
      'screen_view /app',
      'screen_view /one',
      'screen_view /one#part',
      'arrived /two',
      'screen_view /two',
      'screen_view /one#part',
      'screen_view /three',
      'end /three',
    ]);
  });

  test('with a router in the hash has a page for each route, and none for an empty hash', async () => {
    await visit.useSite({ hashChanges: true });
    await visit.openViewed('/app', visit.html('App'));
    await visit.run(`
      history.replaceState(null, '', '/app#'); ${stay}
      location.hash = '#/inbox'; ${stay}
      location.hash = '#/settings?tab=2&utm_source=news'; ${stay}
      op('track', 'end');`);
    const events = await visit.recordedAs([
      'screen_view /app',
      'screen_view /app#/inbox',
      'screen_view /app#/settings',
      'end /app#/settings',
    ]);
    expect(events[2]).toMatchObject({ referrerName: 'news' });
  });
});

inBrowser('automatic collection', () => {
  const body = `<button data-track="sign_up" data-plan="pro" data-price-list="7"><i>Sign up</i></button>
    <a href="//localhost:1/away" onclick="return false">Away</a>`;

  async function clickAround(): Promise<void> {
    await visit.visitor.page.click('button i');
    await visit.visitor.page.click('a');
  }

  test('is views only by default', async () => {
    await visit.openViewed('/a', visit.html('A', body));
    await clickAround();
    await visit.run(`op('track', 'end')`);
    await visit.recordedAs(['screen_view /a', 'end /a']);
  });

  test('is clicks only when the site’s settings say so', async () => {
    await visit.useSite({ screenViews: false, attributes: true, outgoingLinks: true });
    await visit.open('/a', visit.html('A', body));
    await clickAround();
    const events = await visit.recordedAs(['sign_up /a', 'link_out /a']);
    expect(events[0]?.properties).toEqual({ plan: 'pro', priceList: '7' });
    await visit.run(`op('track', 'end')`);
    await visit.recordedAs(['sign_up /a', 'link_out /a', 'end /a']);
  });

  test('follows the page’s options when there are any', async () => {
    await visit.useSite({ outgoingLinks: true });
    await visit.open('/a', visit.html('A', body, { attributes: 'data-track-attributes' }));
    await clickAround();
    await visit.run(`op('track', 'end')`);
    await visit.recordedAs(['sign_up /a', 'end /a']);
  });

  test('is views only when the settings cannot be loaded', async () => {
    await visit.useSite({ screenViews: false, attributes: true });
    await visit.visitor.page.route('**/config/tracking*', (route) => route.abort());
    await visit.openViewed('/a', visit.html('A', body));
    await clickAround();
    await visit.run(`op('track', 'end')`);
    await visit.recordedAs(['screen_view /a', 'end /a']);
  });
});

inBrowser('each event is recorded once', () => {
  test('when its answer was lost', async () => {
    let lostCount = 0;
    await visit.visitor.page.route('**/track', async (route) => {
      if (!(route.request().postData() ?? '').includes('"bought"') || lostCount > 0) return route.continue();
      lostCount += 1;
      expect((await route.fetch()).status()).toBe(200);
      return route.abort();
    });
    await visit.openViewed('/a', visit.html('A'));
    await visit.run(`op('track', 'bought'); op('track', 'end');`);
    await expect.poll(sortedNames, WAIT).toEqual(['bought', 'end', 'screen_view']);
    expect(lostCount).toBe(1);
  });

  test('over a slow network and after being offline', async () => {
    await visit.visitor.page.route('**/track', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await route.continue();
    });
    await visit.openViewed('/a', visit.html('A'));
    await Promise.all([
      visit.answered('screen_view'),
      visit.run(`op('track', 'slow'); history.pushState(null, '', '/b')`),
    ]);
    await visit.visitor.context.setOffline(true);
    await visit.run(`op('track', 'offline'); history.pushState(null, '', '/c');
      await new Promise((resolve) => setTimeout(resolve, 100)); op('track', 'still offline');`);
    await visit.visitor.context.setOffline(false);
    await visit.answered('still offline');
    await visit.run(`op('track', 'end')`);
    await visit.recordedAs([
      'screen_view /a',
      'slow /a',
      'screen_view /b',
      'offline /b',
      'screen_view /c',
      'still offline /c',
      'end /c',
    ]);
  });
});

inBrowser('the service', () => {
  test('accepts a call of every type', async () => {
    const statuses: number[] = [];
    visit.visitor.page.on('response', (response) => {
      if (response.request().method() === 'POST') statuses.push(response.status());
    });
    await visit.openViewed('/a', visit.html('A'));
    await Promise.all([
      visit.answered('end'),
      visit.run(`
        op('identify', { profileId: 'p1', email: 'a@b.example', properties: { visits: 1 } });
        op('increment', { property: 'visits' });
        op('decrement', { property: 'visits', value: 2 });
        op('upsertGroup', { id: 'g1', type: 'team', name: 'One' });
        op('setGroup', 'g1');
        op('track', 'end', { groups: ['g1'] });`),
    ]);
    await expect.poll(() => statuses, WAIT).toEqual([200, 200, 200, 200, 200, 200, 200]);
    await visit.recordedAs(['screen_view /a', 'end /a']);
  });

  test('returns the same device and session before and after the first event', async () => {
    const ask = `return [await op('getDeviceId'), await op('getSessionId')]`;
    await visit.open('/a', visit.html('A', '', { attributes: 'data-track-screen-views="false"' }));
    const before = await visit.run(ask);
    expect(before).toEqual([expect.stringMatching(/^\w{32}$/), expect.stringMatching(/^\w{32}$/)]);
    await Promise.all([visit.answered('a'), visit.run(`op('track', 'a')`)]);
    const [event] = await visit.recordedAs(['a /a']);
    expect([event?.deviceId, event?.sessionId]).toEqual(before);
    expect(await visit.run(ask)).toEqual(before);
  });

  test('counts revenue once, however often the page flushes it', async () => {
    await visit.useSite({}, { allowUnsafeRevenue: true });
    await visit.openViewed('/a', visit.html('A'));
    await visit.run(`op('pendingRevenue', 1999, { __orderId: 'o1' }); op('flushRevenue'); op('flushRevenue');
      op('track', 'end')`);
    await visit.recordedAs(['screen_view /a', 'revenue /a', 'end /a']);
  });

  test('serves the script and its endpoints below COLLECT_PREFIXES', async () => {
    const paths = new Set<string>();
    visit.visitor.page.on('request', (request) => paths.add(new URL(request.url()).pathname));
    await visit.openViewed('/a', visit.html('A', '', { prefix: PREFIX }));
    await visit.recordedAs(['screen_view /a']);
    paths.delete('/favicon.ico');
    expect([...paths].sort()).toEqual([
      '/a',
      `${PREFIX}/config/tracking`,
      `${PREFIX}/script.js`,
      `${PREFIX}/track`,
    ]);
  });
});

test.skipIf(chromium === undefined)(
  'a content security policy that allows only the service is enough for the script',
  async () => {
    const { pages, serviceUrl, visitor } = visit;
    const policy = `default-src 'none'; script-src ${serviceUrl}; connect-src ${serviceUrl}`;
    const attributes = 'data-track-screen-views data-track-attributes';
    pages.show('/a', visit.html('A', '<button data-track="pressed">Press</button>', { attributes }), {
      'content-security-policy': policy,
    });
    await Promise.all([visit.answered('screen_view'), visitor.page.goto(`${pages.url}/a`)]);
    await visitor.page.click('button');
    await visit.recordedAs(['screen_view /a', 'pressed /a']);
    // Proof that a violation would be noticed.
    await visitor.page.evaluate(`document.body.append(Object.assign(new Image(), { src: '/x.png' }))`);
    await expect.poll(() => visitor.errors.join(), WAIT).toMatch(/policy: img-src/);
    visitor.errors.length = 0;
  },
);
