import { expect, test } from 'vitest';
import { withoutHotParts } from '../snapshot/seam.ts';
import { events, hotSessions, scannedSessions, sessions, withHotStates, withRelations } from './relations.ts';

const plain = (sql: string) => sql.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')').trim();
/** The text for a question with hot rows, and for one without. */
const both = (sql: string) => ({
  hot: plain(sql.replaceAll(/\$(?:IF|END)_HOT\$/g, '')),
  stored: plain(withoutHotParts(sql)),
});

test('events are read up to the seam and in hot rows, with the same columns and conditions', () => {
  const { hot, stored } = both(events({ columns: 'name', where: "path = '/'", storedWhere: 'hour IN (1)' }));
  const history =
    "SELECT name FROM events WHERE projectId = {site:String} AND flushNumber <= {flushed:Array(UInt32)}[partition + 1] AND hour IN (1) AND path = '/'";
  expect(stored).toBe(`(${history})`);
  expect(hot).toBe(
    `(${history} UNION ALL SELECT name FROM $HOT_EVENTS$ WHERE projectId = {site:String} AND path = '/')`,
  );
});

test('placeholders that differ for hot rows are replaced in their part', () => {
  const { hot } = both(events({ columns: '$COLUMNS$', where: '($FILTER$)' }));
  expect(hot).toMatch(
    /SELECT \$COLUMNS\$ FROM events .* \(\$FILTER\$\) UNION ALL SELECT \$HOT_COLUMNS\$ .* \(\$HOT_FILTER\$\)\)$/,
  );
});

test('a session with hot rows is not read in the store', () => {
  const { hot, stored } = both(sessions({ columns: 'sign', where: 'mixed = 1' }));
  expect(stored).toBe('(SELECT sign FROM sessions WHERE projectId = {site:String} AND mixed = 1)');
  expect(hot).toBe(
    '(SELECT sign FROM sessions WHERE projectId = {site:String} AND mixed = 1 AND id NOT IN (SELECT id FROM hot) UNION ALL SELECT sign FROM hot WHERE mixed = 1)',
  );
  expect(both(sessions({ columns: 'sign' })).hot).toContain('SELECT sign FROM hot WHERE 1)');
});

test('several conditions on stored rows are read one after the other, hot rows once', () => {
  const { hot } = both(sessions({ columns: 'id', storedWhere: ['a', 'b'] }));
  expect(hot.match(/FROM sessions WHERE projectId = {site:String} AND [ab] AND id NOT IN/g)).toHaveLength(2);
  expect(hot.match(/SELECT id FROM hot WHERE/g)).toHaveLength(1);
});

test('a scan reads the markers of every site, and compares no ids', () => {
  const { hot } = both(scannedSessions({ columns: 'startedAt', where: 'mixed = 1' }));
  expect(hot).toContain("WHERE projectId = '' OR projectId = {site:String} AND mixed = 1");
  expect(hot).not.toContain('FROM hot ');
});

test('a statement names its relations in brackets', () => {
  const sql = `SELECT 1 FROM $EVENTS[
      SELECT revenue[{currency:String}] AS amount
      WHERE name = 'x'
      STORED WHERE hour IN (1)
    ]$ JOIN $SESSIONS[SELECT id]$ JOIN $SCANNED_SESSIONS[SELECT id WHERE mixed = 1]$`;
  const written = [
    events({
      columns: 'revenue[{currency:String}] AS amount',
      where: "name = 'x'",
      storedWhere: 'hour IN (1)',
    }),
    sessions({ columns: 'id' }),
    scannedSessions({ columns: 'id', where: 'mixed = 1' }),
  ];
  expect(plain(withRelations(sql))).toBe(plain(`SELECT 1 FROM ${written.join(' JOIN ')}`));
});

test.each([
  ['SELECT 1 FROM $EVENTS[WHERE name = 1]$', 'expected SELECT'],
  ['SELECT 1 FROM $EVENTS[SELECT 1 STORED WHERE a STORED WHERE b]$', 'expected SELECT'],
  ['SELECT 1 FROM $VISITS[SELECT 1]$', 'an unknown relation'],
  ['SELECT 1 FROM $EVENTS[SELECT 1', 'without an end'],
])('%j is no relation', (sql, problem) => {
  expect(() => withRelations(sql)).toThrow(problem);
});

test('the hot states are defined once, where a statement reads them', () => {
  const read = hotSessions({ columns: 'id', where: '1' });
  expect(plain(withHotStates(`-- Why.\nWITH a AS (${read}) SELECT 1`))).toMatch(
    /^-- Why. WITH hot AS \(.*\), a AS \(/,
  );
  expect(plain(withHotStates(`-- With.\n${read}`))).toMatch(
    /^-- With. WITH hot AS \(.*\) SELECT id FROM hot/,
  );
  expect(withHotStates('SELECT 1 FROM hot_events')).toBe('SELECT 1 FROM hot_events');
});
