import { expect, test } from 'vitest';
import { unionStructureOf } from '../../processor/rows.ts';
import { NO_SEAM, withHotRows, withoutHotParts } from './seam.ts';

const EMBEDDED = { keepsTexts: false };
const NONE = new Uint8Array(0);
const SQL = 'SELECT 1 FROM $HOT_EVENTS$ JOIN $HOT_EVENTS$ JOIN (SELECT id FROM hot )';

test('few hot rows are in the text of a statement, none are a table without rows', () => {
  const { sql, tables } = withHotRows(
    SQL,
    {
      ...NO_SEAM,
      hot: [{ events: Buffer.from([1, 171]), sessions: NONE }],
    },
    EMBEDDED,
  );
  expect(sql.split("unhex('01ab')").length - 1).toBe(2);
  expect(sql).toContain('FROM null(');
  expect(sql).not.toContain('$');
  expect(tables).toEqual([]);
});

test('many hot rows travel once beside a statement that names them', () => {
  const many = Buffer.alloc(40_000, 7);
  const { sql, tables } = withHotRows(SQL, { ...NO_SEAM, hot: [{ events: many, sessions: many }] }, EMBEDDED);
  expect(sql.endsWith('SELECT 1 FROM hot_events JOIN hot_events JOIN (SELECT id FROM hot )')).toBe(true);
  expect(sql).toMatch(/^WITH hot AS\s*\([^)]*FROM hot_sessions/);
  expect(tables).toEqual([
    { name: 'hot_events', structure: unionStructureOf('events'), bytes: many },
    { name: 'hot_sessions', structure: unionStructureOf('sessions'), bytes: many },
  ]);
  expect(
    withHotRows('SELECT 1', { ...NO_SEAM, hot: [{ events: many, sessions: NONE }] }, EMBEDDED).tables,
  ).toEqual([]);
});

test('a store that keeps texts gets few hot rows as a table, too', () => {
  const hot = [{ events: Buffer.from([1, 171]), sessions: NONE }];
  const { sql, tables } = withHotRows(SQL, { ...NO_SEAM, hot }, { keepsTexts: true });
  expect(sql).not.toContain('unhex');
  expect(sql).toContain('FROM null(');
  expect(tables.map(({ name }) => name)).toEqual(['hot_events']);
});

test('without hot rows, a statement has no parts for them', () => {
  const parts =
    'SELECT 1 $IF_HOT$ FROM $HOT_EVENTS$ WHERE id IN (2 $IF_HOT$ + 3 $END_HOT$) $END_HOT$ + 4 $IF_HOT$ 5 $END_HOT$';
  const written = (sql: string) => sql.replaceAll(/\s+/g, ' ').trim();
  for (const hot of [undefined, [], [{ events: NONE, sessions: NONE }]])
    expect(written(withHotRows(parts, { ...NO_SEAM, hot }, EMBEDDED).sql)).toBe('SELECT 1 + 4');
  const { sql } = withHotRows(
    parts,
    { ...NO_SEAM, hot: [{ events: NONE, sessions: Buffer.from([1]) }] },
    EMBEDDED,
  );
  expect(written(sql)).toMatch(/^SELECT 1 FROM null\('.*'\) WHERE id IN \(2 \+ 3 \) \+ 4 5$/);
  expect(() => withoutHotParts(parts)).not.toThrow();
});

test.each([
  ['SELECT 1 $IF_HOT$ + 2', '$IF_HOT$ without $END_HOT$'],
  ['SELECT 1 $END_HOT$ + 2 $IF_HOT$', '$END_HOT$ without $IF_HOT$'],
  ['SELECT 1 FROM $HOT_EVENTS$', '$HOT_EVENTS$ is outside of'],
  ['SELECT 1 FROM hot WHERE 1', 'FROM hot is outside of'],
])('the parts for hot rows of %j are wrong', (sql, problem) => {
  expect(() => withoutHotParts(sql)).toThrow(problem);
});
