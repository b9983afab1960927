import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDecimals,
  decimalOf,
  decimalText,
  isCurrency,
  isWithinMinorUnits,
  majorUnits,
  minorUnitsOf,
} from './money.ts';

const DECIMAL = /^-?\d+(\.\d+)?$/;

/** A number as a fraction of integers, read digit by digit, which is not how the code reads it. */
interface Rational {
  readonly over: bigint;
  readonly under: bigint;
}

function rationalOf(text: string): Rational {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  let over = 0n;
  let under = 1n;
  let isFraction = false;
  for (const character of mantissa) {
    if (character === '.') isFraction = true;
    else if (character !== '-') {
      over = over * 10n + BigInt(character);
      if (isFraction) under *= 10n;
    }
  }
  const power = 10n ** BigInt(Math.abs(Number(exponent)));
  if (Number(exponent) > 0) over *= power;
  else under *= power;
  return { over: mantissa.startsWith('-') ? -over : over, under };
}

function areEqual(a: Rational, b: Rational): boolean {
  return a.over * b.under === b.over * a.under;
}

const digits = (maxLength: number) =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength }).map((each) => each.join(''));
const decimal = fc
  .tuple(fc.constantFrom('', '-'), digits(22), fc.option(digits(22), { nil: '' }))
  .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`);
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

describe('minor units', () => {
  test.each([
    [1234n, 'USD', 12.34],
    [-5n, 'EUR', -0.05],
    [1234n, 'JPY', 1234],
    [1234n, 'KWD', 1.234],
    [12345n, 'CLF', 1.2345],
    [29n, 'AFN', 0.29],
    [1_000_000_000_000_001n, 'USD', 10_000_000_000_000.01],
  ])('%s minor units of %s are %s', (minorUnits, currency, expected) => {
    expect(majorUnits(minorUnits, currency)).toBe(expected);
  });

  test.each([
    ['0.30000000000000004', 'USD', 30n],
    ['1.005', 'USD', 101n],
    ['-1.005', 'USD', -101n],
    ['1.0049999', 'USD', 100n],
    ['-1.0049999', 'USD', -100n],
    ['0.004', 'EUR', 0n],
    ['-0.004', 'EUR', 0n],
    ['19.99', 'EUR', 1999n],
    ['0019.9', 'EUR', 1990n],
    ['0.5', 'JPY', 1n],
    ['1200', 'JPY', 1200n],
    ['1.2345', 'KWD', 1235n],
    ['1.23455', 'CLF', 12346n],
    ['90071992547409.91', 'USD', 9_007_199_254_740_991n],
    ['123456789012345678901234567890', 'USD', 12_345_678_901_234_567_890_123_456_789_000n],
  ])('of %s %s are %s', (amount, currency, expected) => {
    expect(minorUnitsOf(amount, currency)).toBe(expected);
  });

  test('are rounded to the nearest, and halves away from zero', () => {
    const scales = { JPY: 1n, USD: 100n, KWD: 1000n, CLF: 10_000n };
    fc.assert(
      fc.property(
        fc.oneof(
          decimal,
          digits(6).map((whole) => `${whole}.5`),
          digits(6).map((whole) => `-${whole}.005`),
        ),
        fc.constantFrom('JPY', 'USD', 'KWD', 'CLF'),
        (amount, currency) => {
          const { over, under } = rationalOf(amount);
          const units = minorUnitsOf(amount, currency);
          // Twice the error, in units of 1 / under.
          const error = 2n * (units * under - over * scales[currency]);
          const isAway = over < 0n ? error < 0n : error > 0n;
          expect(
            error > -under && error < under ? true : isAway && (error === under || error === -under),
          ).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('of up to 15 digits, which a double represents, survive the round trip', () => {
    fc.assert(
      fc.property(
        fc.bigInt(-(10n ** 15n), 10n ** 15n),
        fc.constantFrom('JPY', 'USD', 'KWD'),
        (units, currency) => {
          expect(minorUnitsOf(decimalText(majorUnits(units, currency)), currency)).toBe(units);
        },
      ),
    );
  });

  test.each([
    ['90071992547409.91', 'USD', true],
    ['90071992547409.914', 'USD', true],
    ['90071992547409.915', 'USD', false],
    ['9007199254740991', 'JPY', true],
    ['9007199254740992', 'JPY', false],
    ['900719925474.0991', '', true],
    ['900719925474.0992', '', false],
  ])('%s %s is within the limit: %s', (amount, currency, expected) => {
    expect(isWithinMinorUnits(amount, currency)).toBe(expected);
  });
});

describe('decimal text', () => {
  test.each([
    [1e21, '1000000000000000000000'],
    [-1.5e300, `-15${'0'.repeat(299)}`],
    [5e-7, '0.0000005'],
    [-1.25e-9, '-0.00000000125'],
    [0.1 + 0.2, '0.30000000000000004'],
    [1.7976931348623157e308, `17976931348623157${'0'.repeat(292)}`],
    [5e-324, `0.${'0'.repeat(323)}5`],
    [123456789.125, '123456789.125'],
    [0, '0'],
    [-0, '0'],
  ])('of %s is %s', (value, expected) => {
    expect(decimalText(value)).toBe(expected);
  });

  test('has the fewest digits that read back as the same number', () => {
    fc.assert(
      fc.property(finite, (value) => {
        const text = decimalText(value);
        expect(text).toMatch(DECIMAL);
        expect(Number(text)).toBe(value === 0 ? 0 : value);
        expect(areEqual(rationalOf(text), rationalOf(value.toExponential()))).toBe(true);
        const significant = text.replace(/[-.]/g, '').replace(/^0+|0+$/g, '');
        expect(significant.length).toBeLessThanOrEqual(17);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('of %s is an error', (value) => {
    expect(() => decimalText(value)).toThrow('finite');
  });

  test.each([
    ['12', '12'],
    ['-0.50', '-0.50'],
    ['1e+21', '1000000000000000000000'],
    ['1.25e1', '12.5'],
    ['12.5e-3', '0.0125'],
    ['-5e-7', '-0.0000005'],
    ['', undefined],
    ['1.', undefined],
    ['.5', undefined],
    ['+1', undefined],
    ['1,5', undefined],
    ['0x10', undefined],
    ['1e9999', undefined],
    ['Infinity', undefined],
    ['12\n', undefined],
    ['true', undefined],
  ])('is read from %j as %s', (text, expected) => {
    expect(decimalOf(text)).toBe(expected);
  });

  test('is read from the text of every number', () => {
    fc.assert(
      fc.property(finite, (value) => {
        expect(decimalOf(String(value))).toBe(decimalText(value));
      }),
    );
  });
});

describe('an addition', () => {
  test.each([
    ['0.1', '0.2', '0.3'],
    ['1.50', '-0.5', '1'],
    ['-1', '1', '0'],
    ['-0', '-0.00', '0'],
    ['0', '-0.05', '-0.05'],
    ['99.99', '0.01', '100'],
    ['9007199254740993', '0.0000001', '9007199254740993.0000001'],
    ['007', '1', '8'],
  ])('%s and %s are %s', (a, b, expected) => {
    expect(addDecimals(a, b)).toBe(expected);
  });

  test('is exact and in canonical form', () => {
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        const sum = addDecimals(a, b);
        const [one, other] = [rationalOf(a), rationalOf(b)];
        const expected = {
          over: one.over * other.under + other.over * one.under,
          under: one.under * other.under,
        };
        expect(areEqual(rationalOf(sum), expected)).toBe(true);
        expect(sum).toMatch(/^(0|-?[1-9]\d*|-?(0|[1-9]\d*)\.\d*[1-9])$/);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is commutative and associative, and the negative undoes it', () => {
    const opposite = (text: string) => (text.startsWith('-') ? text.slice(1) : `-${text}`);
    fc.assert(
      fc.property(decimal, decimal, decimal, (a, b, c) => {
        expect(addDecimals(a, b)).toBe(addDecimals(b, a));
        expect(addDecimals(addDecimals(a, b), c)).toBe(addDecimals(a, addDecimals(b, c)));
        expect(addDecimals(addDecimals(a, b), opposite(b))).toBe(addDecimals(a, '0'));
      }),
    );
  });

  test.each(['', 'x', '1e5', '1.', '0x1', ' 1'])('of %j is an error', (text) => {
    expect(() => addDecimals(text, '1')).toThrow('decimal');
  });
});

describe('a currency', () => {
  test.each(['USD', 'EUR', 'JPY', 'XAF', 'XOF', 'XPF', 'XCD', 'XCG', 'KWD', 'CLF', 'ZWG', 'HRK'])(
    '%s is valid',
    (code) => {
      expect(isCurrency(code)).toBe(true);
    },
  );

  test.each(['', 'usd', 'US', 'USDT', 'XXX', 'XTS', 'XAU', 'DEM', 'ABC', '978', 'constructor'])(
    '%j is not valid',
    (code) => {
      expect(isCurrency(code)).toBe(false);
    },
  );

  test('includes every code that the runtime knows, except units of account', () => {
    const used = Intl.supportedValuesOf('currency').filter((code) => !['XDR', 'XSU', 'XXX'].includes(code));
    expect(used.length).toBeGreaterThan(150);
    expect(used.filter((code) => !isCurrency(code))).toEqual([]);
  });
});
