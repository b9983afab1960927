import { expect, test } from 'vitest';
import { encodedTag, encodingFor, withoutEncoding } from './encoding.ts';

test.each([
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['BR', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.0,gzip;q=0.5', 'gzip'],
  ['br; q=0.1', 'br'],
  ['br; q=0.1, gzip; q=0.2', 'gzip'],
  // A client that takes anything knows gzip at least.
  ['deflate, *', 'gzip'],
  ['*;q=0.5, identity', 'identity'],
  ['identity;q=0', 'identity'],
  ['xbr', 'identity'],
  [',;,=,;q=1', 'identity'],
])('Accept-Encoding "%s" is answered with %s', (header, encoding) => {
  expect(encodingFor(header)).toBe(encoding);
});

test('a tag names its encoding, and stands for the same version in every encoding', () => {
  expect([encodedTag('"7"', 'identity'), encodedTag('"7"', 'gzip'), encodedTag('"a-b"', 'br')]).toEqual([
    '"7"',
    '"7-gzip"',
    '"a-b-br"',
  ]);
  expect(withoutEncoding('"7-gzip", "8", W/"9-br", "gzip", *')).toBe('"7", "8", W/"9", "gzip", *');
});
