/**
 * Arithmetic over the series of a chart, which it calls A, B, C, … in their order:
 *
 *     sum      a product, or several with + or - between them
 *     product  a factor, or several with * or / between them
 *     factor   a decimal number, a letter, a sum in ( ), or a factor with - before it
 *
 * Spaces may stand between all of these. What is divided by zero is 0, and so is a result that is no finite number.
 */
export type Formula = (values: readonly number[]) => number;

export const FORMULA_MAX_CHARACTERS = 200;

/** A formula that cannot be read, and which of its characters is the first that is wrong; 1 is the first of all. */
export class FormulaError extends Error {
  override readonly name = 'FormulaError';
  readonly place: number;

  constructor(place: number, problem: string) {
    super(`character ${place}: ${problem}`);
    this.place = place;
  }
}

/** Reads a formula over so many series; throws a `FormulaError`. */
export function parseFormula(text: string, seriesCount: number): Formula {
  const reading: Reading = { tokens: tokensOf(text, seriesCount), next: 0 };
  const whole = readSum(reading);
  const rest = tokenAt(reading);
  if (rest.kind !== 'end') throw new FormulaError(rest.place, 'expected + - * / or the end');
  return (values) => {
    const result = whole(values);
    return Number.isFinite(result) ? result : 0;
  };
}

type Token =
  | { readonly kind: 'number'; readonly place: number; readonly value: number }
  | { readonly kind: 'series'; readonly place: number; readonly index: number }
  | { readonly kind: 'sign'; readonly place: number; readonly sign: string }
  | { readonly kind: 'end'; readonly place: number };

interface Reading {
  readonly tokens: readonly Token[];
  next: number;
}

const TOKEN = / *(?:(\d+(?:\.\d+)?)|([A-Z])|([-+*/()]))/y;

function tokensOf(text: string, seriesCount: number): Token[] {
  const tokens: Token[] = [];
  const end = text.search(/ *$/);
  let at = 0;
  while (at < end) {
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (match === null) {
      const place = at + 1 + text.slice(at).search(/[^ ]/);
      throw new FormulaError(place, 'expected a number, a capital letter, + - * / ( or )');
    }
    at = TOKEN.lastIndex;
    const [, number, letter, sign = ''] = match;
    const place = at - (number ?? letter ?? sign).length + 1;
    if (number !== undefined) tokens.push({ kind: 'number', place, value: Number(number) });
    else if (letter === undefined) tokens.push({ kind: 'sign', place, sign });
    else tokens.push({ kind: 'series', place, index: indexOf(letter, place, seriesCount) });
  }
  tokens.push({ kind: 'end', place: end + 1 });
  return tokens;
}

function indexOf(letter: string, place: number, seriesCount: number): number {
  const index = letter.charCodeAt(0) - 'A'.charCodeAt(0);
  if (index >= seriesCount) throw new FormulaError(place, `there is no series ${letter}`);
  return index;
}

function readSum(reading: Reading): Formula {
  let left = readProduct(reading);
  for (;;) {
    const before = left;
    if (takeSign(reading, '+')) {
      const right = readProduct(reading);
      left = (values) => before(values) + right(values);
    } else if (takeSign(reading, '-')) {
      const right = readProduct(reading);
      left = (values) => before(values) - right(values);
    } else return left;
  }
}

function readProduct(reading: Reading): Formula {
  let left = readFactor(reading);
  for (;;) {
    const before = left;
    if (takeSign(reading, '*')) {
      const right = readFactor(reading);
      left = (values) => before(values) * right(values);
    } else if (takeSign(reading, '/')) {
      const right = readFactor(reading);
      left = (values) => quotient(before(values), right(values));
    } else return left;
  }
}

function readFactor(reading: Reading): Formula {
  if (takeSign(reading, '-')) {
    const negated = readFactor(reading);
    return (values) => -negated(values);
  }
  if (takeSign(reading, '(')) {
    const inner = readSum(reading);
    if (!takeSign(reading, ')')) throw new FormulaError(tokenAt(reading).place, 'expected + - * / or )');
    return inner;
  }
  const token = tokenAt(reading);
  reading.next += 1;
  if (token.kind === 'number') return () => token.value;
  if (token.kind === 'series') return (values) => values[token.index] ?? 0;
  throw new FormulaError(token.place, 'expected a number, a series, - or (');
}

function quotient(dividend: number, divisor: number): number {
  return divisor === 0 ? 0 : dividend / divisor;
}

function takeSign(reading: Reading, sign: string): boolean {
  const token = tokenAt(reading);
  if (token.kind !== 'sign' || token.sign !== sign) return false;
  reading.next += 1;
  return true;
}

/** The next token; the last one is the end, and nobody reads behind it. */
function tokenAt({ tokens, next }: Reading): Token {
  return tokens[next] ?? { kind: 'end', place: 0 };
}
