import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JsonElement, JsonElements } from './json-elements.ts';

function elementsOf(json: string): { readonly found: readonly JsonElement[]; readonly end: string } {
  const elements = new JsonElements(Buffer.from(json));
  const found: JsonElement[] = [];
  while (elements.end === 'open') {
    const next = elements.next();
    if (next !== undefined) found.push(next);
  }
  return { found, end: elements.end };
}

const sizesOf = (json: string) => elementsOf(json).found.map(({ start, end }) => end - start);

test.each([
  ['[]', []],
  [' [ \n ] ', []],
  ['[1]', [1]],
  [' [ 1 , "a,]b" ,{"c":[1,2]}\t,\r\n[ ] ] ', [1, 6, 11, 3]],
  [String.raw`["\"","\\",["\\\"]"]]`, [4, 4, 9]],
  ['["é€😀"]', [11]],
])('of %j are %j bytes', (json, sizes) => {
  expect(sizesOf(json)).toEqual(sizes);
  expect(elementsOf(json).end).toBe('ended');
});

test.each([
  ['', 'no-array'],
  ['{"a":1}', 'no-array'],
  ['[', 'broken'],
  ['[1', 'broken'],
  ['[1}', 'broken'],
  ['[1,2] 3', 'broken'],
  ['[] ]', 'broken'],
  ['["a]', 'broken'],
])('of %j are not those of an array: %s', (json, end) => {
  expect(elementsOf(json).end).toBe(end);
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

test('of any text make up an array exactly if each is JSON and the array ended', () => {
  const text = fc.string({
    unit: fc.constantFrom('[', ']', '{', '}', ',', '"', '1', ':', ' ', '\\', 'a'),
    maxLength: 12,
  });
  fc.assert(
    fc.property(text, (inside) => {
      const json = `[${inside}]`;
      const { found, end } = elementsOf(json);
      const bytes = Buffer.from(json);
      const isJson =
        end === 'ended' && found.every((each) => parses(bytes.toString('utf8', each.start, each.end)));
      expect(isJson).toBe(parses(json));
    }),
    { numRuns: 20_000 },
  );
});

test('of elements nested a million levels deep are found, with their depth', () => {
  const depth = 1_000_000;
  const { found } = elementsOf(`[0,${'['.repeat(depth)}${']'.repeat(depth)},"[[["]`);
  expect(found.map(({ start, end }) => end - start)).toEqual([1, 2 * depth, 5]);
  expect(found.map((each) => each.depth)).toEqual([0, depth, 0]);
});

function parses(json: string): boolean {
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

test.each([
  ['of brackets', '[{'.repeat(500_000)],
  ['of one text', `"${'x'.repeat(2_000_000)}`],
  ['of one text of escapes', `"${'\\"'.repeat(1_000_000)}`],
])('a large element %s takes several calls, each of a bounded part of it', (_what, large) => {
  const elements = new JsonElements(Buffer.from(`[0,${large}`));
  let calls = 0;
  while (elements.end === 'open') {
    elements.next();
    calls += 1;
  }
  expect(calls).toBeGreaterThan(10);
  expect(elements.end).toBe('broken');
});

test('a text ends at its quote, wherever a call ends', () => {
  for (let length = 65_525; length < 65_540; length += 1)
    for (const inside of ['', '\\"', '\\\\', '\\u0022', ',[']) {
      const element = `"${'x'.repeat(length)}${inside}"`;
      expect(sizesOf(`[${element},{"a":${element}},1]`)).toEqual([element.length, element.length + 6, 1]);
    }
});
