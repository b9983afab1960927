import type { StoreParameters } from '../../infra/store/store.ts';
import { amountText } from '../../processor/event-export.ts';
import { SESSION_VISITOR } from '../../processor/rows.ts';
import { coordinateText, idText, numberText } from '../filters/compile.ts';
import type { RowField } from '../filters/names.ts';
import { SPANS_PROFILES } from '../sql/rollup-texts.ts';
import { isAverage, type Segment } from './chart-fields.ts';
import type { ChartSeries } from './charts-api.ts';

/**
 * The SQL that computes a series. Events without a measurable value do not count. All SQL text is our own; keys are
 * bound.
 */
export interface ChartStatement {
  /** For `$COLUMNS$`: `measured`, `isMeasured`, the columns that `rows` needs, and the breakdown values. */
  readonly columns: string;
  /** For `$ROWS$`: the input of the figures, from measurable events, with `names`, `isCurrent` and `edge`. */
  readonly rows: string;
  /** For `$FIGURE$`: aggregates the rows of a bucket or period to a Float64. */
  readonly figure: string;
  /** The parameters of `columns`. */
  readonly parameters: StoreParameters;
}

/** A series to compute. */
interface Measured extends Pick<ChartSeries, 'segment' | 'measured'> {
  /** Only amounts in this currency are measurable; undefined: all, each in its own. */
  readonly currency: string | undefined;
}

type Measure = Pick<ChartStatement, 'columns' | 'rows' | 'figure'>;

/** The visitor of the event itself. `BY_VISITOR` uses the visitor of its session. */
const VISITOR = `sessionId, ${SESSION_VISITOR} AS measured, 1 AS isMeasured`;
const BY_VISITOR = `(
        SELECT * REPLACE (if(sessionProfile != '', sessionProfile, measured) AS measured)
        FROM measurable
        ANY LEFT JOIN ${SPANS_PROFILES} AS named USING (sessionId)
        WHERE measured != ''
    )`;

/** The number of distinct values. */
const DIFFERENT = 'toFloat64(uniqExactMerge(distinctState))';

/**
 * Builds the statement of a series with its breakdowns. `isRounded`: rounds averages to two decimals in the store, so that the
 * greatest sums are computed from the shown figures.
 */
export function chartStatement(
  { segment, measured, currency }: Measured,
  breakdowns: readonly RowField[],
  { isRounded }: { readonly isRounded: boolean },
): ChartStatement {
  const { columns, figure, ...measure } = measureOf(segment, numberOf(measured, currency));
  const names = namesOf(breakdowns);
  return {
    ...measure,
    figure: isRounded && isAverage(segment) ? twoDecimalsText(figure) : figure,
    columns: `${columns}, ${segment === 'one_event_per_user' ? `${names.text} AS combinations` : `${names.each} AS names`}`,
    parameters: {
      ...names.parameters,
      ...(measured?.kind === 'property' ? { measuredKey: measured.key } : {}),
      ...(currency === undefined ? {} : { measuredCurrency: currency }),
    },
  };
}

/** The number that `property_` segments measure in an event, and its sum as a Float64. */
interface Measurable {
  readonly number: string;
  readonly sum: string;
}

function measureOf(segment: Segment, { number, sum }: Measurable): Measure {
  switch (segment) {
    case 'event':
      return ofNumbers('toFloat64(1)', 'toFloat64(count())');
    case 'user':
      return ofDifferent(VISITOR, DIFFERENT, BY_VISITOR);
    case 'user_average':
      return ofDifferent(VISITOR, 'sum(events) / uniqExactMerge(distinctState)', BY_VISITOR);
    case 'session':
      return ofDifferent("sessionId AS measured, measured != toFixedString('', 16) AS isMeasured", DIFFERENT);
    case 'group':
      return ofDifferent("arrayJoin(groups) AS measured, measured != '' AS isMeasured", DIFFERENT);
    case 'one_event_per_user':
      return OF_FIRSTS;
    case 'property_sum':
      return ofNumbers(number, sum);
    case 'property_average':
      return ofNumbers(number, `${sum} / count()`);
    case 'property_max':
      return ofNumbers(number, 'toFloat64(max(number))');
    case 'property_min':
      return ofNumbers(number, 'toFloat64(min(number))');
  }
}

/** Rounds like `twoDecimals` of figures.ts. */
function twoDecimalsText(figure: string): string {
  return `if(abs(${figure}) < 9e13, floor((${figure}) * 100 + 0.5) / 100, ${figure})`;
}

/** `figure` aggregates the `number` of each event that has one. */
function ofNumbers(text: string, figure: string): Measure {
  return {
    columns: `${text} AS measured, isNotNull(measured) AS isMeasured`,
    rows: 'SELECT names, isCurrent, edge, assumeNotNull(measured) AS number FROM measurable',
    figure,
  };
}

/** `figure` aggregates `distinctState`, the distinct values of each bucket, and `events`. */
function ofDifferent(columns: string, figure: string, from = 'measurable'): Measure {
  return {
    columns,
    rows: `SELECT names, isCurrent, edge, count() AS events, uniqExactState(measured) AS distinctState
        FROM ${from} GROUP BY names, isCurrent, edge`,
    figure,
  };
}

/**
 * The first event of each visitor in each of the two periods, ties by id. Its own fields are the breakdown values, so
 * they are expanded only after the first event is known.
 */
const OF_FIRSTS: Measure = {
  columns: `createdAt, id, ${VISITOR}`,
  rows: `SELECT isCurrent, first.1 AS edge, arrayJoin(first.2) AS names
        FROM
        (
            SELECT isCurrent, argMin((edge, combinations), (createdAt, id)) AS first
            FROM ${BY_VISITOR} GROUP BY isCurrent, measured
        )`,
  figure: 'toFloat64(count())',
};

/** The number to aggregate of an event; null if the value is not a number, or an amount in another currency. */
function numberOf(measured: RowField | undefined, currency: string | undefined): Measurable {
  // Kahan summation keeps the error of a long sum within the error of its last addition.
  if (measured?.kind === 'property')
    return { number: numberText('properties[{measuredKey:String}]'), sum: 'sumKahan(number)' };
  // Decimals add up exactly.
  const amount = amountText('revenue', 'currency', 'toDecimal128');
  return {
    number: currency === undefined ? amount : `if(currency = {measuredCurrency:String}, ${amount}, NULL)`,
    sum: 'toFloat64(sum(number))',
  };
}

interface Names {
  /** The breakdown values of an event, `Array(String)`. A field that is a list gives one row for each element. */
  readonly each: string;
  /** The breakdown values of all rows of an event, `Array(Array(String))`. */
  readonly text: string;
  readonly parameters: StoreParameters;
}

/** An event has one row for each of its groups. No other field is a list, and no field occurs twice. */
function namesOf(breakdowns: readonly RowField[]): Names {
  const values = breakdowns.map(valueText);
  const list = breakdowns.find(({ kind }) => kind === 'list');
  const single = `CAST([${values.join(', ')}], 'Array(String)')`;
  const keys = breakdowns.map((field, index) => [
    `breakdownKey${index}`,
    field.kind === 'property' ? field.key : '',
  ]);
  const text =
    list === undefined
      ? `[${single}]`
      : `arrayMap(element -> ${single}, if(empty(groups), [''], arrayDistinct(groups)))`;
  const each = list === undefined ? single : `arrayJoin(${text})`;
  return {
    // The store does not group by a constant as it does by a column.
    each: values.length === 0 ? `materialize(${single})` : each,
    text,
    parameters: Object.fromEntries(keys),
  };
}

/** The breakdown value as text; empty if there is none. A property is bound as `breakdownKey`, with the index behind it. */
export function valueText(field: RowField, index: number): string {
  switch (field.kind) {
    case 'property':
      return `properties[{breakdownKey${index}:String}]`;
    case 'text':
      return `CAST(${field.column}, 'String')`;
    case 'id':
      return idText(field.column);
    case 'list':
      return 'element';
    case 'time':
      return `concat(replaceOne(toString(${field.column}), ' ', 'T'), 'Z')`;
    case 'coordinate':
      return orEmpty(coordinateText('', field.column));
    case 'amount':
      return orEmpty(amountText('revenue', 'currency'));
  }
}

function orEmpty(number: string): string {
  return `ifNull(toString(${number}), '')`;
}
