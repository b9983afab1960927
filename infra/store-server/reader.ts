import type { ExternalTable } from './body.ts';
import { exception } from './exceptions.ts';
import type { QueryRequest } from './query-request.ts';
import { type Token, tokens } from './tokens.ts';

/**
 * The settings that a reader may set: limits, execution and output format of one statement. None names a file or an
 * address, and none switches a check off.
 */
const SETTINGS: ReadonlySet<string> = new Set([
  ...[
    'priority',
    'max_query_size',
    'max_execution_time',
    'max_memory_usage',
    'max_threads',
    'max_block_size',
    'max_rows_to_read',
  ],
  ...['compile_expressions', 'compile_aggregate_expressions', 'compile_sort_description'],
  ...['max_bytes_before_external_group_by', 'max_bytes_before_external_sort', 'max_bytes_in_join'],
  ...['join_algorithm', 'optimize_read_in_order', 'read_in_order_use_buffering'],
  ...['use_index_for_in_with_subqueries', 'precise_float_parsing', 'enable_http_compression'],
  ...['allow_experimental_variant_type', 'format_csv_null_representation'],
  ...['prefer_column_name_to_alias', 'output_format_parallel_formatting'],
  ...['wait_end_of_query', 'log_comment', 'log_queries', 'readonly'],
]);
/** Settings for the form of numbers and times; other settings of formats can name files. */
const OUTPUT_SETTING = /^(?:output_format_(?:json|parquet|csv)_\w+|date_time_output_format)$/;
const FIRST_WORDS: ReadonlySet<string> = new Set(['select', 'with']);
/** Table functions that make their rows only from their arguments. */
const TABLE_FUNCTIONS: ReadonlySet<string> = new Set(['format', 'null', 'numbers', 'values']);
/** Databases of the engine itself, and `default`, into which the library maps the files of this machine. */
const OTHER_DATABASES: ReadonlySet<string> = new Set(['system', 'information_schema', 'default']);
const TABLE_FOLLOWS: ReadonlySet<string> = new Set(['from', 'join', 'in']);
/** A function that loads a library, and the type of a parameter that names a table. */
const FORBIDDEN_WORDS: ReadonlySet<string> = new Set(['catboostevaluate', 'identifier']);

/** The parts of a request that are checked. */
interface ReadStatement {
  readonly text: string;
  readonly tables: readonly Pick<ExternalTable, 'structure'>[];
}

/**
 * Statements allowed to the read-only user: one SELECT over the tables of its database and the statement's own
 * contents. The engine runs it with `readonly = 2`, which rejects writes to tables. That is not enough: the library has
 * one user, whose table functions reach every file and address, even under `readonly`. So the tokens of the statement
 * are checked as well, and anything ambiguous is rejected.
 */
export class ReaderRules {
  readonly #tableFunctions: ReadonlySet<string>;

  /** With the names of all table functions that the engine knows. */
  constructor(tableFunctions: readonly string[]) {
    this.#tableFunctions = new Set(
      tableFunctions.map((name) => name.toLowerCase()).filter((name) => !TABLE_FUNCTIONS.has(name)),
    );
  }

  /** Throws a `ClickHouseException` unless a reader may run this statement with these settings. */
  check(
    { text, tables }: ReadStatement,
    { fields, database }: Pick<QueryRequest, 'fields' | 'database'>,
  ): void {
    for (const name of fields.settings.keys()) checkSetting(name);
    if (database !== undefined && isOtherDatabase(database)) throw denied(`the database ${database}`);
    const all = [...tokens(text)];
    const first = all.find(({ kind }) => kind !== 'open');
    if (first === undefined || !FIRST_WORDS.has(lowerCase(text, first))) throw denied('such a statement');
    for (const [index, token] of all.entries()) {
      if (isSettingsTable(text, all.slice(index, index + 3))) continue;
      this.#checkToken(text, token, all[index + 1]);
      if (isSettingsTable(text, all.slice(Math.max(0, index - 2), index + 1))) continue;
      const word = token.kind === 'word' ? lowerCase(text, token) : '';
      if (word === 'settings') checkSettings(text, all.slice(index + 1));
      // Then a table would be one of `default`.
      if (database === undefined && TABLE_FOLLOWS.has(word)) throw denied('a table without a database');
    }
    // A column's type could be followed by an expression.
    for (const { structure } of tables) {
      const words = [...tokens(structure)];
      for (const [index, token] of words.entries()) this.#checkToken(structure, token, words[index + 1]);
    }
  }

  #checkToken(text: string, token: Token, next: Token | undefined): void {
    // Escapes in names, and the engine's other kinds of quotation marks, would hide the meaning.
    if (token.kind === 'quoted-name') throw denied('a quoted name');
    if (token.kind === 'string' || token.kind === 'open' || token.kind === 'close') return;
    const name = lowerCase(text, token);
    if (/[^\t-~]/.test(name)) throw denied('a character outside ASCII');
    if (FORBIDDEN_WORDS.has(name)) throw denied(name);
    if (next === undefined) return;
    if (next.kind === 'open' && (token.kind === 'number' || this.#tableFunctions.has(name)))
      throw denied(`${name}()`);
    if (token.kind === 'word' && lowerCase(text, next) === '.' && isOtherDatabase(name))
      throw denied(`the database ${name}`);
  }
}

/** The only table of `system` that a reader may see: the names and values of its own settings, by which it knows the server. */
function isSettingsTable(text: string, three: readonly Token[]): boolean {
  return three.length === 3 && three.map((token) => lowerCase(text, token)).join('') === 'system.settings';
}

/** Checks the names in a `SETTINGS` clause, whose tokens these are, without the word itself. */
function checkSettings(text: string, clause: readonly Token[]): void {
  for (let at = 0; ; at += 4) {
    const [name, equals, value, comma] = clause.slice(at, at + 4);
    if (name?.kind !== 'word' || equals === undefined || value === undefined) throw denied('such settings');
    if (lowerCase(text, equals) !== '=') throw denied('such settings');
    checkSetting(lowerCase(text, name));
    if (comma === undefined || lowerCase(text, comma) !== ',') return;
  }
}

function checkSetting(name: string): void {
  if (!SETTINGS.has(name) && !OUTPUT_SETTING.test(name)) throw denied(`the setting ${name}`);
}

function isOtherDatabase(name: string): boolean {
  return OTHER_DATABASES.has(name.toLowerCase());
}

/** The text of a token; for a long one only its beginning, which is then no name that is compared. */
function lowerCase(text: string, { start, end }: Token): string {
  return text.slice(start, Math.min(end, start + 64)).toLowerCase();
}

function denied(what: string) {
  return exception('ACCESS_DENIED', `query: Not enough privileges: a reader cannot use ${what}.`);
}
