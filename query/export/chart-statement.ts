import type { StoreParameters } from '../../infra/store/store.ts';
import { amountText } from '../../processor/event-export.ts';
import { coordinateText, idText, numberText } from '../filters/compile.ts';
import type { Field } from '../filters/names.ts';
import type { Segment } from './chart-fields.ts';
import type { ChartSeries } from './charts-api.ts';

/**
 * What the statement of a series reads of each event, and what it makes of it. An event that has nothing to be measured
 * counts for nothing. All text is our own: keys are bound.
 */
export interface ChartStatement {
  /** For `$COLUMNS$`: `measured`, `isMeasured`, what `rows` take besides, and the values of the breakdowns. */
  readonly columns: string;
  /** For `$ROWS$`: of the events that have something, what figures are made of, with `names`, `isCurrent` and `edge`. */
  readonly rows: string;
  /** For `$FIGURE$`: what is made of the rows of a bucket or a span, a Float64. */
  readonly figure: string;
  /** What the columns bind. */
  readonly parameters: StoreParameters;
}

type Measure = Pick<ChartStatement, 'columns' | 'rows' | 'figure'>;

const VISITOR = "if(profileId != '', profileId, deviceId) AS measured, measured != '' AS isMeasured";

/** How many are distinctState apart. */
const DIFFERENT = 'toFloat64(uniqExactMerge(distinctState))';

/** The statement for a series that is distinctState apart by `breakdowns`. */
export function chartStatement(
  { segment, measured }: Pick<ChartSeries, 'segment' | 'measured'>,
  breakdowns: readonly Field[],
): ChartStatement {
  const { columns, ...measure } = measureOf(segment, measured);
  const names = namesOf(breakdowns);
  return {
    ...measure,
    columns: `${columns}, ${segment === 'one_event_per_user' ? `${names.text} AS combinations` : `${names.each} AS names`}`,
    parameters: {
      ...names.parameters,
      ...(measured?.kind === 'property' ? { measuredKey: measured.key } : {}),
    },
  };
}

function measureOf(segment: Segment, measured: Field | undefined): Measure {
  switch (segment) {
    case 'event':
      return ofNumbers('toFloat64(1)', 'toFloat64(count())');
    case 'user':
      return ofDifferent(VISITOR, DIFFERENT);
    case 'user_average':
      return ofDifferent(VISITOR, 'sum(events) / uniqExactMerge(distinctState)');
    case 'session':
      return ofDifferent("sessionId AS measured, measured != toFixedString('', 16) AS isMeasured", DIFFERENT);
    case 'group':
      return ofDifferent("arrayJoin(groups) AS measured, measured != '' AS isMeasured", DIFFERENT);
    case 'one_event_per_user':
      return OF_FIRSTS;
    case 'property_sum':
      // The error of a long sum is not more than that of its last step.
      return ofNumbers(numberOf(measured), 'sumKahan(number)');
    case 'property_average':
      return ofNumbers(numberOf(measured), 'sumKahan(number) / count()');
    case 'property_max':
      return ofNumbers(numberOf(measured), 'max(number)');
    case 'property_min':
      return ofNumbers(numberOf(measured), 'min(number)');
  }
}

/** `figure` is made of the `number` of each event, where it has one. */
function ofNumbers(text: string, figure: string): Measure {
  return {
    columns: `${text} AS measured, isNotNull(measured) AS isMeasured`,
    rows: 'SELECT names, isCurrent, edge, assumeNotNull(measured) AS number FROM measurable',
    figure,
  };
}

/** `figure` is made of `distinctState`, the state of what is different in each bucket, and of its `events`. */
function ofDifferent(columns: string, figure: string): Measure {
  return {
    columns,
    rows: `SELECT names, isCurrent, edge, count() AS events, uniqExactState(measured) AS distinctState
        FROM measurable GROUP BY names, isCurrent, edge`,
    figure,
  };
}

/**
 * The first event of each visitor in each of the two spans, ties by id. The values of its own fields tell it apart, so they
 * come of an event only once it is known to be the first.
 */
const OF_FIRSTS: Measure = {
  columns: `createdAt, id, ${VISITOR}`,
  rows: `SELECT isCurrent, first.1 AS edge, arrayJoin(first.2) AS names
        FROM
        (
            SELECT isCurrent, argMin((edge, combinations), (createdAt, id)) AS first
            FROM measurable GROUP BY isCurrent, measured
        )`,
  figure: 'toFloat64(count())',
};

/** What is summed up of an event; null where it is no number. */
function numberOf(measured: Field | undefined): string {
  return measured?.kind === 'property'
    ? numberText('properties[{measuredKey:String}]')
    : amountText('revenue', 'currency');
}

interface Names {
  /** The values of an event, `Array(String)`; where a field of them is a list, this makes a row for each that it has. */
  readonly each: string;
  /** Those of all rows that an event belongs to, `Array(Array(String))`. */
  readonly text: string;
  readonly parameters: StoreParameters;
}

/** An event has one row for each of its groups; no field but these is a list, and none is asked for twice. */
function namesOf(breakdowns: readonly Field[]): Names {
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
    // A constant would not be distinctState apart as a column is.
    each: values.length === 0 ? `materialize(${single})` : each,
    text,
    parameters: Object.fromEntries(keys),
  };
}

/** The text by which rows are distinctState apart; empty where there is nothing. */
function valueText(field: Field, index: number): string {
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
