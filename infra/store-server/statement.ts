import { exception } from './exceptions.ts';
import { type Token, tokens } from './tokens.ts';

/**
 * The way to run a statement. `read`: its result is streamed. `write`: an INSERT … SELECT. `command`: anything else, with a small result.
 */
export type StatementKind = 'read' | 'write' | 'command';

export interface ReadStatement {
  readonly kind: StatementKind;
  /** True if a command writes files, such as the definition of a table. A command that removes something needs no room. */
  readonly needsRoom: boolean;
  /** The text up to its end, without the text after it. */
  readonly text: string;
  /** Position and name of a `FORMAT name` clause. */
  readonly format: { readonly start: number; readonly name: string } | undefined;
}

const READS = new Set(['SELECT', 'WITH', 'FROM', 'SHOW', 'DESCRIBE', 'DESC', 'EXISTS', 'EXPLAIN']);
const WRITING_COMMANDS = new Set([
  'CREATE',
  'ALTER',
  'RENAME',
  'EXCHANGE',
  'OPTIMIZE',
  'DELETE',
  'UPDATE',
  'REPLACE',
]);

/** Parses a whole statement; rejects several statements in one text and those that access files of this machine. */
export function readStatement(text: string): ReadStatement {
  const format = new FormatClause();
  let first: string | undefined;
  let isInsert = false;
  let end = 0;
  let isEnded = false;
  let before = '';
  for (const token of tokens(text)) {
    if (token.kind === 'semicolon') {
      isEnded = true;
      continue;
    }
    if (isEnded) throw exception('SYNTAX_ERROR', 'Syntax error (Multi-statements are not allowed).');
    end = token.end;
    const word = token.kind === 'word' ? wordOf(text, token) : '';
    first ??= token.kind === 'open' ? 'SELECT' : word;
    if (token.depth > 0) continue;
    if (word === 'INSERT' && (before === '' || first === 'WITH')) isInsert = true;
    rejectFiles(before, word, isInsert);
    format.see(text, token, word);
    before = word === '' ? ' ' : word;
  }
  if (first === undefined)
    throw exception('SYNTAX_ERROR', 'Syntax error: failed at end of query: Empty query.');
  const kind = isInsert ? 'write' : READS.has(first) ? 'read' : 'command';
  const needsRoom = kind === 'command' && WRITING_COMMANDS.has(first);
  return { kind, needsRoom, text: text.slice(0, end), format: format.found };
}

/** Finds a `FORMAT name` at the end, which only SETTINGS may follow; elsewhere FORMAT is a name. */
class FormatClause {
  found: { readonly start: number; readonly name: string } | undefined;
  #keywordStart: number | undefined;
  #isComplete = false;

  /** Takes the next token outside brackets. */
  see(text: string, token: Token, word: string): void {
    if (this.#isComplete) return;
    if (this.found !== undefined && word === 'SETTINGS') {
      this.#isComplete = true;
      return;
    }
    this.found =
      this.#keywordStart !== undefined && token.kind === 'word'
        ? { start: this.#keywordStart, name: text.slice(token.start, token.end) }
        : undefined;
    this.#keywordStart = word === 'FORMAT' ? token.start : undefined;
  }
}

/** The text of a `read` that writes its result to `path`, in the format for the client. */
export function intoFile(statement: ReadStatement, path: string, format: string): string {
  const clause = ` INTO OUTFILE ${sqlString(path)} TRUNCATE `;
  if (statement.format === undefined) return `${statement.text}${clause}FORMAT ${format}`;
  const { start } = statement.format;
  return `${statement.text.slice(0, start)}${clause}${statement.text.slice(start)}`;
}

function rejectFiles(before: string, word: string, isInsert: boolean): void {
  if (before === 'INTO' && word === 'OUTFILE')
    throw exception('INTO_OUTFILE_NOT_ALLOWED', 'INTO OUTFILE is not allowed.');
  if (isInsert && before === 'FROM' && word === 'INFILE')
    throw exception('UNKNOWN_TYPE_OF_QUERY', 'Query has infile and was send directly to server.');
}

/** A text as an SQL literal. */
export function sqlString(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&').replace(/\0/g, '\\0')}'`;
}

/** A name as an SQL identifier. */
export function sqlName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``;
}

export function wordOf(text: string, token: Token): string {
  // Only keywords are compared, and none is longer.
  return token.end - token.start > 16 ? '?' : text.slice(token.start, token.end).toUpperCase();
}
