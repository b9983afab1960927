import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ClickHouseException, engineException } from './exceptions.ts';
import { findInsertHead } from './insert-head.ts';
import { intoFile, readStatement, sqlString } from './statement.ts';
import { tokens } from './tokens.ts';

describe('tokens', () => {
  test('the content of strings, names, comments and heredocs gives no tokens', () => {
    const text = `a 'it''s \\' ;' "q;\\"" \`w;\` -- ;\n/* ; */ # ;\n $x$ ; $ $x$ ; 1.5e3 (b)`;
    const found = [...tokens(text)].map((token) => [token.kind, text.slice(token.start, token.end)]);
    expect(found).toEqual([
      ['word', 'a'],
      ['string', `'it''s \\' ;'`],
      ['quoted-name', '"q;\\""'],
      ['quoted-name', '`w;`'],
      ['string', '$x$ ; $ $x$'],
      ['semicolon', ';'],
      ['number', '1.5e3'],
      ['open', '('],
      ['word', 'b'],
      ['close', ')'],
    ]);
  });

  test('any text as a literal is one token', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const text = `SELECT ${sqlString(value)} FORMAT CSV`;
        const found = [...tokens(text)];
        expect(found.map(({ kind }) => kind)).toEqual(['word', 'string', 'word', 'word']);
        expect(readStatement(text).format?.name).toBe('CSV');
      }),
    );
  });

  test('any text gives tokens that do not overlap', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("'", '"', '`', '\\', '$', '-', '/', '*', '#', '\n', ';', '(', 'a', ' '),
        }),
        (text) => {
          let before = 0;
          for (const token of tokens(text)) {
            expect(token.start).toBeGreaterThanOrEqual(before);
            expect(token.end).toBeGreaterThan(token.start);
            before = token.end;
          }
          expect(before).toBeLessThanOrEqual(text.length);
        },
      ),
    );
  });
});

describe('statements', () => {
  test.each([
    ['SELECT 1', 'read', undefined],
    ['select 1 format CSV;', 'read', 'CSV'],
    ['SELECT 1 FORMAT CSV SETTINGS a = 1 -- x', 'read', 'CSV'],
    ['SELECT format FROM t', 'read', undefined],
    ["SELECT * FROM format(CSV, '1')", 'read', undefined],
    ['SELECT 1 AS format SETTINGS max_threads = 1', 'read', undefined],
    ['WITH 1 AS x INSERT INTO t SELECT x', 'write', undefined],
    ['INSERT INTO t SELECT 1', 'write', undefined],
    ['ALTER TABLE t DELETE WHERE 1', 'command', undefined],
    ['EXPLAIN SELECT 1', 'read', undefined],
  ])('%s', (text, kind, format) => {
    const statement = readStatement(text);
    expect([statement.kind, statement.format?.name]).toEqual([kind, format]);
  });

  test('the file clause is inserted before the format', () => {
    expect(intoFile(readStatement('SELECT 1 FORMAT CSV SETTINGS a = 1;'), '/x', 'TSV')).toBe(
      "SELECT 1  INTO OUTFILE '/x' TRUNCATE FORMAT CSV SETTINGS a = 1",
    );
    expect(intoFile(readStatement('SELECT 1 -- end'), "/it's", 'TSV')).toBe(
      "SELECT 1 INTO OUTFILE '/it\\'s' TRUNCATE FORMAT TSV",
    );
  });

  test.each([
    '',
    ' -- nothing',
    'SELECT 1; SELECT 2',
    "SELECT 1 INTO OUTFILE 'x'",
    "INSERT INTO t FROM INFILE 'x' FORMAT CSV",
  ])('rejected: %s', (text) => expect(() => readStatement(text)).toThrow(ClickHouseException));
});

describe('the head of an insert', () => {
  test.each([
    ['INSERT INTO t FORMAT RowBinary\n\n;x', 'INSERT INTO t ', '', 'RowBinary', '\n;x'],
    [
      'insert into `a b`.t (c, `format`) format CSV \r\n1',
      'insert into `a b`.t (c, `format`) ',
      '',
      'CSV',
      '1',
    ],
    [
      'INSERT INTO t SETTINGS a = 1 FORMAT JSONEachRow {}',
      'INSERT INTO t ',
      'SETTINGS a = 1 ',
      'JSONEachRow',
      '{}',
    ],
    ['INSERT INTO t VALUES (1)', 'INSERT INTO t ', '', 'Values', ' (1)'],
    [
      "INSERT INTO FUNCTION null('x UInt8') VALUES (1)",
      "INSERT INTO FUNCTION null('x UInt8') ",
      '',
      'Values',
      ' (1)',
    ],
    ['/* c */ INSERT INTO values VALUES(1)', '/* c */ INSERT INTO values ', '', 'Values', '(1)'],
  ])('%s', (text, before, after, format, rows) => {
    const head = findInsertHead(text, true);
    expect(head).toMatchObject({ before, after, format });
    expect(typeof head === 'object' ? text.slice(head.dataStart) : '').toBe(rows);
  });

  test('rows that a SELECT reads', () => {
    const text =
      "INSERT INTO t (a) SELECT a FROM input('a T(1)') WHERE f(a, (')')) SETTINGS b = 1 FORMAT RowBinary\n\n;x";
    const head = findInsertHead(text, true);
    expect(head).toMatchObject({
      before: 'INSERT INTO t (a) SELECT a FROM ',
      structure: "'a T(1)'",
      after: " WHERE f(a, (')')) SETTINGS b = 1 ",
      format: 'RowBinary',
    });
    expect(typeof head === 'object' ? text.slice(head.dataStart) : '').toBe('\n;x');
  });

  test.each([
    'SELECT 1',
    'INSERT INTO t SELECT 1',
    'INSERT INTO t SELECT 1 FORMAT Null',
    'INSERT INTO t SELECT 1 FROM input FORMAT Null',
    "INSERT INTO t SELECT a FROM input('a T')",
    "INSERT INTO t SELECT a FROM input('a T'); FORMAT CSV",
    "INSERT INTO t SELECT (SELECT a FROM input('a T')) FORMAT CSV",
    'INSERT INTO t (a) (SELECT 1)',
    'INSERT INTO t WITH 1 AS x SELECT x',
    '',
  ])('no rows after the statement: %s', (text) => expect(typeof findInsertHead(text, true)).toBe('string'));

  test.each([
    'INSERT INTO db.t (a, b) SETTINGS x = 1 FORMAT RowBinary\n',
    "INSERT INTO db.t (a, b) SELECT a, b FROM input('a UInt8, b String') FORMAT RowBinary\n",
  ])('a truncated head is incomplete, never anything else: %s', (text) => {
    for (let length = 0; length < text.length - 1; length += 1)
      expect([length, findInsertHead(text.slice(0, length), false)]).toEqual([length, 'incomplete']);
    expect(findInsertHead(text, false)).toMatchObject({ format: 'RowBinary', dataStart: text.length });
  });
});

test('an engine error is unwrapped to its code, name and text', () => {
  const wrapped =
    'Code: 33. DB::Exception: Code: 33. DB::Exception: Cannot read all data: (at row 1)\n: (in file/uri /d/in-1): While executing BinaryRowInputFormat: While executing File: data for INSERT was parsed from file. (CANNOT_READ_ALL_DATA) (version 26.7.2.1). (CANNOT_READ_ALL_DATA)';
  expect(engineException(new Error(wrapped))).toMatchObject({
    code: 33,
    codeName: 'CANNOT_READ_ALL_DATA',
    message:
      'Cannot read all data: (at row 1)\n: While executing BinaryRowInputFormat: data for INSERT was parsed from the request.',
  });
  expect(engineException(new Error('boom'))).toMatchObject({ code: 1001, message: 'boom.' });
});
