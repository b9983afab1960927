import { expect, test } from 'vitest';
import { SealingKeyError, seal, unseal } from './sealed.ts';

const KEY = '0123456789abcdef'.repeat(4);
const OTHER_KEY = `${KEY.slice(0, -1)}e`;
const PLACE = 'gsc.shop';
const TEXT = 'GOCSPX-größe-😀';

test.each(['', 'a', TEXT, 'x'.repeat(100_000)])('a sealed text opens where it was put (%#)', (text) => {
  expect(unseal(KEY, PLACE, seal(KEY, PLACE, text))).toBe(text);
  expect(unseal(KEY.toUpperCase(), PLACE, seal(KEY, PLACE, text))).toBe(text);
});

test('a sealed text shows nothing of the text, and is another one each time', () => {
  const all = Array.from({ length: 50 }, () => seal(KEY, PLACE, TEXT));
  expect(new Set(all).size).toBe(50);
  for (const sealed of all) expect(Buffer.from(sealed, 'base64').includes(Buffer.from('GOCSPX'))).toBe(false);
});

test('a sealed text opens with no other key, and without one not at all', () => {
  const sealed = seal(KEY, PLACE, TEXT);
  expect(unseal(OTHER_KEY, PLACE, sealed)).toBeUndefined();
  expect(unseal('', PLACE, sealed)).toBeUndefined();
});

test.each(['gsc.shop2', 'gsc.sho', 'gsc', '', 'GSC.shop'])(
  'a sealed text that was moved to %j stays shut',
  (place) => {
    expect(unseal(KEY, place, seal(KEY, PLACE, TEXT))).toBeUndefined();
  },
);

test('a sealed text of which a single bit was changed stays shut', () => {
  const bytes = Buffer.from(seal(KEY, PLACE, TEXT), 'base64');
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(unseal(KEY, PLACE, changed.toString('base64')), `bit ${bit}`).toBeUndefined();
  }
});

test('a sealed text that was cut off or lengthened stays shut', () => {
  const bytes = Buffer.from(seal(KEY, PLACE, TEXT), 'base64');
  for (let length = 0; length < bytes.length; length += 1)
    expect(unseal(KEY, PLACE, bytes.subarray(0, length).toString('base64')), `${length}`).toBeUndefined();
  expect(unseal(KEY, PLACE, Buffer.concat([bytes, Buffer.of(0)]).toString('base64'))).toBeUndefined();
  expect(unseal(KEY, PLACE, 'not base64!')).toBeUndefined();
});

test('without a key nothing is sealed, and the error says which setting is missing', () => {
  expect(() => seal('', PLACE, TEXT)).toThrow(SealingKeyError);
  expect(() => seal('', PLACE, TEXT)).toThrow('SECRETS_KEY is not set');
  expect(() => seal('abc', PLACE, TEXT)).toThrow('64 hexadecimal digits');
});
