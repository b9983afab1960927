import type { StoredId } from '../../infra/accounts/ids.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { exportConditions } from '../filters/insight-conditions.ts';
import type { RowField } from '../filters/names.ts';
import { RejectError } from '../reject.ts';
import type { History } from '../snapshot/history.ts';
import { openSeam, type QuestionScope, requestedRange, type Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { type Bucket, bucketsOf } from '../time/buckets.ts';
import type { Range, RangeQuestion } from '../time/range.ts';
import {
  currencyOf,
  currencyOfFormula,
  currencyOfRow,
  metricsByCurrency,
  type SeriesCurrency,
} from './chart-currency.ts';
import { ANY_EVENT, isAverage, letterOf } from './chart-fields.ts';
import { type Combination, chartRows, computedCombinations, totalMetrics } from './chart-rows.ts';
import { chartStatement } from './chart-statement.ts';
import type { ChartRow, ChartSeries, ChartsAnswer, ChartsQuery } from './charts-api.ts';
import { divides, type Formula, FormulaError, parseFormula, refersTo } from './formula.ts';

/** The maximum number of figures read and returned: one for each bucket of each row of each series. */
const POINTS_MAX = 500_000;
/**
 * The maximum number of rows per series for a formula, which is evaluated for all rows before the greatest are known.
 */
const COMBINATIONS_MAX = 10_000;
/** Maximum number of queued or running statements of one request, so other requests for the site proceed. */
const CONCURRENT_STATEMENTS = 4;

/** The buckets of the range, and of the previous period if it is requested. */
interface ChartSpans {
  readonly range: Range;
  readonly buckets: readonly Bucket[];
  readonly previous: readonly Bucket[];
}

/** The parts of a chart that must be known before its rows are read. */
interface ChartPlan {
  readonly formula: Formula | undefined;
  readonly spans: ChartSpans;
  /** One for each series. */
  readonly currencies: readonly SeriesCurrency[];
  readonly ofFormula: SeriesCurrency;
  /** The greatest `limit` for this many series and buckets. */
  readonly limitMax: number;
}

/** `GET /export/charts`. Rejects without the store; with `partial` it responds without unreachable owners. */
export async function answerCharts(
  sources: Sources,
  scope: QuestionScope,
  query: ChartsQuery,
): Promise<ChartsAnswer> {
  const plan = planChart(query, scope);
  const { formula, spans, currencies, ofFormula } = plan;
  const rowsMax = rowsMaxOf(query, plan);
  const seam = await openSeam(sources, scope, query);
  const question = { site: scope.site.storedId, query, spans, rowsMax };
  const found = await inBatches(query.series, (series, index) =>
    askSeries(sources.history, seam, question, { ...series, currency: currencies[index]?.only }),
  );
  const dates = spans.buckets.map(({ label }) => label);
  const isOfAverages = averagesOf(query);
  const rowsOf = (
    event: ChartRow['event'],
    combinations: readonly Combination[],
    currency: SeriesCurrency | undefined,
  ) =>
    chartRows(
      combinations.filter(({ isCurrent, names }) => isCurrent || names.length === 0),
      {
        ...{ event, dates, showsPrevious: query.previous, isAverage: isOfAverages(event) },
        currencyOf: (names) => currency && currencyOfRow(currency, query, names),
      },
      query.limit,
    );
  const series =
    formula === undefined
      ? query.series.flatMap((one, index) =>
          rowsOf(eventOf(one, index), found[index] ?? [], currencies[index]),
        )
      : rowsOf(
          { id: 'formula', name: query.formula ?? '' },
          computedCombinations(formula, found, {
            current: spans.buckets.length,
            previous: spans.previous.length,
          }),
          ofFormula,
        );
  const metrics = metricsByCurrency(series, query.currency ?? scope.site.currency, (rows) =>
    totalMetrics(rows, query.previous),
  );
  return { series, ...metrics, ...(seam.partial ? { partial: true as const } : {}) };
}

/** Plans a chart. Throws a `RejectError` that names the parameter if the parameters do not fit together. */
export function planChart(query: ChartsQuery, scope: QuestionScope): ChartPlan {
  const formula = formulaOf(query);
  const spans = spansOf(query, scope);
  const { series, breakdowns = [] } = query;
  const currencies = series.map((each) => currencyOf(each, query, scope.site.currency));
  const ofFormula = currencyOfFormula(query.formula ?? '', currencies);
  const columns = series.length * (spans.buckets.length + spans.previous.length);
  const limitMax = breakdowns.length === 0 ? Number.POSITIVE_INFINITY : Math.floor(POINTS_MAX / columns);
  return { formula, spans, currencies, ofFormula, limitMax };
}

function formulaOf({ formula, series }: ChartsQuery): Formula | undefined {
  if (formula === undefined) return undefined;
  try {
    return parseFormula(formula, series.length);
  } catch (error) {
    if (!(error instanceof FormulaError)) throw error;
    throw new RejectError('invalid', `formula: ${error.message}`, error);
  }
}

/**
 * Returns a test for rows that are averages or rates. A formula's rows are if it divides or refers to a series of averages; it is
 * computed from unrounded figures.
 */
function averagesOf({ formula, series }: ChartsQuery): (event: ChartRow['event']) => boolean {
  const isOfFormula =
    formula !== undefined &&
    (divides(formula) ||
      series.some(({ segment }, index) => isAverage(segment) && refersTo(formula, letterOf(index))));
  return ({ segment }) => (segment === undefined ? isOfFormula : isAverage(segment));
}

/** The range of a chart, with the default of charts. */
export function chartRange({ range, startDate, endDate, interval }: ChartsQuery): RangeQuestion {
  const isDated = startDate !== undefined || endDate !== undefined;
  return { range: range ?? (isDated ? undefined : '30d'), startDate, endDate, interval };
}

function spansOf(query: ChartsQuery, scope: QuestionScope): ChartSpans {
  const found = requestedRange(chartRange(query), scope);
  const previous = query.previous ? bucketsOf(found.previous, found.interval, scope.zone) : [];
  if (previous === undefined) {
    const message = `interval: the previous period has too many buckets of one ${found.interval}`;
    throw new RejectError('invalid', message);
  }
  return { range: found, buckets: found.buckets, previous };
}

/** The number of rows to read per series; throws a `RejectError` if the response would be too large. */
function rowsMaxOf({ breakdowns = [], formula, limit }: ChartsQuery, { limitMax }: ChartPlan): number {
  if (breakdowns.length === 0) return 1;
  if (limit > limitMax) {
    const message = `limit: expected at most ${limitMax} with this many series and buckets; request fewer or a longer interval`;
    throw new RejectError('invalid', message);
  }
  return formula === undefined ? limit : Math.min(limitMax, COMBINATIONS_MAX);
}

interface SeriesQuestion {
  readonly site: StoredId;
  readonly query: ChartsQuery;
  readonly spans: ChartSpans;
  readonly rowsMax: number;
}

/** The combinations of a series, or the greatest ones; without breakdowns there is always exactly one. */
async function askSeries(
  history: Pick<History, 'ask'>,
  seam: Seam,
  { site, query, spans, rowsMax }: SeriesQuestion,
  series: ChartSeries,
): Promise<Combination[]> {
  const { range, buckets, previous } = spans;
  const breakdowns: readonly RowField[] = query.breakdowns ?? [];
  const filters = [...query.filters, ...series.filters];
  const { parameters, ...conditions } = exportConditions(filters, {
    span: range.span,
    ...(query.previous ? { previous: range.previous } : {}),
  });
  const { parameters: statementParameters, ...statement } = chartStatement(series, breakdowns, {
    isRounded: query.formula === undefined,
  });
  const isWhole = query.formula !== undefined && breakdowns.length > 0;
  const bound = {
    ...parameters,
    ...statementParameters,
    site,
    from: range.span.fromMs,
    to: range.span.toMs,
    // An empty span reads nothing.
    previousFrom: range.previous.fromMs,
    previousTo: query.previous ? range.previous.toMs : range.previous.fromMs,
    edges: [...previous, ...buckets].map(({ fromMs }) => fromMs),
    event: series.name,
    anyEvent: ANY_EVENT,
    synthetic: [SESSION_START, SESSION_END],
    rows: isWhole ? rowsMax + 1 : rowsMax,
  };
  const texts = { ...statement, ...conditions };
  const rows = await history.ask({ name: 'export-charts', parameters: bound, texts }, seam);
  if (rows.length > rowsMax) {
    const message = `breakdowns: more than ${rowsMax} combinations for a formula; add filters or request fewer buckets`;
    throw new RejectError('too-large', message);
  }
  const found = rows.length === 0 && breakdowns.length === 0 ? [NOTHING] : rows;
  return found.map((row) => combinationOf(row, spans));
}

type CombinationRow = AnswerRow<'export-charts'>;
const NOTHING: CombinationRow = { names: [], whole: 0, wholeBefore: 0, edges: [], figures: [] };

function combinationOf(row: CombinationRow, { range, buckets, previous }: ChartSpans): Combination {
  const byEdge = new Map(row.edges.map((edge, index) => [edge, row.figures[index] ?? 0]));
  const figuresOf = (of: readonly Bucket[]) => of.map(({ fromMs }) => byEdge.get(fromMs) ?? 0);
  return {
    names: row.names,
    current: { buckets: figuresOf(buckets), whole: row.whole },
    previous: { buckets: figuresOf(previous), whole: row.wholeBefore },
    isCurrent: row.edges.some((edge) => edge >= range.span.fromMs),
  };
}

function eventOf({ name, segment, property }: ChartSeries, index: number): ChartRow['event'] {
  return {
    id: letterOf(index),
    name,
    segment,
    ...(property === undefined ? {} : { property }),
  };
}

/** Runs `work` for each element, in batches of `CONCURRENT_STATEMENTS`, and returns the results in order. */
async function inBatches<One, Result>(
  all: readonly One[],
  work: (one: One, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < all.length; from += CONCURRENT_STATEMENTS)
    results.push(
      ...(await Promise.all(
        all.slice(from, from + CONCURRENT_STATEMENTS).map((one, index) => work(one, from + index)),
      )),
    );
  return results;
}
