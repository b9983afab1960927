import { decimalText, isCurrency, isWithinMinorUnits, MINOR_UNITS_MAX } from '../../infra/money.ts';
import { REVENUE } from '../event.ts';
import { IDENTITY_MAX } from './sender-claims.ts';
import type { TextRules } from './text-rules.ts';

/** Maximum characters of an amount as decimal text. */
export const AMOUNT_MAX = 40;

/** Claims in the reserved properties of an event with money, before site and order are looked at. */
export interface RevenueClaim {
  readonly isRefund: boolean;
  /** Major units as decimal text without a sign; empty when absent. */
  readonly amount: string;
  /** `__revenue`: minor units as decimal text; empty when absent. */
  readonly minorUnits: string;
  /** ISO 4217 in upper case; empty when absent. */
  readonly currency: string;
  /** Empty when absent; always given for a refund. */
  readonly orderId: string;
}

const NO_CLAIM: RevenueClaim = { isRefund: false, amount: '', minorUnits: '', currency: '', orderId: '' };

/**
 * True if an event claims money: by its name, or by an amount or a refund in its properties. An order number or a currency by itself is no
 * claim.
 */
export function claimsRevenue(name: string, properties: Readonly<Record<string, unknown>>): boolean {
  if (name === REVENUE) return true;
  const { __amount: amount, __revenue: minorUnits, __refund: refund } = properties;
  return isGiven(amount) || isGiven(minorUnits) || (isGiven(refund) && refund !== false);
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/**
 * Reads the reserved properties of a revenue event. A doubtful value is rejected and never guessed, because a wrong
 * amount is noticed late.
 */
export function readRevenueClaim(
  properties: Readonly<Record<string, unknown>>,
  rules: TextRules,
): RevenueClaim {
  const isRefund = readIsRefund(properties.__refund, rules);
  const currency = readCurrency(properties.__currency, rules);
  const claim: RevenueClaim = {
    isRefund,
    amount: readAmount(properties.__amount, currency, rules),
    minorUnits: readMinorUnits(properties.__revenue, rules),
    currency,
    orderId: readOrderId(properties.__orderId, rules),
  };
  if (rules.problem !== '') return NO_CLAIM;
  if (claim.amount !== '' && claim.minorUnits !== '')
    rules.fail('payload.properties.__revenue', 'expected only one of __amount and __revenue');
  if (isRefund && claim.orderId === '')
    rules.fail('payload.properties.__orderId', 'expected the id of the refunded order');
  if (!isRefund && claim.amount === '' && claim.minorUnits === '')
    rules.fail('payload.properties.__amount', 'expected an amount, here or in minor units as __revenue');
  return claim;
}

function readIsRefund(value: unknown, rules: TextRules): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') rules.fail('payload.properties.__refund', 'expected true or false');
  return value === true;
}

function readCurrency(value: unknown, rules: TextRules): string {
  if (value === undefined || value === null) return '';
  // ASCII letters only: some other letters become one of them in upper case.
  const code = typeof value === 'string' && /^[a-z]{3}$/i.test(value) ? value.toUpperCase() : '';
  if (!isCurrency(code)) rules.fail('payload.properties.__currency', 'expected an ISO 4217 currency code');
  return code;
}

const PLAIN_DECIMAL = /^\d+(?:\.\d+)?$/;

function readAmount(value: unknown, currency: string, rules: TextRules): string {
  if (value === undefined || value === null) return '';
  const where = 'payload.properties.__amount';
  const text = typeof value === 'number' && Number.isFinite(value) ? decimalText(value) : value;
  if (typeof text !== 'string' || text.length > AMOUNT_MAX || !PLAIN_DECIMAL.test(text)) {
    rules.fail(
      where,
      `expected a number of at least 0, as a number or a string of at most ${AMOUNT_MAX} characters`,
    );
    return '';
  }
  if (!isWithinMinorUnits(text, currency))
    rules.fail(where, `expected at most ${MINOR_UNITS_MAX} minor units`);
  return text;
}

function readMinorUnits(value: unknown, rules: TextRules): string {
  if (value === undefined || value === null) return '';
  // The safe integers end at `MINOR_UNITS_MAX`.
  const isWhole = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
  if (!isWhole)
    rules.fail(
      'payload.properties.__revenue',
      `expected a whole number of minor units, from 0 to ${MINOR_UNITS_MAX}`,
    );
  return isWhole ? String(value) : '';
}

function readOrderId(value: unknown, rules: TextRules): string {
  if (value === undefined || value === null) return '';
  return rules.identity(value, 'payload.properties.__orderId', IDENTITY_MAX);
}
