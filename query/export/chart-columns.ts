import type { StoreParameters } from '../../infra/store.ts';
import { amountText } from '../../processor/amount-text.ts';
import { coordinateText, idText, numberText } from '../filters/compile.ts';
import type { Field } from '../filters/names.ts';
import type { Segment } from './chart-fields.ts';
import type { ChartSeries } from './charts-api.ts';

/**
 * What a statement about a series reads of each event, and what it makes of it. Three statements answer all segments:
 *
 *     export-charts-values     event, property_…            `measured` is a number
 *     export-charts-distinct   user, user_average, session, group   `measured` is told apart
 *     export-charts-first      one_event_per_user           the first event of each visitor
 *
 * In each an event that has nothing to be measured counts for nothing. All text is our own: keys are bound.
 */
export interface ChartStatement {
  readonly question: 'export-charts-values' | 'export-charts-distinct' | 'export-charts-first';
  /** For `$COLUMNS$`. */
  readonly columns: string;
  /** Which figure is made of what is measured. */
  readonly figure: 'count' | 'average' | 'sum' | 'max' | 'min';
  /** What the columns bind. */
  readonly parameters: StoreParameters;
}

const VISITOR = "if(profileId != '', profileId, deviceId) AS measured, measured != '' AS isMeasured";

/** The statement for a series that is told apart by `breakdowns`. */
export function chartStatement(
  { segment, measured }: Pick<ChartSeries, 'segment' | 'measured'>,
  breakdowns: readonly Field[],
): ChartStatement {
  const names = namesOf(breakdowns);
  const statement = measuring(segment, measured);
  const isFirst = statement.question === 'export-charts-first';
  // The rows of groups come of an event only once it is known to be the first.
  const told = isFirst ? `${names.text} AS combinations` : `arrayJoin(${names.text}) AS names`;
  return {
    ...statement,
    columns: `${statement.columns}, ${isFirst || names.isList ? told : `${names.single} AS names`}`,
    parameters: { ...statement.parameters, ...names.parameters },
  };
}

function measuring(segment: Segment, measured: Field | undefined): ChartStatement {
  const key = measured?.kind === 'property' ? { measuredKey: measured.key } : {};
  const values = (figure: ChartStatement['figure'], number: string): ChartStatement => ({
    question: 'export-charts-values',
    columns: `${number} AS measured, isNotNull(measured) AS isMeasured`,
    figure,
    parameters: key,
  });
  const distinct = (figure: ChartStatement['figure'], columns: string): ChartStatement => ({
    question: 'export-charts-distinct',
    columns,
    figure,
    parameters: {},
  });
  switch (segment) {
    case 'event':
      return values('count', 'toFloat64(1)');
    case 'user':
      return distinct('count', VISITOR);
    case 'user_average':
      return distinct('average', VISITOR);
    case 'session':
      return distinct('count', "sessionId AS measured, measured != toFixedString('', 16) AS isMeasured");
    case 'group':
      return distinct('count', "arrayJoin(groups) AS measured, measured != '' AS isMeasured");
    case 'one_event_per_user':
      return { question: 'export-charts-first', columns: VISITOR, figure: 'count', parameters: {} };
    case 'property_sum':
      return values('sum', readNumber(measured));
    case 'property_average':
      return values('average', readNumber(measured));
    case 'property_max':
      return values('max', readNumber(measured));
    case 'property_min':
      return values('min', readNumber(measured));
  }
}

function readNumber(measured: Field | undefined): string {
  return measured?.kind === 'property'
    ? numberText('properties[{measuredKey:String}]')
    : amountText('revenue', 'currency');
}

interface Names {
  /** The values of an event, `Array(String)`, where none of its fields is a list. */
  readonly single: string;
  /** Those of all rows that an event belongs to, `Array(Array(String))`. */
  readonly text: string;
  readonly isList: boolean;
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
  return {
    single: values.length === 0 ? `materialize(${single})` : single,
    text:
      list === undefined
        ? `[${single}]`
        : `arrayMap(element -> ${single}, if(empty(groups), [''], arrayDistinct(groups)))`,
    isList: list !== undefined,
    parameters: Object.fromEntries(keys),
  };
}

/** The text by which rows are told apart; empty where there is nothing. */
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
