import fc from 'fast-check';
import { expect, test } from 'vitest';
import { elementSizes } from './json-elements.ts';

const sizesOf = (json: string) => elementSizes(Buffer.from(json));

test.each([
  ['[]', []],
  [' [ \n ] ', []],
  ['[1]', [1]],
  [' [ 1 , "a,]b" ,{"c":[1,2]}\t,\r\n[ ] ] ', [1, 6, 11, 3]],
  [String.raw`["\"","\\",["\\\"]"]]`, [4, 4, 9]],
  ['["é€😀"]', [11]],
])('of %j are %j bytes', (json, sizes) => {
  expect(sizesOf(json)).toEqual(sizes);
});

test('equal those of the elements written one by one', () => {
  const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.json({ stringUnit: 'binary' }), space, space)), (elements) => {
      const json = `[${elements.map(([element, before, after]) => before + element + after).join(',')}]`;
      expect(sizesOf(json)).toEqual(elements.map(([element]) => Buffer.byteLength(element)));
    }),
    { numRuns: 1_000 },
  );
});

test('of elements nested a million levels deep are found', () => {
  const depth = 1_000_000;
  expect(sizesOf(`[0,${'['.repeat(depth)}${']'.repeat(depth)}]`)).toEqual([1, 2 * depth]);
});
