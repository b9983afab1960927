import { expect, test } from 'vitest';
import {
  elementCode,
  frameCode,
  styleCode,
  TOKEN_WORD,
  WIDGET_COLORS,
  WIDGET_LOOKS,
  type WidgetChoice,
} from './widget-code.ts';

const PUBLIC = { base: 'https://stats.example', siteId: 'demo', isPublic: true };
const PLAIN: WidgetChoice = { look: 'number', label: '', theme: {} };

test('words are escaped where they become markup or part of an address', () => {
  const choice = { ...PLAIN, look: 'badge', label: 'a "b" <c> & d' } as const;
  expect(elementCode(PUBLIC, choice)).toContain(
    '<live-visitors site="demo" look="badge" label="a &quot;b&quot; &lt;c&gt; &amp; d"></live-visitors>',
  );
  const [, address = ''] = /src="([^"]+)"/.exec(frameCode(PUBLIC, choice)) ?? [];
  expect(address).not.toMatch(/[<>]/);
  const { searchParams } = new URL(address.replaceAll('&amp;', '&'));
  expect([...searchParams]).toEqual([
    ['look', 'badge'],
    ['label', choice.label],
  ]);
});

test('where the number is not public, a word stands in place of a token', () => {
  for (const code of [elementCode, frameCode]) {
    expect(code(PUBLIC, PLAIN)).not.toContain('token');
    expect(code({ ...PUBLIC, isPublic: false }, PLAIN)).toMatch(new RegExp(`token="?=?"?${TOKEN_WORD}"`));
  }
});

test('the style sheet has the chosen colours that the look has, and there is none without', () => {
  const theme = Object.fromEntries(WIDGET_COLORS.map((name) => [name, '#123456']));
  const properties = WIDGET_LOOKS.map(([look]) => [
    look,
    [...(styleCode({ ...PLAIN, look, theme }) ?? '').matchAll(/--live-visitors-(\w+): #123456;/g)].map(
      ([, name]) => name,
    ),
  ]);
  expect(properties).toEqual([
    ['number', ['color']],
    ['badge', ['color', 'background', 'dot']],
    ['sparkline', ['color', 'dot', 'line']],
    ['pages', ['color', 'dot']],
  ]);
  expect(styleCode({ ...PLAIN, theme: { dot: '#123456' } })).toBeUndefined();
});
