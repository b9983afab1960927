import fc from 'fast-check';
import { expect, test } from 'vitest';
import { badgeSvg, escapedXml } from './badge.ts';
import { embedAnswer } from './embed-page.ts';
import { badgeQuery, embedQuery } from './live-api.ts';

const query = (fields: object = {}) => badgeQuery.parse(fields);

test('a badge says its label and number, and a dash while the number is not known', () => {
  const svg = badgeSvg(12_345, query({ label: 'on the site' }));
  expect(svg).toContain('aria-label="on the site: 12,345"');
  expect(svg).toContain('>12,345</text>');
  expect(badgeSvg(0, query())).toContain('>0</text>');
  expect(badgeSvg(undefined, query())).toContain('>–</text>');
  expect(badgeSvg(undefined, query())).not.toContain('>0<');
});

test.each([
  ['green', '#2f8a0c', '#000'],
  ['BLUE', '#0b6fb8', '#fff'],
  ['fff', '#ffffff', '#000'],
  ['#123456', '#123456', '#fff'],
])('the colour %s is %s with %s on it', (color, fill, ink) => {
  const svg = badgeSvg(1, query({ color }));
  expect(svg).toContain(`fill="${fill}"`);
  expect(svg).toContain(`fill="${ink}">1<`);
});

test('a flat badge has round corners and a shade, a flat-square one neither', () => {
  expect(badgeSvg(1, query())).toMatch(/rx="3".*url\(#s\)/);
  expect(badgeSvg(1, query({ style: 'flat-square' }))).not.toMatch(/rx="3"|linearGradient/);
});

test('what is not a colour, a style or short enough is rejected', () => {
  for (const fields of [{ color: 'plaid' }, { color: '#12' }, { style: '3d' }, { label: 'x'.repeat(61) }])
    expect(badgeQuery.safeParse(fields).success).toBe(false);
  expect(embedQuery.safeParse({ look: 'huge' }).success).toBe(false);
});

test('no text becomes markup', () => {
  const plain = badgeSvg(1, query({ label: 'x' })).replace(/[^<>]/g, '');
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 30 }), (label) => {
      const escaped = escapedXml(label);
      expect(escaped).not.toMatch(/[<>"']|&(?!#\d+;)|\p{Surrogate}/u);
      fc.pre(label !== '');
      expect(badgeSvg(1, query({ label })).replace(/[^<>]/g, '')).toBe(plain);
    }),
    { numRuns: 50 },
  );
  expect(escapedXml('a<b>&"\'\u0000\ud800\uffff')).toBe('a&#60;b&#62;&#38;&#34;&#39;');
});

test('the embedded page runs no script but the widget, and only the pages of the site may frame it', () => {
  const site = { id: 'shop', name: '<Shop>', cors: ['https://www.shop.example/', '*.apps.example', "x'; y"] };
  const { text, headers } = embedAnswer(site, embedQuery.parse({ look: 'pages', label: '"><script>' }), true);
  expect(text).toContain(
    '<live-visitors site="shop" look="pages" label="&#34;&#62;&#60;script&#62;"></live-visitors>',
  );
  expect(text.match(/<script/g)).toHaveLength(1);
  expect(text).toContain('&#60;Shop&#62;');
  const policy = new Map(headers).get('content-security-policy') ?? '';
  expect(policy).not.toContain('unsafe');
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  expect(policy.split('; ').at(-1)).toBe(
    "frame-ancestors 'self' http://shop.example https://shop.example http://www.shop.example https://www.shop.example http://*.apps.example https://*.apps.example",
  );
  const anywhere = embedAnswer({ ...site, cors: ['shop.example', '*'] }, embedQuery.parse({}), true);
  expect(new Map(anywhere.headers).get('content-security-policy')).toMatch(/frame-ancestors \*$/);
});

test('the wall page has sources and today only for who may see them, and no text in it becomes markup', () => {
  const site = { id: 'shop', name: '<Shop>', cors: [] };
  const query = embedQuery.parse({ look: 'wall', label: '<b>', token: '"><script>' });
  const [whole, open] = [embedAnswer(site, query, true), embedAnswer(site, query, false)];
  for (const id of ['number', 'minutes', 'pages', 'sources', 'today'])
    expect([id, whole.text.includes(`id="${id}"`)]).toEqual([id, true]);
  expect(open.text).toContain('id="pages"');
  expect(open.text).not.toMatch(/id="(?:sources|today)"/);
  for (const { text, headers } of [whole, open]) {
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).toContain('&#60;b&#62;');
    expect(text).toContain('<h1>&#60;Shop&#62;</h1>');
    expect(text).not.toMatch(/ style="/);
    expect(new Map(headers).get('content-security-policy')).not.toContain('unsafe');
  }
});
