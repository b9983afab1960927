/**
 * Arithmetic over the series of a chart, called A, B, C, … in order:
 *
 *     sum      a product, or several joined by + or -
 *     product  a factor, or several joined by * or /
 *     factor   a decimal number, a letter, a sum in ( ), or a factor after -
 *
 * Spaces may separate all of these. Division by zero gives 0, and so does a result beyond `RESULT_MAX`.
 */
export type Formula = (values: readonly number[]) => number;

export const FORMULA_MAX_CHARACTERS = 200;

/** Maximum result, of either sign: JSON has only finite numbers, and this way all results of an answer add up to one. */
const RESULT_MAX = 1e300;

/** A formula that is invalid, with the position of its first wrong character, starting at 1. */
export class FormulaError extends Error {
  override readonly name = 'FormulaError';
  readonly position: number;

  constructor(position: number, problem: string) {
    super(`character ${position}: ${problem}`);
    this.position = position;
  }
}

/**
 * Parses a formula over `seriesCount` series; throws a `FormulaError`. The length also bounds how deep the reader recurses:
 * each parenthesis and each sign is a character.
 */
export function parseFormula(text: string, seriesCount: number): Formula {
  if (text.length > FORMULA_MAX_CHARACTERS)
    throw new FormulaError(
      FORMULA_MAX_CHARACTERS + 1,
      `expected at most ${FORMULA_MAX_CHARACTERS} characters`,
    );
  const reader: TokenReader = { tokens: tokensOf(text, seriesCount), next: 0 };
  const whole = readSum(reader);
  const rest = tokenAt(reader);
  if (rest.kind !== 'end') throw new FormulaError(rest.position, 'expected + - * / or the end');
  return (values) => {
    const result = whole(values);
    // Also false for NaN.
    return Math.abs(result) <= RESULT_MAX ? result : 0;
  };
}

/** True if a formula divides, so its result is a rate or an average. */
export function divides(text: string): boolean {
  return text.includes('/');
}

/** True if a formula refers to the series with this letter. */
export function refersTo(text: string, letter: string): boolean {
  return text.includes(letter);
}

type Token =
  | { readonly kind: 'number'; readonly position: number; readonly value: number }
  | { readonly kind: 'series'; readonly position: number; readonly index: number }
  | { readonly kind: 'sign'; readonly position: number; readonly sign: string }
  | { readonly kind: 'end'; readonly position: number };

interface TokenReader {
  readonly tokens: readonly Token[];
  next: number;
}

const TOKEN = / *(?:(\d+(?:\.\d+)?)|([A-Z])|([-+*/()]))/y;

function tokensOf(text: string, seriesCount: number): Token[] {
  const tokens: Token[] = [];
  let end = text.length;
  while (text[end - 1] === ' ') end -= 1;
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const position = at + 1 + text.slice(at).search(/[^ ]/);
      throw new FormulaError(position, 'expected a number, a capital letter, + - * / ( or )');
    }
    at = TOKEN.lastIndex;
    const [, number, letter, sign = ''] = match;
    const position = at - (number ?? letter ?? sign).length + 1;
    if (number !== undefined) tokens.push({ kind: 'number', position, value: Number(number) });
    else if (letter === undefined) tokens.push({ kind: 'sign', position, sign });
    else tokens.push({ kind: 'series', position, index: indexOf(letter, position, seriesCount) });
  }
  tokens.push({ kind: 'end', position: end + 1 });
  return tokens;
}

function indexOf(letter: string, position: number, seriesCount: number): number {
  const index = letter.charCodeAt(0) - 'A'.charCodeAt(0);
  if (index >= seriesCount) throw new FormulaError(position, `unknown series ${letter}`);
  return index;
}

function readSum(reader: TokenReader): Formula {
  let left = readProduct(reader);
  for (;;) {
    const before = left;
    if (takeSign(reader, '+')) {
      const right = readProduct(reader);
      left = (values) => before(values) + right(values);
    } else if (takeSign(reader, '-')) {
      const right = readProduct(reader);
      left = (values) => before(values) - right(values);
    } else return left;
  }
}

function readProduct(reader: TokenReader): Formula {
  let left = readFactor(reader);
  for (;;) {
    const before = left;
    if (takeSign(reader, '*')) {
      const right = readFactor(reader);
      left = (values) => before(values) * right(values);
    } else if (takeSign(reader, '/')) {
      const right = readFactor(reader);
      left = (values) => quotient(before(values), right(values));
    } else return left;
  }
}

function readFactor(reader: TokenReader): Formula {
  if (takeSign(reader, '-')) {
    const negated = readFactor(reader);
    return (values) => -negated(values);
  }
  if (takeSign(reader, '(')) {
    const inner = readSum(reader);
    if (!takeSign(reader, ')')) throw new FormulaError(tokenAt(reader).position, 'expected + - * / or )');
    return inner;
  }
  const token = tokenAt(reader);
  reader.next += 1;
  if (token.kind === 'number') return () => token.value;
  if (token.kind === 'series') return (values) => values[token.index] ?? 0;
  throw new FormulaError(token.position, 'expected a number, a series, - or (');
}

function quotient(dividend: number, divisor: number): number {
  return divisor === 0 ? 0 : dividend / divisor;
}

function takeSign(reader: TokenReader, sign: string): boolean {
  const token = tokenAt(reader);
  if (token.kind !== 'sign' || token.sign !== sign) return false;
  reader.next += 1;
  return true;
}

/** The next token. The last token is the end, and it is never consumed. */
function tokenAt({ tokens, next }: TokenReader): Token {
  return tokens[next] ?? { kind: 'end', position: 0 };
}
