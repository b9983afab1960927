import { expect, test } from 'vitest';
import { logTotals } from './log-reference.ts';

function line(address: string, time: string, path: string): string {
  return `${address} - - [17/May/2015:${time} +0000] "GET ${path} HTTP/1.1" 200 1 "-" "agent"`;
}

test('totals of a small log, counted by hand', () => {
  const totals = logTotals([
    line('1.1.1.1', '10:00:00', '/'),
    line('1.1.1.1', '10:30:00', '/a'),
    line('1.1.1.1', '11:00:01', '/a?x=1'),
    line('2.2.2.2', '10:20:00', '/a'),
    line('2.2.2.2', '10:10:00', '/'),
    line('2.2.2.2', '10:10:00', '/logo.png'),
    'broken',
  ]);
  expect(totals).toEqual({
    lines: 7,
    unreadable: 1,
    screenViews: 5,
    visitors: 2,
    sessions: 3,
    bounces: 1,
    durationMs: 40 * 60_000,
    firstMs: Date.UTC(2015, 4, 17, 10),
    lastMs: Date.UTC(2015, 4, 17, 11, 0, 1),
    pages: [
      ['/a', 3],
      ['/', 2],
    ],
  });
});
