import { expect, test } from 'vitest';
import { engineOf, rowsReadBy, spansRead } from './statement-cost.ts';
import { readStatements } from './statement-texts.ts';

const texts = readStatements();
const readBy = (name: string) => rowsReadBy(texts.get(name) ?? '');

test.each([
  ['metrics-events', 'span'],
  ['metrics-filtered', 'span'],
  ['pages-filtered-counted', 'span'],
  ['ranking-finalized', 'span'],
  ['ranking-visitors', 'span'],
  ['event-list', 'span'],
  ['metrics-events-rows', 'row-hours'],
  ['metrics-events-rollup', 'row-hours'],
  ['ranking-rows', 'row-hours'],
  ['page-titles-rows', 'row-hours'],
  ['page-titles-finalized', 'none'],
  ['metrics-counted', 'none'],
  ['pages-candidates', 'none'],
  ['rollup-spans', 'none'],
])('%s reads the rows of its %s', (name, read) => {
  expect(texts.has(name)).toBe(true);
  expect(readBy(name)).toBe(read);
});

test.each([
  ['metrics-events', 'rows'],
  ['metrics-events-rows', 'rows'],
  ['metrics-events-rollup', 'rollups+rows'],
  ['metrics-counted', 'rollups'],
  ['pages-candidates', 'rollups'],
  ['ranking-rollup', 'rollups'],
  ['breakdown-rollup', 'rollups+rows'],
  ['rollup-spans', 'other'],
  ['group-list', 'other'],
])('the engine of %s is %s', (name, engine) => {
  expect(engineOf(texts.get(name) ?? '')).toBe(engine);
});

test('the rows of a statement lie in its span and the one before, or in its row hours', () => {
  const parameters = { from: 5_000, to: 9_000, previousFrom: 1_000, previousTo: 5_000, rowHours: [7_200] };
  const both = [
    { fromMs: 5_000, toMs: 9_000 },
    { fromMs: 1_000, toMs: 5_000 },
  ];
  expect(spansRead('span', parameters)).toEqual(both);
  expect(spansRead('row-hours', parameters)).toEqual([{ fromMs: 7_200_000, toMs: 10_800_000 }]);
  expect(spansRead('none', parameters)).toEqual([]);
  expect(spansRead('span', { ...parameters, previousTo: 1_000 })).toEqual(both.slice(0, 1));
  expect(spansRead('span', { profileId: 'p-1' })).toEqual([]);
  // The estimate itself reads rollups, so it waits for no estimate of its own.
  expect(spansRead(readBy('site-days'), { site: 'shop' })).toEqual([]);
});
