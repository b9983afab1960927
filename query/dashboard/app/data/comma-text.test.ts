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
