import { expect, test } from 'vitest';
import { structureOf } from '../../processor/rows.ts';
import { NO_SEAM, withHotRows } from './seam.ts';

const NONE = new Uint8Array(0);
const SQL = 'SELECT 1 FROM $HOT_EVENTS$ JOIN $HOT_EVENTS$ JOIN $HOT_STATES$';

test('few hot rows are in the text of a statement, none are a table without rows', () => {
  const { sql, tables } = withHotRows(SQL, {
    ...NO_SEAM,
    hot: [{ events: Buffer.from([1, 171]), sessions: NONE }],
  });
  expect(sql.split("unhex('01ab')").length - 1).toBe(2);
  expect(sql).toContain('FROM null(');
  expect(sql).not.toContain('$');
  expect(tables).toEqual([]);
});

test('many hot rows travel once beside a statement that names them', () => {
  const many = Buffer.alloc(40_000, 7);
  const { sql, tables } = withHotRows(SQL, { ...NO_SEAM, hot: [{ events: many, sessions: many }] });
  expect(sql.startsWith('SELECT 1 FROM hot_events JOIN hot_events JOIN (')).toBe(true);
  expect(sql).toContain('FROM hot_sessions');
  expect(tables).toEqual([
    { name: 'hot_events', structure: structureOf('events'), bytes: many },
    { name: 'hot_sessions', structure: structureOf('sessions'), bytes: many },
  ]);
  expect(withHotRows('SELECT 1', { ...NO_SEAM, hot: [{ events: many, sessions: NONE }] }).tables).toEqual([]);
});
