import { assert } from './assert.ts';

/**
 * CONTRACT for all code that reads, stores or returns amounts. Amounts are stored in whole minor units (cents), and
 * input is decimal text: a sum of doubles drifts, and a price times 100 is already inexact. Numbers among a profile's
 * properties are added as decimal text for the same reason.
 *
 * Decimal text is `-?digits` or `-?digits.digits`, without an exponent.
 *
 * decimal.js is rejected: amounts are only added and rounded, which BigInt does exactly in a few lines.
 */

/** The largest number of minor units that an amount may have: up to here a double represents every integer. */
export const MINOR_UNITS_MAX = 9_007_199_254_740_991n;

/**
 * The largest sum of amounts, of either sign, that is stored in a column of 64 bits: a thousand amounts of the largest size.
 * Sums that are not stored have no bound: memory adds in BigInt, and statements add in 128 bits.
 */
export const STORED_SUM_MAX = 9_000_000_000_000_000_000n;

/**
 * True if `code` (upper case) is a currency by ISO 4217, as its maintenance agency SIX lists them in table A.1 at the beginning of 2026,
 * including those withdrawn since 2020, because history is imported. Codes without a minor unit there do not count: metals, bond market
 * units, units of account, XTS and XXX.
 */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

/**
 * Converts decimal text in major units to minor units of the currency, rounded half away from zero: "1.005" USD is 101.
 */
export function minorUnitsOf(amount: string, currency: string): bigint {
  return unitsOf(decimalPartsOf(amount), decimalsOf(currency));
}

/** True if an amount has at most `MINOR_UNITS_MAX` minor units. An empty currency is taken as one with the most decimals. */
export function isWithinMinorUnits(amount: string, currency: string): boolean {
  const decimals = currency === '' ? DECIMALS_MAX : decimalsOf(currency);
  return unitsOf(decimalPartsOf(amount), decimals) <= MINOR_UNITS_MAX;
}

/** Converts minor units to an amount of the currency: 1234n USD is 12.34. */
export function majorUnits(minorUnits: bigint, currency: string): number {
  // Goes through decimal text, because a division would round twice.
  return Number(`${minorUnits}e-${decimalsOf(currency)}`);
}

/** Adds an amount to a sum that is stored in 64 bits. Beyond `STORED_SUM_MAX`, of either sign, the sum stays at that bound. */
export function addToStoredSum(sum: bigint, amount: bigint): bigint {
  const added = sum + amount;
  if (added > STORED_SUM_MAX) return STORED_SUM_MAX;
  return added < -STORED_SUM_MAX ? -STORED_SUM_MAX : added;
}

/** A finite number as decimal text: the fewest digits that read back as the same number, without an exponent. */
export function decimalText(value: number): string {
  assert(Number.isFinite(value), 'only a finite number has decimal text');
  return withoutExponent(String(value));
}

/**
 * The decimal text of a number's text; undefined when it is not a number. Accepts the text of a JSON number, which is
 * how properties are stored, so exponents are allowed.
 */
export function decimalOf(text: string): string | undefined {
  return NUMBER.test(text) ? withoutExponent(text) : undefined;
}

/** The exact sum of two decimal texts, without trailing zeros: "1.50" and "-0.5" give "1". Never "-0". */
export function addDecimals(a: string, b: string): string {
  const one = decimalPartsOf(a);
  const other = decimalPartsOf(b);
  const decimals = Math.max(one.decimals, other.decimals);
  return textOf(unitsOf(one, decimals) + unitsOf(other, decimals), decimals);
}

function decimalsOf(currency: string): number {
  return DECIMALS.get(currency) ?? 2;
}

/** `units` of 10 to the minus `decimals`. */
interface DecimalParts {
  readonly units: bigint;
  readonly decimals: number;
}

const DECIMAL = /^-?\d+(?:\.\d+)?$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:e[+-]?\d{1,3})?$/;

function decimalPartsOf(text: string): DecimalParts {
  assert(DECIMAL.test(text), 'expected decimal text');
  const point = text.indexOf('.');
  if (point === -1) return { units: BigInt(text), decimals: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), decimals: text.length - point - 1 };
}

/** In units of 10 to the minus `decimals`, rounded half away from zero. */
function unitsOf(parts: DecimalParts, decimals: number): bigint {
  const surplus = parts.decimals - decimals;
  if (surplus <= 0) return parts.units * 10n ** BigInt(-surplus);
  const divisor = 10n ** BigInt(surplus);
  const half = divisor / 2n;
  // BigInt division truncates towards zero, so adding half a unit away from zero first makes it round.
  return (parts.units + (parts.units < 0n ? -half : half)) / divisor;
}

function textOf(units: bigint, decimals: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(decimals + 1, '0');
  const point = digits.length - decimals;
  const fraction = digits.slice(point).replace(/0+$/, '');
  return sign + digits.slice(0, point) + (fraction === '' ? '' : `.${fraction}`);
}

function withoutExponent(text: string): string {
  const [mantissa = '', exponent] = text.split('e');
  if (exponent === undefined) return text;
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.slice(sign.length).split('.');
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction).padEnd(point, '0');
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return sign + digits.slice(0, point) + (point < digits.length ? `.${digits.slice(point)}` : '');
}

const CURRENCIES: ReadonlySet<string> = new Set(
  [
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW',
    'CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL',
    'HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA',
    'MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD',
    'RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD',
    'USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XCD XCG XOF XPF YER ZAR ZMW ZWG',
    // Withdrawn since 2020.
    'ANG BGN CUC HRK SLL ZWL',
  ].flatMap((codes) => codes.split(' ')),
);

// Decimal places by ISO 4217 where they are not two. (The runtime's own table follows usage instead: it gives the
// Afghan afghani none, although amounts are recorded with two.)
const DECIMALS: ReadonlyMap<string, number> = new Map([
  ...listed('BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF', 0),
  ...listed('BHD IQD JOD KWD LYD OMR TND', 3),
  ...listed('CLF UYW', 4),
]);
const DECIMALS_MAX = Math.max(...DECIMALS.values());

function listed(currencies: string, decimals: number): [string, number][] {
  return currencies.split(' ').map((currency) => [currency, decimals]);
}
