import { expect, test } from 'vitest';
import { isKnown } from './static-asset.ts';

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
