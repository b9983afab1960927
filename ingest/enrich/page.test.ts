import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { campaignOf, cut, hostOf, pageOf } from './page.ts';

test.each([
  ['https://www.Shop.example:8443/a/b?x=1#top', ['https://www.shop.example:8443', '/a/b', '?x=1', '#top']],
  ['https://shop.example', ['https://shop.example', '/', '', '']],
  ['https://shop.example?x', ['https://shop.example', '/', '?x', '']],
  ['/a?b=c', ['', '/a', '?b=c', '']],
  ['a', ['', '/a', '', '']],
  ['#x?y', ['', '/', '', '#x?y']],
  ['http://[broken/a', ['', '/http://[broken/a', '', '']],
  ['', ['', '', '', '']],
])('%j is split', (text, [origin, path, query, hash]) => {
  expect(pageOf(text)).toMatchObject({ origin, path, query, hash });
});

test.each([
  ['app://settings/x', ['app://', '/settings/x', '', '']],
  ['app://settings', ['app://', '/settings', '', '']],
  ['app:///settings/x', ['app://', '/settings/x', '', '']],
  ['app://', ['app://', '/', '', '']],
  ['app://./index.html', ['app://', '/index.html', '', '']],
  ['MyApp://Shop/cart?step=2#pay', ['myapp://', '/Shop/cart', '?step=2', '#pay']],
  ['com.example.shop://cart', ['com.example.shop://', '/cart', '', '']],
  ['file:///android_asset/index.html', ['file://', '/android_asset/index.html', '', '']],
  ['capacitor://localhost/inbox?a=1', ['capacitor://localhost', '/inbox', '?a=1', '']],
  ['ionic://localhost', ['ionic://localhost', '/', '', '']],
  ['tauri://localhost:3000/a', ['tauri://localhost:3000', '/a', '', '']],
  ['chrome-extension://abcdef/popup.html', ['chrome-extension://abcdef', '/popup.html', '', '']],
  ['/go?to=app://settings/x', ['', '/go', '?to=app://settings/x', '']],
  ['go?to=app://settings/x', ['', '/go', '?to=app://settings/x', '']],
])('%j is a page of an app, or none', (text, [origin, path, query, hash]) => {
  expect(pageOf(text)).toMatchObject({ origin, path, query, hash, host: '' });
  expect(pageOf(text, 'page')).toMatchObject({ origin, path: `${path}${hash}`, query, hash, host: '' });
});

describe('with the fragment as part of the page', () => {
  test.each([
    ['https://app.example/#/inbox', ['/#/inbox', '', '#/inbox']],
    ['https://app.example/#/settings', ['/#/settings', '', '#/settings']],
    ['https://app.example/#!/inbox', ['/#!/inbox', '', '#!/inbox']],
    ['https://app.example/a?b=c#/inbox', ['/a#/inbox', '?b=c', '#/inbox']],
    ['https://app.example/page#section', ['/page#section', '', '#section']],
    ['https://app.example/page#', ['/page', '', '']],
    ['https://app.example/#', ['/', '', '']],
    ['https://app.example/#?a=1', ['/', '?a=1', '#?a=1']],
    ['https://app.example/page', ['/page', '', '']],
    ['/#/inbox', ['/#/inbox', '', '#/inbox']],
    ['#/inbox', ['/#/inbox', '', '#/inbox']],
    // The query of a route is the page's, and not part of its name.
    ['https://app.example/#/inbox?tab=2', ['/#/inbox', '?tab=2', '#/inbox?tab=2']],
    ['https://app.example/?b=c#/inbox?tab=2', ['/#/inbox', '?b=c&tab=2', '#/inbox?tab=2']],
    ['https://app.example/page#tab=2', ['/page#tab=2', '', '#tab=2']],
    ['https://app.example/page#a=1&utm_term=2', ['/page', '?a=1&utm_term=2', '#a=1&utm_term=2']],
    ['https://app.example/page#section:~:text=word', ['/page#section', '', '#section']],
    ['https://app.example/page#:~:text=word', ['/page', '', '']],
  ])('%j is split', (text, [path, query, hash]) => {
    expect(pageOf(text, 'page')).toMatchObject({ path, query, hash });
  });

  test('a campaign may stand in it', () => {
    const expected = { path: '/#/inbox', utmSource: 'news', utmMedium: 'mail' };
    expect(pageOf('https://app.example/#/inbox?utm_source=news&utm_medium=mail', 'page')).toMatchObject(
      expected,
    );
    expect(pageOf('https://app.example/?utm_source=news#/inbox?utm_medium=mail', 'page')).toMatchObject(
      expected,
    );
    expect(pageOf('https://app.example/?utm_source=news#/?utm_source=other', 'page').utmSource).toBe('news');
    expect(pageOf('https://app.example/page#utm_source=news', 'page')).toMatchObject({
      path: '/page',
      utmSource: 'news',
    });
    expect(pageOf('https://app.example/#/inbox?utm_source=news')).toMatchObject({
      path: '/',
      query: '',
      utmSource: '',
    });
  });
});

test('the names of campaign parameters may be written in any case', () => {
  const written = '/?UTM_SOURCE=a&Utm_Medium=b&utm_CAMPAIGN=c&UTM_Term=d&uTM_CONTENT=e';
  const campaign = { utmSource: 'a', utmMedium: 'b', utmCampaign: 'c', utmTerm: 'd', utmContent: 'e' };
  expect(pageOf(written)).toMatchObject(campaign);
  expect(pageOf('/?REF=r').utmSource).toBe('r');
  expect(pageOf('/?Source=s').utmSource).toBe('s');
  expect(pageOf('/?UTM_SOURCE=&utm_source=b').utmSource).toBe('b');
  expect(pageOf('/?utm_source=a&UTM_SOURCE=b').utmSource).toBe('a');
});

test('the campaign is read from the query; ref and source are fallbacks for its source', () => {
  expect(pageOf('/?utm_source=a&utm_medium=b&utm_campaign=c+d&utm_term=e%20f&utm_content=g')).toMatchObject({
    utmSource: 'a',
    utmMedium: 'b',
    utmCampaign: 'c d',
    utmTerm: 'e f',
    utmContent: 'g',
  });
  expect(pageOf('/?ref=r&source=s').utmSource).toBe('r');
  expect(pageOf('/?source=s').utmSource).toBe('s');
});

test('any text is split within the limits', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.webUrl({ withFragments: true, withQueryParameters: true }), fc.string()),
      (text) => {
        for (const hashNames of ['section', 'page'] as const) {
          const page = pageOf(text.repeat(20), hashNames);
          expect(page.path.length).toBeLessThanOrEqual(2048);
          expect(page.path).toMatch(text === '' ? /^$/ : /^\//);
          expect(page.query.length).toBeLessThanOrEqual(2048);
          expect(page.hash.length).toBeLessThanOrEqual(512);
          expect(page.query).toMatch(/^(?:\?|$)/);
          expect(page.hash).toMatch(/^(?:#|$)/);
        }
        expect(hostOf(text)).not.toMatch(/^www\./);
      },
    ),
  );
});

test('a cut never splits a surrogate pair', () => {
  expect(cut('ab😀', 3)).toBe('ab');
  expect(cut('ab😀', 4)).toBe('ab😀');
});

test('the host of a URL is the one that the parser of URLs finds', () => {
  const label = fc.stringMatching(/^[a-zA-Z0-9_-]{1,6}$/);
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  const rest = fc.constantFrom(
    '',
    '/',
    '/path',
    '?q=1',
    '#top',
    ':8080/',
    '\\path',
    '@other.example/',
    ' ',
    '%41/',
  );
  const scheme = fc.constantFrom('https://', 'HTTP://', 'https:', 'https:///');
  const special = fc.constantFrom(
    'www.example.com',
    'xn--a.example',
    'xn--bcher-kva.example',
    '1.2.3.4',
    'a.0x1f',
    'a.b.',
    'www.com',
  );
  fc.assert(
    fc.property(scheme, fc.oneof(host, special), rest, (begin, name, end) => {
      const text = begin + name + end;
      const isUrl = text.includes('://') && URL.canParse(text);
      const expected = isUrl ? new URL(text).hostname.replace(/^www\./, '') : '';
      expect(hostOf(text)).toBe(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('a campaign is the one that URLSearchParams reads', () => {
  // Without raw letters outside ASCII: beside a broken escape, URLSearchParams of Node 20 changes them.
  const piece = fc.constantFrom(
    '%',
    '%2',
    '%41',
    '%c3%a9',
    '%C3',
    '%00',
    '+',
    '=',
    '&',
    'a',
    ' ',
    '%f0%9f%98%80',
  );
  const name = fc.constantFrom('utm_source', 'UTM_SOURCE', 'utm%5Fsource', 'utm_medium', 'ref', 'other', '');
  const value = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), (pairs) => {
      const query = `?${pairs.map((pair) => pair.join('=')).join('&')}`;
      const values = new Map<string, string>();
      for (const [written, found] of new URLSearchParams(query)) {
        const lower = written.toLowerCase();
        if (!values.has(lower) && found.trim() !== '') values.set(lower, found.trim());
      }
      const named = (key: string) => values.get(key) ?? '';
      expect(campaignOf(query)).toMatchObject({
        utmSource: named('utm_source') || named('ref') || named('source'),
        utmMedium: named('utm_medium'),
      });
    }),
    { numRuns: 5_000 },
  );
});

test('a text of any length costs no more than what is kept of it', () => {
  const hostile = [
    'a=%E0%A4%A&',
    '%=%&',
    'utm_source=%&',
    'a=%zz&',
    '?',
    '#',
    '/',
    '\\',
    'https://',
    '%',
    'a-',
    'a.',
  ];
  const cost = (text: string) => {
    const began = process.cpuUsage();
    for (let times = 0; times < 10; times += 1) {
      for (const hashNames of ['section', 'page'] as const) pageOf(text, hashNames);
      hostOf(text);
    }
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
  // An exception for each broken escape took 700 ms and more; now it is 3 ms.
  for (const piece of hostile)
    for (const begin of [
      '',
      '/?',
      '/#/?',
      'https://shop.example/?',
      'https://',
      'app://',
      'https://shop.example/#/',
    ])
      expect(cost(begin + piece.repeat(60_000 / piece.length))).toBeLessThan(200);
});

test('what stands behind a part that is too long is still read', () => {
  const page = pageOf(`https://shop.example/${'p'.repeat(20_000)}?utm_source=mail#${'h'.repeat(1_000)}`);
  expect(page).toMatchObject({ host: 'shop.example', query: '?utm_source=mail', utmSource: 'mail' });
  expect([page.path.length, page.hash.length]).toEqual([2048, 512]);
});
