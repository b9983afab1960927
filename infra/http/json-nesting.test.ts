import { expect, test } from 'vitest';
import { isNestedDeeper, NESTING_MAX } from './json-nesting.ts';

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
