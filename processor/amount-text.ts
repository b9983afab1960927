import { isCurrency, majorUnits } from '../infra/money.ts';

const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
const USUAL_UNITS = 100;
const CURRENCIES_BY_UNITS = currenciesByUnits();

/**
 * The amount of a row in major units, as it is exported; null for a row without. A quotient of two whole numbers that
 * doubles hold exactly is the double next to the decimal amount, which is what `majorUnits` gives. All of it is our own
 * text. As `toDecimal128` it is exact to four decimals, which no currency exceeds.
 */
export function amountText(
  revenue: string,
  currency: string,
  type: 'toFloat64' | 'toDecimal128' = 'toFloat64',
): string {
  const cases = [...CURRENCIES_BY_UNITS].map(
    ([units, currencies]) => `${currency} IN (${currencies.map((code) => `'${code}'`).join(', ')}), ${units}`,
  );
  const units = `multiIf(${[...cases, USUAL_UNITS].join(', ')})`;
  const amount = type === 'toFloat64' ? `toFloat64(${revenue})` : `toDecimal128(${revenue}, 4)`;
  return `if(${currency} = '', NULL, ${amount} / ${units})`;
}

/** Currencies of which a major unit has not the usual number of minor units, by that number. */
function currenciesByUnits(): ReadonlyMap<number, readonly string[]> {
  const byUnits = new Map<number, string[]>();
  for (const code of LETTERS.flatMap((a) => LETTERS.flatMap((b) => LETTERS.map((c) => a + b + c)))) {
    if (!isCurrency(code)) continue;
    const units = Math.round(1 / majorUnits(1n, code));
    if (units === USUAL_UNITS) continue;
    byUnits.set(units, [...(byUnits.get(units) ?? []), code]);
  }
  return byUnits;
}
