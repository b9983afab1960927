import { expect, test } from 'vitest';
import {
  hasSizeOfPage,
  isFullPage,
  PAGE_CHARS_MAX,
  pageWithin,
  sizeOf,
  untilMoreThanPage,
} from './page-size.ts';

test('a size is about that of the JSON', () => {
  const row = { id: 'a'.repeat(100), at: 1_234_567, properties: { plan: 'pro', seats: '12' }, groups: ['x'] };
  expect(sizeOf(row) / JSON.stringify(row).length).toBeCloseTo(1, 0);
});

test('a page ends behind the row that reaches its size', () => {
  const row = { text: 'a'.repeat(PAGE_CHARS_MAX / 4) };
  const page = pageWithin(Array(10).fill(row));
  expect(page).toHaveLength(4);
  expect([hasSizeOfPage(page), isFullPage(page, 10)]).toEqual([true, true]);
  expect(pageWithin([row, row])).toHaveLength(2);
  expect(isFullPage([row, row], 10)).toBe(false);
  expect(isFullPage([row, row], 2)).toBe(true);
  expect(pageWithin([])).toEqual([]);
});

test('a page has at least one row, however large it is', () => {
  const row = { text: 'a'.repeat(3 * PAGE_CHARS_MAX) };
  expect(pageWithin([row, row])).toEqual([row]);
});

test('reading ends behind the end of the page', () => {
  const row = { text: 'a'.repeat(PAGE_CHARS_MAX / 4) };
  const isLast = untilMoreThanPage<typeof row>();
  const read = [row];
  while (!isLast(row)) read.push(row);
  expect(pageWithin(read).length).toBeLessThan(read.length);
});
