import { expect, test } from 'vitest';
import { Otherwise, orElse, type Way, waysIn, waysText } from './ways.ts';

test('ways can be read again from their text', () => {
  const ways: readonly Way[] = [
    { part: 'counted-figures', engine: 'cache', why: 'finalized' },
    { part: 'metrics-events-rows', engine: 'memory', why: 'recent-hours' },
    { part: 'metrics-events', engine: 'rows', why: 'filters', rows: 1_200, notInMemory: 'large-site' },
    { part: 'rollup-spans', engine: 'other', why: 'small-table', notInMemory: 'no-rows-here' },
  ];
  expect(waysIn(waysText(ways))).toEqual(ways);
  expect(waysIn('')).toEqual([]);
});

test('an unknown number of rows is not shown', () => {
  const way: Way = { part: 'charts', engine: 'rows', why: 'no-rollups' };
  expect(waysIn(waysText([{ ...way, rows: Number.POSITIVE_INFINITY }]))).toEqual([way]);
});

test('another way answers only when the first one does not, and learns why', () => {
  expect(orElse<number, string>(0, (why) => why)).toBe(0);
  expect(orElse<number, string>(new Otherwise('too-many'), (why) => why)).toBe('too-many');
});
