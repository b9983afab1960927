import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isNestedDeeper, JsonScan, NESTING_MAX } from './json-nesting.ts';

const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

test.each([
  ['lists', lists],
  ['objects', objects],
])('%s may be nested as deep as the limit, and no deeper', (_what, nested) => {
  expect(isNestedDeeper(nested(NESTING_MAX))).toBe(false);
  expect(isNestedDeeper(nested(NESTING_MAX + 1))).toBe(true);
  expect(isNestedDeeper(nested(25_000))).toBe(true);
});

test.each([
  ['many values side by side', `[${'[],'.repeat(1_000)}[]]`],
  ['brackets in a text', JSON.stringify('['.repeat(1_000))],
  ['brackets behind a quote in a text', JSON.stringify(`a"${'[{'.repeat(1_000)}`)],
  ['brackets behind a backslash in a text', JSON.stringify([`a\\`, '['.repeat(1_000)])],
  ['no JSON', '"['.repeat(10)],
])('%s are not nested', (_what, text) => {
  expect(isNestedDeeper(text)).toBe(false);
});

test('a value is as deep as its parts, whatever texts it has', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary', maxDepth: 6 }), fc.nat(6), (value, max) => {
      const text = JSON.stringify(value);
      expect(isNestedDeeper(text, max)).toBe(depthOf(value) > max);
      const scan = new JsonScan(Buffer.from(`${text},"behind it"`));
      scan.begin(0);
      while (!scan.readOn());
      expect([scan.end, scan.depth]).toEqual([Buffer.byteLength(text), depthOf(value)]);
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['brackets behind an escaped backslash', String.raw`["\\",${lists(NESTING_MAX)}]`, true],
  ['brackets behind an escaped quote', String.raw`["\"${'['.repeat(100)}"]`, false],
  ['lists as deep as the limit', lists(NESTING_MAX), false],
])('%s are found in bytes, too', (_what, text, isDeeper) => {
  expect(isNestedDeeper(text, NESTING_MAX, Buffer.from(text))).toBe(isDeeper);
});

test('each byte is read once at most, and none behind what ends a value', () => {
  const readsOf = (text: string) => {
    let reads = 0;
    const bytes = new Proxy(Buffer.from(text), {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key, target);
      },
    });
    isNestedDeeper(text, NESTING_MAX, bytes);
    return reads;
  };
  expect(readsOf(lists(10_000))).toBe(20_000);
  expect(readsOf(`1,${lists(10_000)}`)).toBe(2);
  expect(readsOf(lists(NESTING_MAX / 2))).toBe(0);
});
