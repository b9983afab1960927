import { expect, test } from 'vitest';
import { commaText } from './comma-text.ts';

test('texts are quoted where they must be, and none is a formula', () => {
  const rows = [
    ['page', 'sessions'],
    ['/a,b "c"', 2],
    ['=1+1', -3],
  ];
  expect(commaText(rows)).toBe('page,sessions\r\n"/a,b ""c""",2\r\n\'=1+1,-3\r\n');
  expect(commaText([['a\nb']])).toBe('"a\nb"\r\n');
});

test('no cell is a formula where a spreadsheet separates cells by semicolons or tabs', () => {
  expect(commaText([['a;=1+1', '-1;-2', 'a\t@x', 'b;"=1', 'x;y']])).toBe(
    `"a;'=1+1","'-1;'-2","a\t'@x","b;""'=1","x;y"\r\n`,
  );
});
