import { expect, test } from 'vitest';
import { z } from 'zod';
import { rowsImport } from '../manage/gsc/gsc-api.ts';
import { RejectError } from '../reject.ts';
import { readBy } from './read-by.ts';

test('reading stops at the first element of a wrong type', () => {
  let count = 0;
  const counted = (value: unknown) => {
    count += 1;
    return value;
  };
  const element = z.preprocess(counted, z.string('expected a string'));
  const given = { list: ['right', ...Array<number>(10_000).fill(1)] };
  const read = () => readBy(z.strictObject({ list: z.array(element) }), given, 'body');
  expect(read).toThrow(new RejectError('invalid', 'list.1: expected a string'));
  expect(count).toBe(2);
});

test('of 10,000 wrong rows only one is reported', () => {
  const read = () => readBy(rowsImport, { rows: Array(10_000).fill({}) }, 'body');
  expect(read).toThrow(new RejectError('invalid', 'rows.0.date: expected a day such as 2026-03-01'));
});
