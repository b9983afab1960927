import { expect, test } from 'vitest';
import { SealingKeyError, seal, unseal } from './sealed.ts';

const KEY = '0123456789abcdef'.repeat(4);
const OTHER_KEY = `${KEY.slice(0, -1)}e`;
const CONTEXT = 'gsc.shop';
const TEXT = 'GOCSPX-größe-😀';

test.each(['', 'a', TEXT, 'x'.repeat(100_000)])('a sealed text opens in its own context (%#)', (text) => {
  expect(unseal(KEY, CONTEXT, seal(KEY, CONTEXT, text))).toBe(text);
  expect(unseal(KEY.toUpperCase(), CONTEXT, seal(KEY, CONTEXT, text))).toBe(text);
});

test('a sealed text contains nothing of the plain text and differs each time', () => {
  const all = Array.from({ length: 50 }, () => seal(KEY, CONTEXT, TEXT));
  expect(new Set(all).size).toBe(50);
  for (const sealed of all) expect(Buffer.from(sealed, 'base64').includes(Buffer.from('GOCSPX'))).toBe(false);
});

test('a sealed text does not open with another key or without a key', () => {
  const sealed = seal(KEY, CONTEXT, TEXT);
  expect(unseal(OTHER_KEY, CONTEXT, sealed)).toBeUndefined();
  expect(unseal('', CONTEXT, sealed)).toBeUndefined();
});

test.each(['gsc.shop2', 'gsc.sho', 'gsc', '', 'GSC.shop'])(
  'a sealed text moved to the context %j does not open',
  (context) => {
    expect(unseal(KEY, context, seal(KEY, CONTEXT, TEXT))).toBeUndefined();
  },
);

test('a sealed text with any one bit changed does not open', () => {
  const bytes = Buffer.from(seal(KEY, CONTEXT, TEXT), 'base64');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(unseal(KEY, CONTEXT, changed.toString('base64')), `bit ${bit}`).toBeUndefined();
  }
});

test('a sealed text that was truncated or extended does not open', () => {
  const bytes = Buffer.from(seal(KEY, CONTEXT, TEXT), 'base64');
  for (let length = 0; length < bytes.length; length += 1)
    expect(unseal(KEY, CONTEXT, bytes.subarray(0, length).toString('base64')), `${length}`).toBeUndefined();
  expect(unseal(KEY, CONTEXT, Buffer.concat([bytes, Buffer.of(0)]).toString('base64'))).toBeUndefined();
  expect(unseal(KEY, CONTEXT, 'not base64!')).toBeUndefined();
});

test('sealing without a key fails and names the missing setting', () => {
  expect(() => seal('', CONTEXT, TEXT)).toThrow(SealingKeyError);
  expect(() => seal('', CONTEXT, TEXT)).toThrow('SECRETS_KEY is not set');
  expect(() => seal('abc', CONTEXT, TEXT)).toThrow('64 hexadecimal digits');
});
