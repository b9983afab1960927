export type TokenKind =
  | 'word'
  | 'quoted-name'
  | 'string'
  | 'number'
  | 'open'
  | 'close'
  | 'semicolon'
  | 'other';

/** A meaningful piece of SQL: neither white space nor comment. Offsets in the text. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
  /** The number of open brackets around it; an opening and its closing bracket have the depth outside them. */
  readonly depth: number;
  /** True if it runs to the end of the text without being closed, so that more text could change it. */
  readonly isOpenEnded: boolean;
}

const WORD_START = /[A-Za-z_\u0080-\uffff]/;
const WORD = /[A-Za-z0-9_$\u0080-\uffff]*/y;
const NUMBER = /[0-9][A-Za-z0-9_.]*/y;
const SPACE = /\s*/y;
const HEREDOC = /\$[A-Za-z0-9_]*\$/y;

/**
 * The tokens of ClickHouse's SQL in order. Strings of many megabytes are skipped by search, not character by character.
 * node-sql-parser and the like are rejected: they do not know ClickHouse's dialect, and only clause keywords are
 * needed.
 */
export function* tokens(text: string): Generator<Token> {
  let depth = 0;
  let at = skipBlank(text, 0);
  while (at < text.length) {
    const kind = kindAt(text, at);
    const end = endOf(text, at, kind);
    if (kind === 'close' && depth > 0) depth -= 1;
    yield { kind, start: at, end: Math.min(end, text.length), depth, isOpenEnded: end > text.length };
    if (kind === 'open') depth += 1;
    at = skipBlank(text, end);
  }
}

function kindAt(text: string, at: number): TokenKind {
  const character = text.charAt(at);
  if (character === "'") return 'string';
  if (character === '"' || character === '`') return 'quoted-name';
  if (character === '$' && matchEnd(HEREDOC, text, at) > at) return 'string';
  if (character === ';') return 'semicolon';
  if (character === '(' || character === '[' || character === '{') return 'open';
  if (character === ')' || character === ']' || character === '}') return 'close';
  if (character >= '0' && character <= '9') return 'number';
  return WORD_START.test(character) ? 'word' : 'other';
}

/** The end of the token at `at`; the text's length plus one when it is not closed. */
function endOf(text: string, at: number, kind: TokenKind): number {
  switch (kind) {
    case 'string':
      return text.charAt(at) === '$' ? heredocEnd(text, at) : quotedEnd(text, at);
    case 'quoted-name':
      return quotedEnd(text, at);
    case 'word':
      return matchEnd(WORD, text, at);
    case 'number':
      return matchEnd(NUMBER, text, at);
    default:
      return at + 1;
  }
}

function quotedEnd(text: string, at: number): number {
  const quote = text.charAt(at);
  let from = at + 1;
  for (;;) {
    const close = text.indexOf(quote, from);
    if (close === -1) return text.length + 1;
    let backslashes = 0;
    while (text.charAt(close - 1 - backslashes) === '\\' && close - 1 - backslashes > at) backslashes += 1;
    if (backslashes % 2 === 1) from = close + 1;
    else if (text.charAt(close + 1) === quote) from = close + 2;
    else return close + 1;
  }
}

function heredocEnd(text: string, at: number): number {
  const tag = text.slice(at, matchEnd(HEREDOC, text, at));
  const close = text.indexOf(tag, at + tag.length);
  return close === -1 ? text.length + 1 : close + tag.length;
}

function skipBlank(text: string, from: number): number {
  let at = from;
  for (;;) {
    at = matchEnd(SPACE, text, at);
    if (text.startsWith('/*', at)) at = after(text, '*/', at + 2);
    else if (text.startsWith('--', at) || text.startsWith('# ', at) || text.startsWith('#!', at))
      at = after(text, '\n', at);
    else return at;
  }
}

function after(text: string, what: string, from: number): number {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found + what.length;
}

function matchEnd(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at;
  return sticky.test(text) ? sticky.lastIndex : at;
}
