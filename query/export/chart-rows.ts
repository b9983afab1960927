import { must } from '../../infra/assert.ts';
import { ratio, twoDecimals } from '../figures.ts';
import { byBytes } from '../rank-order.ts';
import type { ChartFigures, ChartMetrics, ChartRow } from './charts-api.ts';
import type { Formula } from './formula.ts';

const SUM_DIGITS = 14;
const FIXED_DECIMALS_MAX = 100;

/** The figures of one row in a period: one for each bucket in order, and one for the whole period. */
export interface SpanFigures {
  readonly buckets: readonly number[];
  readonly whole: number;
}

/** One combination of breakdown values with its figures. */
export interface Combination {
  /** Empty strings for unknown values; no names without breakdowns. */
  readonly names: readonly string[];
  readonly current: SpanFigures;
  readonly previous: SpanFigures;
  /** The range has an event with this combination, even if its figures are 0. */
  readonly isCurrent: boolean;
}

/** The labels of rows, and whether they show the previous period. */
export interface RowTraits {
  readonly event: ChartRow['event'];
  readonly dates: readonly string[];
  readonly showsPrevious: boolean;
  /** The currency of the row with these names; undefined if its figures are not amounts. */
  readonly currencyOf: (names: readonly string[]) => string | undefined;
  /** True if the figures are averages or rates, which have two decimals. */
  readonly isAverage: boolean;
}

/** Evaluates a formula for each combination that occurs in any of the series. */
export function computedCombinations(
  formula: Formula,
  series: readonly (readonly Combination[])[],
  lengths: { readonly current: number; readonly previous: number },
): Combination[] {
  const bySeries = series.map((combinations) => new Map(combinations.map((one) => [keyOf(one), one])));
  const all = new Map(series.flat().map((one) => [keyOf(one), one.names]));
  return [...all].map(([key, names]) => {
    const found = bySeries.map((combinations) => combinations.get(key));
    const computed = (span: 'current' | 'previous') => ({
      buckets: Array.from({ length: lengths[span] }, (_, index) =>
        formula(found.map((one) => one?.[span].buckets[index] ?? 0)),
      ),
      whole: formula(found.map((one) => one?.[span].whole ?? 0)),
    });
    return {
      names,
      current: computed('current'),
      previous: computed('previous'),
      isCurrent: found.some((one) => one?.isCurrent === true),
    };
  });
}

/** The rows of a series or formula: the greatest sum first, ties by the bytes of the names, at most `limit`. */
export function chartRows(
  combinations: readonly Combination[],
  { event, dates, showsPrevious, isAverage, currencyOf }: RowTraits,
  limit: number,
): ChartRow[] {
  const rounded = ({ buckets, whole }: SpanFigures): SpanFigures => {
    const figure = (number: number) => shown(isAverage ? twoDecimals(number) : number);
    return { buckets: buckets.map(figure), whole: figure(whole) };
  };
  return combinations
    .map(({ names, ...spans }) => ({
      names,
      current: rounded(spans.current),
      previous: rounded(spans.previous),
    }))
    .map((row) => ({ ...row, figures: figuresOf(row.current) }))
    .sort((a, b) => b.figures.sum - a.figures.sum || compareNames(a.names, b.names))
    .slice(0, limit)
    .map(({ names, current, previous, figures }) => ({
      id: [event.id, ...names.map(encodeURIComponent)].join(':'),
      names: names.length === 0 ? [event.name] : names.map((name) => (name === '' ? null : name)),
      event: withCurrency(event, currencyOf(names)),
      metrics: { ...figures, ...(showsPrevious ? { previous: figuresOf(previous) } : {}) },
      data: dates.map((date, index) => ({
        date,
        count: current.buckets[index] ?? 0,
        ...(showsPrevious ? { previous: previous.buckets[index] ?? 0 } : {}),
      })),
    }));
}

function withCurrency(event: ChartRow['event'], currency: string | undefined): ChartRow['event'] {
  return currency === undefined ? event : { ...event, currency };
}

/** The figures of all rows together. */
export function totalMetrics(rows: readonly ChartRow[], showsPrevious: boolean): ChartMetrics {
  const together = (figures: readonly ChartFigures[]): ChartFigures => ({
    sum: shown(sumOf(figures.map(({ sum }) => sum))),
    average: averageOf(figures.map(({ average }) => average)),
    min: least(figures.map(({ min }) => min)),
    max: greatest(figures.map(({ max }) => max)),
    count: shown(sumOf(figures.map(({ count }) => count))),
  });
  const before = () => rows.map(({ metrics }) => must(metrics.previous, 'a row shows the span before'));
  return {
    ...together(rows.map(({ metrics }) => metrics)),
    ...(showsPrevious ? { previous: together(before()) } : {}),
  };
}

/** The figures of a row, from its buckets as shown. */
function figuresOf({ buckets, whole }: SpanFigures): ChartFigures {
  return {
    sum: shown(sumOf(buckets)),
    average: averageOf(buckets),
    min: least(buckets),
    max: greatest(buckets),
    count: whole,
  };
}

function averageOf(numbers: readonly number[]): number {
  return shown(ratio(sumOf(numbers), numbers.length));
}

/**
 * The sum of decimal numbers, without the digits that only doubles add: they begin about fifteen digits after the first
 * digit of the greatest part, which may cancel out.
 */
function sumOf(numbers: readonly number[]): number {
  let sum = 0;
  let greatest = 0;
  for (const number of numbers) {
    sum += number;
    greatest = Math.max(greatest, Math.abs(number), Math.abs(sum));
  }
  const decimals = SUM_DIGITS - Math.ceil(Math.log10(greatest));
  return decimals >= 0 && decimals <= FIXED_DECIMALS_MAX ? Number(sum.toFixed(decimals)) : sum;
}

function least(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((a, b) => Math.min(a, b));
}

function greatest(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : numbers.reduce((a, b) => Math.max(a, b));
}

/**
 * Rounds to 15 digits, as many as a double represents of any decimal number: 0.3 instead of 0.30000000000000004, and no
 * -0.
 */
function shown(number: number): number {
  return Number(number.toPrecision(15));
}

function compareNames(a: readonly string[], b: readonly string[]): number {
  for (const [index, name] of a.entries()) {
    const order = byBytes(name, b[index] ?? '');
    if (order !== 0) return order;
  }
  return 0;
}

function keyOf({ names }: Combination): string {
  return JSON.stringify(names);
}
