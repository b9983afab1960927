import { expect, test } from 'vitest';
import { ReaderRules } from './reader.ts';

const rules = new ReaderRules([
  'file',
  'url',
  's3',
  'remote',
  'merge',
  'numbers',
  'format',
  'null',
  'values',
]);

function verdict(
  text: string,
  settings: Readonly<Record<string, string>> = {},
  database: string | undefined = 'footfall',
  tables: readonly { readonly structure: string }[] = [],
): string {
  const fields = { settings: new Map(Object.entries(settings)), parameters: new Map<string, string>() };
  try {
    rules.check({ text, tables }, { fields, database: database === 'none' ? undefined : database });
    return 'allowed';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test.each([
  'SELECT 1',
  '-- what it is for\nWITH 1 AS one SELECT one FROM events WHERE projectId = {site:String}',
  '(SELECT count() FROM events) UNION ALL (SELECT number FROM numbers(3))',
  "SELECT * FROM format(RowBinary, 'a UInt8', unhex('00')) AS hot JOIN null('a UInt8') AS none ON hot.a = none.a",
  "SELECT 'file(''/etc/passwd'')' AS text, properties['system.tables'] FROM events FORMAT JSONEachRow",
  'SELECT 1 SETTINGS use_index_for_in_with_subqueries = 1, max_threads = 2',
  'SELECT url, file FROM events',
  "SELECT name FROM system.settings WHERE name = 'max_threads' SETTINGS max_threads = 1",
])('a reader may run %s', (text) => {
  expect(verdict(text)).toBe('allowed');
});

test.each([
  'INSERT INTO events VALUES (1)',
  "INSERT INTO FUNCTION file('/tmp/a', 'CSV', 'a UInt8') SELECT 1",
  'ALTER TABLE events DELETE WHERE 1',
  'DROP TABLE events',
  'SYSTEM FLUSH LOGS',
  'KILL QUERY WHERE 1',
  'USE system',
  'SET max_threads = 1',
  'CREATE TEMPORARY TABLE t (a UInt8)',
  'EXPLAIN SELECT 1',
  'SHOW TABLES',
  'FROM events SELECT 1',
  '',
])('a reader may not run the statement %s', (text) => {
  expect(verdict(text)).toContain('such a statement');
});

test.each([
  ["SELECT * FROM file('/etc/passwd', 'LineAsString')", 'file()'],
  ["SELECT * FROM FiLe /* a comment */ ('/etc/passwd')", 'file()'],
  ["SELECT (SELECT max(line) FROM url -- a comment\n('http://127.0.0.1/', 'LineAsString'))", 'url()'],
  ["SELECT file('/etc/passwd')", 'file()'],
  ["SELECT 1 FROM events, s3('http://127.0.0.1/a')", 's3()'],
  ["WITH t AS (SELECT * FROM remote('127.0.0.1', 'system', 'one')) SELECT * FROM t", 'remote()'],
  ["SELECT * FROM merge('system', '.*')", 'merge()'],
  ["SELECT * FROM `file`('/etc/passwd')", 'a quoted name'],
  ['SELECT * FROM "f\\x69le"(\'/etc/passwd\')', 'a quoted name'],
  ['SELECT * FROM default."/etc/passwd"', 'database default'],
  ['SELECT * FROM "/etc/passwd"', 'a quoted name'],
  ['SELECT * FROM system.tables', 'database system'],
  ['SELECT * FROM system /* a comment */ . tables', 'database system'],
  ['SELECT * FROM INFORMATION_SCHEMA.TABLES', 'database information_schema'],
  ['SELECT * FROM {name:Identifier}', 'identifier'],
  // The engine takes ‘ and ’ for quotation marks, so it would run the apparent text here.
  ["SELECT ‘'’, * FROM url('http://127.0.0.1/') WHERE ‘'’ = ''", 'outside ASCII'],
  ["SELECT catboostEvaluate('/tmp/model', 1)", 'catboostevaluate'],
  [
    'SELECT 1 SETTINGS max_execution_time = 1, allow_introspection_functions = 1',
    'allow_introspection_functions',
  ],
  ["SELECT * FROM (SELECT 1 SETTINGS format_schema = '/tmp/a:b')", 'format_schema'],
  ['SELECT 1 SETTINGS allow_ddl', 'such settings'],
])('a reader may not run %s', (text, why) => {
  expect(verdict(text)).toContain(why);
});

test('a reader may set limits and formats, and may not choose another database', () => {
  expect(verdict('SELECT 1', { max_execution_time: '1', output_format_json_quote_64bit_integers: '0' })).toBe(
    'allowed',
  );
  for (const name of [
    'allow_ddl',
    'output_format_schema',
    'format_schema',
    'user_files_path',
    'http_max_tries',
  ])
    expect(verdict('SELECT 1', { [name]: '1' })).toContain(`the setting ${name}`);
  for (const database of ['system', 'default', 'INFORMATION_SCHEMA'])
    expect(verdict('SELECT 1', {}, database)).toContain(`the database ${database}`);
  expect(verdict('SELECT 1', {}, 'none')).toBe('allowed');
  for (const text of ["SELECT * FROM '/etc/passwd'", "SELECT 1 FROM events JOIN 'a'", "SELECT 1 IN 'a'"])
    expect(verdict(text, {}, 'none')).toContain('a table without a database');
});

test("a reader's external tables have columns and nothing else", () => {
  const withTable = (structure: string) => verdict('SELECT * FROM hot', {}, 'footfall', [{ structure }]);
  expect(withTable("id FixedString(16), at DateTime64(3, 'UTC'), properties Map(String, String)")).toBe(
    'allowed',
  );
  expect(withTable("a String DEFAULT file('/etc/passwd')")).toContain('file()');
  expect(withTable('a String, `b` String')).toContain('a quoted name');
});
