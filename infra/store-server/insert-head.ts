import { wordOf } from './statement.ts';
import { type Token, tokens } from './tokens.ts';

/** An INSERT followed by its rows in `format`, which begin at `dataStart`. */
export interface InsertHead {
  /** The statement up to the position at which the file with the rows is named. */
  readonly before: string;
  /** The clauses between that position and the format. */
  readonly after: string;
  /** For `INSERT … SELECT … FROM input(structure)`: the content of the brackets. The position is then the start of `input`. */
  readonly structure: string | undefined;
  readonly format: string;
  readonly dataStart: number;
}

export type InsertHeadFound = InsertHead | 'not an insert of rows' | 'incomplete';

/**
 * Finds the end of the statement and the beginning of its rows. `text` is the start of the request with one character
 * per byte, so `dataStart` counts bytes; `isAll` says that nothing follows.
 */
export function findInsertHead(text: string, isAll: boolean): InsertHeadFound {
  const cursor = new Cursor(text, isAll);
  if (!cursor.take('INSERT')) return cursor.isCut ? 'incomplete' : 'not an insert of rows';
  cursor.take('INTO');
  cursor.take('TABLE');
  if (!cursor.take('FUNCTION')) cursor.takeName();
  let clausesStart: number | undefined;
  let isSelect = false;
  let input: InputCall | undefined;
  for (;;) {
    const token = cursor.current;
    if (token === undefined || (token.isOpenEnded && !isAll)) return 'incomplete';
    const word = token.kind === 'word' ? wordOf(text, token) : '';
    if (token.kind === 'semicolon') return 'not an insert of rows';
    if (isSelect) {
      if (token.depth === 0 && word === 'FORMAT')
        return input?.end === undefined ? 'not an insert of rows' : rowsAt(cursor, token, input.start, input);
      if (token.depth === 0) input = inputCallAt(input, token, word);
    } else if (token.depth === 0) {
      if (word === 'SELECT') isSelect = true;
      else if (ENDS.has(word)) return 'not an insert of rows';
      if (word === 'SETTINGS') clausesStart ??= token.start;
      if (word === 'VALUES' || word === 'FORMAT') return rowsAt(cursor, token, clausesStart ?? token.start);
    } else if (cursor.isFirstInside && (word === 'SELECT' || word === 'WITH')) return 'not an insert of rows';
    cursor.next();
  }
}

const ENDS = new Set(['WITH', 'FROM', 'WATCH']);

/** A call of the table function `input`, which represents the rows. Offsets; undefined until they were seen. */
interface InputCall {
  readonly start: number;
  readonly open?: number;
  /** After the closing bracket. */
  readonly end?: number;
}

/** The call with one more token of the statement's top level. */
function inputCallAt(call: InputCall | undefined, token: Token, word: string): InputCall | undefined {
  if (call?.end !== undefined) return call;
  if (word === 'INPUT') return { start: token.start };
  if (call === undefined) return undefined;
  if (call.open === undefined) return token.kind === 'open' ? { ...call, open: token.end } : undefined;
  return token.kind === 'close' ? { ...call, end: token.end } : call;
}

function rowsAt(cursor: Cursor, keyword: Token, clausesStart: number, input?: InputCall): InsertHeadFound {
  const { text, isAll } = cursor;
  const head = {
    before: utf8(text.slice(0, clausesStart)),
    after: utf8(text.slice(input?.end ?? clausesStart, keyword.start)),
    structure: input?.end === undefined ? undefined : utf8(text.slice(input.open, input.end - 1)),
  };
  if (wordOf(text, keyword) === 'VALUES') {
    if (keyword.end === text.length && !isAll) return 'incomplete';
    return { ...head, format: 'Values', dataStart: keyword.end };
  }
  cursor.next();
  const name = cursor.current;
  if (name === undefined || (name.end === text.length && !isAll))
    return isAll ? 'not an insert of rows' : 'incomplete';
  return { ...head, format: utf8(text.slice(name.start, name.end)), dataStart: skipLineEnd(text, name.end) };
}

/** Blanks and one line end separate the format's name from the rows; every later byte belongs to the rows. */
function skipLineEnd(text: string, from: number): number {
  const match = /[ \t\f]*(?:;[ \t\f]*)?\r?\n/y;
  match.lastIndex = from;
  if (match.test(text)) return match.lastIndex;
  const blanks = /[ \t\f]*/y;
  blanks.lastIndex = from;
  blanks.test(text);
  return blanks.lastIndex;
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

class Cursor {
  readonly text: string;
  readonly isAll: boolean;
  readonly #tokens: Iterator<Token>;
  #current: Token | undefined;
  #isFirstInside = false;

  constructor(text: string, isAll: boolean) {
    this.text = text;
    this.isAll = isAll;
    this.#tokens = tokens(text);
    this.next();
  }

  get current(): Token | undefined {
    return this.#current;
  }

  /** The current token directly follows an opening bracket. */
  get isFirstInside(): boolean {
    return this.#isFirstInside;
  }

  /** The last token could continue in text that has not arrived yet. */
  get isCut(): boolean {
    return !this.isAll && (this.#current === undefined || this.#current.end >= this.text.length);
  }

  next(): void {
    this.#isFirstInside = this.#current?.kind === 'open';
    const result = this.#tokens.next();
    this.#current = result.done ? undefined : result.value;
  }

  take(keyword: string): boolean {
    const token = this.#current;
    if (token?.kind !== 'word' || wordOf(this.text, token) !== keyword) return false;
    this.next();
    return true;
  }

  /** `table`, `database.table`, each quoted or not. */
  takeName(): void {
    this.next();
    while (this.#current !== undefined && this.text.charAt(this.#current.start) === '.') {
      this.next();
      this.next();
    }
  }
}
