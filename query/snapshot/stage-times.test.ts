import { expect, test } from 'vitest';
import { type Way, waysIn } from '../ways.ts';
import { StageTimes } from './stage-times.ts';

const WAY: Way = { part: 'charts', engine: 'rows', why: 'no-rollups', rows: 10 };

function headerOf(ways: readonly Way[]): string {
  const stages = new StageTimes(0);
  for (const way of ways) stages.noteWay(way);
  return stages.header(1)[0]?.[1] ?? '';
}

test('many ways are cut, and the estimated rows of all of them count', () => {
  const header = headerOf(Array.from({ length: 500 }, () => WAY));
  expect(header).toContain('rows;desc="5000"');
  expect(waysIn(/plan;desc="([^"]*)"/.exec(header)?.[1] ?? '')).toEqual(
    Array.from({ length: 24 }, () => WAY),
  );
});

test('a sum with an unknown number is not shown', () => {
  expect(headerOf([WAY, { ...WAY, rows: Number.POSITIVE_INFINITY }])).not.toContain('rows;');
});
