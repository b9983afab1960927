import { expect, test } from 'vitest';
import { encodingFor, isKnown } from './static-asset.ts';

test.each([
  ['', 'identity'],
  ['gzip', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['BR', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.0,gzip;q=0.5', 'gzip'],
  ['br; q=0.1', 'br'],
  ['deflate, *', 'identity'],
  ['xbr', 'identity'],
])('Accept-Encoding "%s" is answered with %s', (header, encoding) => {
  expect(encodingFor(header)).toBe(encoding);
});

test.each([
  ['', false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['*', true],
  ['"ab"', false],
  ['a', false],
])('If-None-Match %s names the tag "a": %s', (header, known) => {
  expect(isKnown(header, '"a"')).toBe(known);
});
