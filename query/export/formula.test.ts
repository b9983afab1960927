import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formulaField } from './chart-fields.ts';
import { FormulaError, parseFormula } from './formula.ts';

const seed = Number(process.env.SEED ?? 20_261_122);
const VALUES = [8, 0, -2.5, 1_000];

type Tree =
  | { readonly kind: 'number'; readonly text: string }
  | { readonly kind: 'series'; readonly index: number }
  | { readonly kind: 'minus'; readonly inner: Tree }
  | {
      readonly kind: 'pair';
      readonly sign: '+' | '-' | '*' | '/';
      readonly left: Tree;
      readonly right: Tree;
    };

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.record({
      kind: fc.constant('number' as const),
      text: fc.constantFrom('0', '1', '2.5', '007', '10.250', '100'),
    }),
    fc.record({ kind: fc.constant('series' as const), index: fc.nat(VALUES.length - 1) }),
    fc.record({ kind: fc.constant('minus' as const), inner: tie('tree') }),
    fc.record({
      kind: fc.constant('pair' as const),
      sign: fc.constantFrom('+' as const, '-' as const, '*' as const, '/' as const),
      left: tie('tree'),
      right: tie('tree'),
    }),
  ),
}));

/** The precedence of an operation. */
const RANKS = { '+': 1, '-': 1, '*': 2, '/': 2 };
const MINUS_RANK = 3;

/** Writes a formula with the necessary parentheses and some random extra ones. */
function written(of: Tree, rank: number, odd: () => boolean): string {
  const space = odd() ? '  ' : '';
  const wrapped = (text: string, own: number) => (own < rank || odd() ? `(${space}${text})` : text);
  switch (of.kind) {
    case 'number':
      return of.text + space;
    case 'series':
      return wrapped(space + String.fromCharCode(65 + of.index), 4);
    case 'minus':
      return wrapped(`-${space}${written(of.inner, MINUS_RANK, odd)}`, MINUS_RANK);
    case 'pair': {
      const own = RANKS[of.sign];
      const left = written(of.left, own, odd);
      return wrapped(`${left}${space}${of.sign}${written(of.right, own + 1, odd)}`, own);
    }
  }
}

function meantBy(of: Tree): number {
  switch (of.kind) {
    case 'number':
      return Number.parseFloat(of.text);
    case 'series':
      return VALUES[of.index] ?? 0;
    case 'minus':
      return 0 - meantBy(of.inner);
    case 'pair': {
      const [left, right] = [meantBy(of.left), meantBy(of.right)];
      if (of.sign === '+') return left + right;
      if (of.sign === '-') return left - right;
      if (of.sign === '*') return left * right;
      return right === 0 ? 0 : left / right;
    }
  }
}

test('a formula evaluates to the value of its tree, however it is written', () => {
  fc.assert(
    fc.property(tree, fc.integer({ min: 1 }), (of, oddness) => {
      let count = oddness;
      const odd = () => {
        count = (count * 48_271) % 2_147_483_647;
        return count % 4 === 0;
      };
      const text = written(of, 0, odd);
      // A result is never -0.
      expect(parseFormula(text, VALUES.length)(VALUES) + 0, text).toBe(meantBy(of) + 0);
    }),
    { numRuns: 2_000, seed },
  );
});

test.each([
  ['A', 8],
  [' A / B * 100 ', 0],
  ['A / D * 100', 0.8],
  ['A-C-1', 9.5],
  ['A/2/2', 2],
  ['2+3*4', 14],
  ['(2+3)*4', 20],
  ['--A', 8],
  ['A--A', 16],
  ['A*-C', 20],
  ['-A*2', -16],
  ['1/0 + 1', 1],
  ['1/(A-A)', 0],
])('%s is %d', (text, value) => {
  expect(parseFormula(text, VALUES.length)(VALUES)).toBe(value);
});

test.each([
  ['', 1],
  ['   ', 1],
  ['A +', 4],
  ['A + * B', 5],
  ['A B', 3],
  ['AB', 2],
  ['2A', 2],
  ['1 2', 3],
  ['(A', 3],
  ['A)', 2],
  ['()', 2],
  ['((A)', 5],
  ['+A', 1],
  ['a', 1],
  ['A + b', 5],
  ['A ^ 2', 3],
  ['1.', 2],
  ['.5', 1],
  ['1.2.3', 4],
  ['1e5', 2],
  ['A,B', 2],
  ['A\t+B', 2],
  ['E', 1],
  ['A/(B+E)', 6],
  ['process.exit()', 1],
  ['constructor', 1],
  ['А', 1],
])('%j is rejected at character %d', (text, position) => {
  expect(() => parseFormula(text, VALUES.length)).toThrow(
    expect.objectContaining({ position, message: expect.stringContaining(`character ${position}: `) }),
  );
});

/** Recognizes a formula by reducing it from the inside out until one value remains or nothing fits. */
function isFormula(text: string): boolean {
  // Two values separated only by a space are not one value.
  let rest = text.replace(/\d+(\.\d+)?|[A-D]/g, 'x').replaceAll(/x *(?=x)/g, '!');
  rest = rest.replaceAll(' ', '');
  for (let before = ''; before !== rest; ) {
    before = rest;
    rest = rest
      .replaceAll('(x)', 'x')
      .replace(/(^|[-+*/(])-x/g, '$1x')
      .replace(/x[-+*/]x/g, 'x');
    if (/xx/.test(rest)) return false;
  }
  return rest === 'x';
}

test('exactly the valid formulas parse; all other text is rejected at a position within it', () => {
  let read = 0;
  const letters = fc.constantFrom(...'ABD12.+-*/(() ))  e');
  fc.assert(
    fc.property(fc.string({ unit: letters, maxLength: 9 }), (text) => {
      try {
        const value = parseFormula(text, VALUES.length)(VALUES);
        expect(Number.isFinite(value), text).toBe(true);
        expect(isFormula(text), text).toBe(true);
        read += 1;
      } catch (error) {
        if (!(error instanceof FormulaError)) throw error;
        expect(isFormula(text), text).toBe(false);
        expect(error.position).toBeGreaterThanOrEqual(1);
        expect(error.position).toBeLessThanOrEqual(text.length + 1);
      }
    }),
    { numRuns: 20_000, seed },
  );
  expect(read).toBeGreaterThan(200);
});

test('arbitrary strings parse or throw a FormulaError', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      try {
        parseFormula(text, 1);
      } catch (error) {
        expect(error).toBeInstanceOf(FormulaError);
      }
    }),
    { numRuns: 2_000, seed },
  );
});

test('a result that no number holds is 0', () => {
  expect(parseFormula('A * A', 1)([1e300])).toBe(0);
});

test.each([
  ['spaces', ' '.repeat(60_000)],
  ['spaces before a letter', `${' '.repeat(60_000)}A`],
  ['spaces before a wrong character', `${' '.repeat(60_000)}?`],
  ['parentheses', '('.repeat(5_000)],
  ['signs', '-'.repeat(60_000)],
  ['one character too many', `${'1'.repeat(200)}1`],
])('a formula of %s is too long, which is found before it is read', (_what, text) => {
  expect(() => parseFormula(text, 1)).toThrow('character 201: expected at most 200 characters');
  expect(formulaField.safeParse(text).error?.issues.map(({ message }) => message)).toEqual([
    'expected at most 200 characters',
  ]);
});

test('the most deeply nested formula parses', () => {
  expect(parseFormula(`${'('.repeat(99)}A${')'.repeat(99)}`, 1)([3])).toBe(3);
  expect(parseFormula(`${'-'.repeat(199)}A`, 1)([3])).toBe(-3);
});
