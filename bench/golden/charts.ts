import type { Segment } from '../../query/export/chart-fields.ts';
import type { ChartFigures, ChartRow, ChartsAnswer } from '../../query/export/charts-api.ts';
import { type AskedFilter, camelCase, holds, numberOf, valuesOf } from './filters.ts';
import { byBytes, byTime, groupsOf, type SiteModel, visitorsOf } from './model.ts';
import {
  type AskedRange,
  type Bucket,
  bucketsOf,
  isIn,
  type Parameters,
  rangeOf,
  type Span,
} from './ranges.ts';
import type { Row } from './rows.ts';

/** The answer of `/export/charts`, computed from the rows only. */

/** Formulas that are sent, and their meaning. */
export const FORMULAS: Readonly<Record<string, (values: readonly number[]) => number>> = {
  'A / B * 100': ([a = 0, b = 0]) => (b === 0 ? 0 : a / b) * 100,
  '(A - B) / (A + B)': ([a = 0, b = 0]) => (a + b === 0 ? 0 : (a - b) / (a + b)),
  '-A + 2.5*B': ([a = 0, b = 0]) => -a + 2.5 * b,
};

interface Series {
  readonly name: string;
  readonly segment?: Segment;
  readonly property?: string;
  readonly filters?: readonly AskedFilter[];
}

/** A row of a chart before formatting: the figures of the buckets and of the whole, for both spans. */
interface Line {
  readonly names: readonly string[];
  readonly now: readonly number[];
  readonly nowWhole: number;
  readonly before: readonly number[];
  readonly beforeWhole: number;
  readonly isNow: boolean;
}

const POINTS_MAX = 500_000;
const COMPUTED_MAX = 10_000;

/** The range of a chart: 30d where none is given. */
export function chartRangeOf(
  parameters: Parameters,
  calendar: SiteModel['calendar'],
  nowMs: number,
): AskedRange {
  const isUnnamed = parameters.range === undefined && parameters.startDate === undefined;
  return rangeOf(isUnnamed ? { ...parameters, range: '30d' } : parameters, calendar, nowMs);
}

/** Undefined where the answer would be too large, or a formula over several currencies. */
export function chartAnswer(
  model: SiteModel,
  parameters: Parameters,
  filters: readonly AskedFilter[],
  nowMs: number,
): ChartsAnswer | undefined {
  const { span, previous, interval } = chartRangeOf(parameters, model.calendar, nowMs);
  const showsPrevious = parameters.previous === 'true';
  const buckets = bucketsOf(span, interval, model.calendar);
  const bucketsBefore = showsPrevious ? bucketsOf(previous, interval, model.calendar) : [];
  if (buckets === undefined || bucketsBefore === undefined) return undefined;
  const series: Series[] = JSON.parse(String(parameters.series));
  const breakdowns: { readonly name: string }[] = JSON.parse(String(parameters.breakdowns ?? '[]'));
  const limit = Number(parameters.limit ?? 50);
  const most = Math.floor(POINTS_MAX / (series.length * (buckets.length + bucketsBefore.length)));
  const isTold = breakdowns.length > 0;
  const text = parameters.formula === undefined ? undefined : String(parameters.formula);
  const currencyAt = breakdowns.findIndex(({ name }) => name === 'currency');
  const currencies = series.map((one) => amountsOf(one, filters, currencyAt === -1 ? model.currency : EACH));
  const named = currencies.filter(
    (one, index) => one !== undefined && text?.includes('ABCDEF'.charAt(index)),
  );
  if (new Set(named).size > 1) return undefined;
  if (isTold && limit > most) return undefined;

  const lines = series.map((one, index) => {
    const currency = currencies[index] ?? EACH;
    const held = heldRows(model, one, filters).filter(
      ({ event }) => currency === EACH || event.currency === currency,
    );
    const spans = { now: { span, buckets }, before: { span: previous, buckets: bucketsBefore } };
    const found = linesOf(one, held, { names: breakdowns.map(({ name }) => name), model, ...spans });
    // A series without breakdown always has a line.
    return isTold || found.length > 0 ? found : [nothing(buckets, bucketsBefore)];
  });
  const isAverage = ({ segment }: ChartRow['event']) =>
    segment === undefined ? isFormulaOfAverages(String(parameters.formula), series) : isMean(segment);
  const rowsOf = (of: readonly Line[], event: ChartRow['event'], currency: string | undefined) =>
    of
      .filter(({ isNow }) => isNow || !isTold)
      .map((line) => ({
        line,
        row: rowOf(
          roundedLine(line, isAverage(event)),
          withCurrency(event, currency === EACH ? line.names[currencyAt] : currency),
          { buckets, showsPrevious },
        ),
      }))
      .sort((a, b) => b.row.metrics.sum - a.row.metrics.sum || byNames(a.line, b.line))
      .slice(0, limit)
      .map(({ row }) => row);
  if (isTold && text !== undefined && lines.some(({ length }) => length > Math.min(most, COMPUTED_MAX)))
    return undefined;
  const rows =
    text === undefined
      ? series.flatMap((one, index) => rowsOf(lines[index] ?? [], eventOf(one, index), currencies[index]))
      : rowsOf(computed(lines, text), { id: 'formula', name: text }, named[0]);
  const total = (of: readonly ChartRow[]) => {
    const before = of.flatMap(({ metrics }) => metrics.previous ?? []);
    const now = together(of.map(({ metrics }) => metrics));
    return showsPrevious ? { ...now, previous: together(before) } : now;
  };
  const codes = new Set(rows.flatMap(({ event }) => event.currency ?? []));
  if (codes.size < 2) return { series: rows, metrics: total(rows) };
  const inCurrency = (code: string) => rows.filter(({ event }) => event.currency === code);
  return {
    series: rows,
    metrics: total(rows.filter(({ event }) => [undefined, model.currency].includes(event.currency))),
    metricsByCurrency: Object.fromEntries([...codes].map((code) => [code, total(inCurrency(code))])),
  };
}

/** An event without currency has none in its row. */
function withCurrency(event: ChartRow['event'], currency: string | undefined): ChartRow['event'] {
  return currency ? { ...event, currency } : event;
}

/** Every currency, in rows of its own. */
const EACH = 'each';

/** The currency of a series of revenue; undefined for other series. */
function amountsOf(
  { property, filters: own = [] }: Series,
  filters: readonly AskedFilter[],
  usual: string,
): string | undefined {
  if (property !== 'revenue') return undefined;
  const named = [...own, ...filters].find(
    ({ name, operator, value }) =>
      name === 'currency' && operator === 'is' && value?.length === 1 && /^[A-Z]{3}$/.test(String(value[0])),
  );
  return named === undefined ? usual : String(named.value?.[0]);
}

function heldRows(
  { rows, records }: SiteModel,
  { name, filters: own = [] }: Series,
  filters: readonly AskedFilter[],
): Row[] {
  return rows.filter(
    (row) =>
      (name === '*' ? !row.isSynthetic : row.event.name === name) &&
      holds([...filters, ...own], row, records),
  );
}

interface Timed {
  readonly span: Span;
  readonly buckets: readonly Bucket[];
}

function linesOf(
  series: Series,
  rows: readonly Row[],
  of: {
    readonly names: readonly string[];
    readonly model: SiteModel;
    readonly now: Timed;
    readonly before: Timed;
  },
): Line[] {
  const places = [of.now, of.before].flatMap(({ span, buckets }, index) =>
    buckets.length === 0
      ? []
      : counted(
          series,
          rows.filter(({ atMs }) => isIn(span, atMs)),
        ).flatMap((row) =>
          namesOf(row, of.names, of.model).map((names) => ({ names, row, isNow: index === 0 })),
        ),
  );
  return groupsOf(places, ({ names }) => names).map(({ key, members }) => {
    const now = members.flatMap(({ row, isNow }) => (isNow ? [row] : []));
    const before = members.flatMap(({ row, isNow }) => (isNow ? [] : [row]));
    return {
      names: key,
      now: of.now.buckets.map((bucket) => figureOf(series, within(now, bucket))),
      nowWhole: figureOf(series, now),
      before: of.before.buckets.map((bucket) => figureOf(series, within(before, bucket))),
      beforeWhole: figureOf(series, before),
      isNow: now.length > 0,
    };
  });
}

function within(rows: readonly Row[], bucket: Span): readonly Row[] {
  return rows.length === 0 ? rows : rows.filter(({ atMs }) => isIn(bucket, atMs));
}

/** The rows that count for a segment. */
function counted({ segment = 'event', property = '' }: Series, rows: readonly Row[]): readonly Row[] {
  if (segment === 'session') return rows.filter(({ event }) => event.sessionId !== '');
  if (segment === 'group') return rows.filter(({ event }) => event.groups.length > 0);
  if (segment.startsWith('property_')) return rows.filter((row) => !Number.isNaN(measureOf(row, property)));
  if (segment === 'event') return rows;
  const known = rows.filter(({ visitor }) => visitor !== '');
  if (segment !== 'one_event_per_user') return known;
  // The newest come first by time, but ties by id keep their order.
  const first = new Map<string, Row>();
  for (const row of [...known].sort(byTime)) {
    const other = first.get(row.visitor);
    if (other === undefined || row.atMs < other.atMs) first.set(row.visitor, row);
  }
  return [...first.values()];
}

function measureOf({ event }: Row, property: string): number {
  if (property === 'revenue') return event.revenue ?? Number.NaN;
  const key = property.replace(/^properties\./, '');
  return Object.hasOwn(event.properties, key) ? numberOf(event.properties[key] ?? '') : Number.NaN;
}

function figureOf({ segment = 'event', property = '' }: Series, rows: readonly Row[]): number {
  if (rows.length === 0) return 0;
  const numbers = segment.startsWith('property_') ? rows.map((row) => measureOf(row, property)) : [];
  // No number that is sent has more than three decimals.
  const sum = () => numbers.reduce((whole, one) => whole + Math.round(one * 1000), 0) / 1000;
  switch (segment) {
    case 'event':
    case 'one_event_per_user':
      return rows.length;
    case 'user':
      return visitorsOf(rows);
    case 'user_average':
      return rows.length / visitorsOf(rows);
    case 'session':
      return new Set(rows.map(({ event }) => event.sessionId)).size;
    case 'group':
      return new Set(rows.flatMap(({ event }) => event.groups)).size;
    case 'property_sum':
      return sum();
    case 'property_average':
      return sum() / rows.length;
    case 'property_max':
      return Math.max(...numbers);
    case 'property_min':
      return Math.min(...numbers);
  }
}

/** The names of the lines that a row belongs to: for a field of several values one for each, once. */
function namesOf(row: Row, fields: readonly string[], { records }: SiteModel): string[][] {
  return fields.reduce<string[][]>(
    (lines, field) => {
      const values = new Set(valuesOf(camelCase(field), row, records).map(String));
      return lines.flatMap((names) =>
        [...(values.size === 0 ? [''] : values)].map((value) => [...names, value]),
      );
    },
    [[]],
  );
}

function nothing(buckets: readonly Bucket[], before: readonly Bucket[]): Line {
  const zeros = (of: readonly Bucket[]) => of.map(() => 0);
  return { names: [], now: zeros(buckets), nowWhole: 0, before: zeros(before), beforeWhole: 0, isNow: false };
}

function computed(series: readonly (readonly Line[])[], text: string): Line[] {
  const formula = FORMULAS[text];
  if (formula === undefined) throw new Error(`the model has no ${text}`);
  const [some] = series.flat();
  return groupsOf(series.flat(), ({ names }) => names).map(({ key }) => {
    const parts = series.map((lines) => lines.find(({ names }) => names.join('\n') === key.join('\n')));
    const along = (side: 'now' | 'before') =>
      (some?.[side] ?? []).map((_, index) => formula(parts.map((part) => part?.[side][index] ?? 0)));
    return {
      names: key,
      now: along('now'),
      nowWhole: formula(parts.map((part) => part?.nowWhole ?? 0)),
      before: along('before'),
      beforeWhole: formula(parts.map((part) => part?.beforeWhole ?? 0)),
      isNow: parts.some((part) => part?.isNow === true),
    };
  });
}

function eventOf({ name, segment = 'event', property }: Series, index: number): ChartRow['event'] {
  const event = { id: 'ABCDEF'.charAt(index), name, segment };
  return property === undefined ? event : { ...event, property };
}

function rowOf(
  { names, now, nowWhole, before, beforeWhole }: Line,
  event: ChartRow['event'],
  { buckets, showsPrevious }: { readonly buckets: readonly Bucket[]; readonly showsPrevious: boolean },
): ChartRow {
  const previous = (figures: object) => (showsPrevious ? figures : {});
  return {
    id: [event.id, ...names.map((name) => encodeURIComponent(name))].join(':'),
    names: names.length === 0 ? [event.name] : names.map((name) => (name === '' ? null : name)),
    event,
    metrics: { ...figuresOf(now, nowWhole), ...previous({ previous: figuresOf(before, beforeWhole) }) },
    data: buckets.map(({ label }, index) => ({
      date: label,
      count: digits(now[index] ?? 0),
      ...previous({ previous: digits(before[index] ?? 0) }),
    })),
  };
}

function isMean(segment: Segment | undefined): boolean {
  return segment === 'user_average' || segment === 'property_average';
}

function isFormulaOfAverages(text: string, series: readonly Series[]): boolean {
  return (
    text.includes('/') ||
    series.some(({ segment }, index) => isMean(segment) && text.includes('ABCDEF'.charAt(index)))
  );
}

function roundedLine(line: Line, isAverage: boolean): Line {
  const round = (figure: number) => (isAverage ? hundredths(figure) : digits(figure));
  return {
    ...line,
    now: line.now.map(round),
    nowWhole: round(line.nowWhole),
    before: line.before.map(round),
    beforeWhole: round(line.beforeWhole),
  };
}

function figuresOf(figures: readonly number[], whole: number): ChartFigures {
  const sum = added(figures);
  return {
    sum: digits(sum),
    average: hundredths(sum / Math.max(1, figures.length)),
    min: digits(Math.min(...figures)),
    max: digits(Math.max(...figures)),
    count: digits(whole),
  };
}

function together(all: readonly ChartFigures[]): ChartFigures {
  if (all.length === 0) return { sum: 0, average: 0, min: 0, max: 0, count: 0 };
  return {
    sum: digits(added(all.map(({ sum }) => sum))),
    average: hundredths(added(all.map(({ average }) => average)) / all.length),
    min: Math.min(...all.map(({ min }) => min)),
    max: Math.max(...all.map(({ max }) => max)),
    count: digits(added(all.map(({ count }) => count))),
  };
}

function added(numbers: readonly number[]): number {
  // No figure has more than four decimals.
  return numbers.reduce((sum, number) => sum + Math.round(number * 10_000), 0) / 10_000;
}

/** Rounds to the number of digits that a double can represent. */
function digits(number: number): number {
  return Number(number.toPrecision(15));
}

function hundredths(number: number): number {
  return Math.round(number * 100) / 100 || 0;
}

function byNames(a: Line, b: Line): number {
  return a.names.map((name, index) => byBytes(name, b.names[index] ?? '')).find((order) => order !== 0) ?? 0;
}
