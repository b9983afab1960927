import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cut, hostOf, pageOf } from './page.ts';

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
        const page = pageOf(text.repeat(20));
        expect(page.path.length).toBeLessThanOrEqual(2048);
        expect(page.query.length).toBeLessThanOrEqual(2048);
        expect(hostOf(text)).not.toMatch(/^www\./);
      },
    ),
  );
});

test('a cut never splits a surrogate pair', () => {
  expect(cut('ab😀', 3)).toBe('ab');
  expect(cut('ab😀', 4)).toBe('ab😀');
});
