import { isCurrency } from '../../infra/money.ts';
import type { Filter } from '../filters/filter.ts';
import type { Field } from '../filters/names.ts';
import { RejectError } from '../reject.ts';
import { letterOf } from './chart-fields.ts';
import type { ChartMetrics, ChartRow, ChartSeries, ChartsQuery } from './charts-api.ts';
import { refersTo } from './formula.ts';

/**
 * Amounts of different currencies are never combined. A series of revenue counts one currency, or each in rows of its
 * own if it is broken down by currency:
 *
 *     the series' own ─▶ else of a filter that leaves one ─▶ else of the chart ─▶ else of the site
 */
export interface SeriesCurrency {
  /** The only currency whose amounts count; undefined: every row has its own, or the series has no amounts. */
  readonly only: string | undefined;
  readonly isOfAmounts: boolean;
}

/** The currency of a series. */
export function currencyOf(
  { currency, filters, measured }: ChartSeries,
  query: ChartsQuery,
  siteCurrency: string,
): SeriesCurrency {
  if (measured?.kind !== 'amount') return { only: undefined, isOfAmounts: false };
  const named = currency ?? filteredCurrency([...filters, ...query.filters]) ?? query.currency;
  const only = isByCurrency(query) ? named : (named ?? siteCurrency);
  return { only, isOfAmounts: true };
}

/** True if the rows are broken down by currency. */
function isByCurrency({ breakdowns = [] }: ChartsQuery): boolean {
  return breakdowns.some(isCurrencyField);
}

function isCurrencyField(field: Field): boolean {
  return field.owner === 'event' && field.kind === 'text' && field.column === 'currency';
}

function filteredCurrency(filters: readonly Filter[]): string | undefined {
  for (const { field, test, negated } of filters) {
    if (!isCurrencyField(field) || negated || test.kind !== 'equal-text') continue;
    const [only = '', ...others] = test.values;
    if (others.length === 0 && isCurrency(only)) return only;
  }
  return undefined;
}

/** Returns the currency of a formula, which all its series of amounts share. Throws a `RejectError` if they differ. */
export function currencyOfFormula(formula: string, currencies: readonly SeriesCurrency[]): SeriesCurrency {
  const amounts = currencies
    .map((currency, index) => ({ ...currency, letter: letterOf(index) }))
    .filter(({ isOfAmounts, letter }) => isOfAmounts && refersTo(formula, letter));
  const [first] = amounts;
  if (first === undefined) return { only: undefined, isOfAmounts: false };
  const other = amounts.find(({ only }) => only !== first.only);
  if (other === undefined) return { only: first.only, isOfAmounts: true };
  const parts = [first, other].map(({ letter, only = 'every currency' }) => `${letter} is in ${only}`);
  const message = `formula: ${parts.join(' and ')}; amounts of different currencies cannot be combined`;
  throw new RejectError('invalid', message);
}

/** The currency of the row with these breakdown values; undefined if it has no amounts. */
export function currencyOfRow(
  { only, isOfAmounts }: SeriesCurrency,
  { breakdowns = [] }: ChartsQuery,
  names: readonly string[],
): string | undefined {
  if (!isOfAmounts || only !== undefined) return only;
  return names[breakdowns.findIndex(isCurrencyField)] || undefined;
}

/** The figures of all rows: first in the main currency, or none if the rows have several; then in each currency. */
export function metricsByCurrency(
  rows: readonly ChartRow[],
  mainCurrency: string,
  metricsOf: (rows: readonly ChartRow[]) => ChartMetrics,
): { readonly metrics: ChartMetrics; readonly metricsByCurrency?: Record<string, ChartMetrics> } {
  const currencies = [...new Set(rows.flatMap(({ event }) => event.currency ?? []))].sort();
  if (currencies.length < 2) return { metrics: metricsOf(rows) };
  const within = (...wanted: readonly (string | undefined)[]) =>
    metricsOf(rows.filter(({ event }) => wanted.includes(event.currency)));
  return {
    metrics: within(undefined, mainCurrency),
    metricsByCurrency: Object.fromEntries(currencies.map((currency) => [currency, within(currency)])),
  };
}
