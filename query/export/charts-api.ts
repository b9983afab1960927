import { z } from 'zod';
import { isNestedDeeper, NESTING_MAX } from '../../infra/http/json-nesting.ts';
import { bucketDate, common, exportQuery, flag, metricsQuery, wholeNumber } from '../api.ts';
import { referencesInRange } from '../definitions/definitions-api.ts';
import { type Filter, readFilters } from '../filters/filter.ts';
import { fieldOf, type RowField } from '../filters/names.ts';
import { RejectError } from '../reject.ts';
import {
  breakdownField,
  breakdownList,
  currencyField,
  formulaField,
  isAboutProperty,
  listOfSeries,
  SEGMENTS,
  type Segment,
  seriesField,
} from './chart-fields.ts';

/** CONTRACT of `GET /export/charts`: its parameters and response. */

const TEXT_MAX_BYTES = 65_536;
const ROWS_MAX = 500;
const ROWS = 50;

/** One requested series. */
export interface ChartSeries {
  readonly name: string;
  readonly filters: readonly Filter[];
  readonly segment: Segment;
  /** The field that a `property_` segment reads as a number. */
  readonly measured: RowField | undefined;
  /** The property as requested. */
  readonly property: string | undefined;
  /** The currency as requested. */
  readonly currency: string | undefined;
}

/** A parameter whose text is JSON. */
export const jsonText = z.string().transform((text, context): unknown => {
  if (Buffer.byteLength(text) > TEXT_MAX_BYTES) {
    context.addIssue({ code: 'custom', message: `expected at most ${TEXT_MAX_BYTES} bytes` });
    return z.NEVER;
  }
  if (isNestedDeeper(text)) {
    context.addIssue({ code: 'custom', message: `lists and objects are nested deeper than ${NESTING_MAX}` });
    return z.NEVER;
  }
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'expected a JSON array' });
    return z.NEVER;
  }
});

const chartSeries = seriesField.transform((given, context): ChartSeries => {
  const { name, segment, property, currency } = given;
  const measured = isAboutProperty(segment) ? measuredField(property ?? '') : undefined;
  if (isAboutProperty(segment) && measured === undefined)
    context.addIssue({
      code: 'custom',
      path: ['property'],
      message: 'expected a property key, properties.<key> or revenue',
    });
  return { name, filters: filtersOf(given.filters, context), segment, measured, property, currency };
});

const chartBreakdown = breakdownField.transform(({ name }, context): RowField => {
  const field = fieldOf(name);
  if (field?.owner === 'event') return field;
  context.addIssue({
    code: 'custom',
    path: ['name'],
    message: `${name.slice(0, 100)} is not an event field; break down by event fields only`,
  });
  return z.NEVER;
});

const chartBreakdowns = breakdownList.pipe(z.array(chartBreakdown)).superRefine((fields, context) => {
  const texts = fields.map((field) => JSON.stringify(field));
  const repeated = texts.findIndex((text, index) => texts.indexOf(text) < index);
  if (repeated === -1) return;
  const message = `is the same field as breakdowns.${texts.indexOf(texts[repeated] ?? '')}`;
  context.addIssue({ code: 'custom', path: [repeated, 'name'], message });
});

/** `GET /export/charts` */
export const chartsQuery = z.object({
  projectId: exportQuery.shape.projectId,
  project_id: exportQuery.shape.project_id,
  series: jsonText
    .pipe(listOfSeries(chartSeries))
    .describe(
      'A JSON array of 1 to 26 series. Each has the `name` of an event (`*` for every event) and optional `filters`, `segment`, `property` and `currency`. Formulas refer to them as A, B, C, … in order.',
    ),
  breakdowns: jsonText
    .pipe(chartBreakdowns)
    .optional()
    .describe(
      'A JSON array of up to 3 event fields to break each series down by, such as `[{"name":"country"}]`. Fields of `profile.` and `group.` records and facts of sessions are not supported. With `groups`, an event counts in the row of each of its groups.',
    ),
  currency: currencyField
    .optional()
    .describe(
      'The currency of series of `revenue` that name none themselves, by ISO 4217. Amounts in other currencies do not count. Default: that of a filter `currency` `is` one value, else that of the site. Broken down by `currency`, every currency has rows of its own.',
    ),
  range: common.range.describe(
    'A named period in the time zone of the site. Default: `30d`, or `custom` when dates are given.',
  ),
  startDate: common.startDate,
  endDate: common.endDate,
  interval: metricsQuery.shape.interval,
  previous: flag.describe(
    'Also return the figures of the previous period of the same length, matched bucket by bucket.',
  ),
  formula: formulaField
    .optional()
    .describe(
      'Arithmetic over the series, such as `A / B * 100`, computed for every bucket and for the whole range. Supports numbers, series letters, `+ - * /` and parentheses. Division by zero gives 0, and so does a result beyond 1e300. It is computed from figures that are not rounded. The result of a formula that divides, or refers to an average, has two decimals; write a small share in percent. The response then has the rows of the formula only. Maximum: 200 characters.',
    ),
  /** Filters apply to the fields of each event. */
  filters: common.filters.describe('A JSON array of filters that apply to every series.'),
  segment: common.segment,
  limit: wholeNumber(1, ROWS_MAX)
    .default(ROWS)
    .describe(
      'With breakdowns, the maximum number of rows per series, or of the formula. Rows with the greatest sum come first.',
    ),
  partial: common.partial,
});
export type ChartsQuery = z.output<typeof chartsQuery>;

const figures = {
  sum: z.number().describe('The sum of all buckets, as they are shown.'),
  average: z
    .number()
    .describe('The sum divided by the number of buckets, including empty ones. Two decimals.'),
  min: z.number().describe('The smallest bucket, including empty ones.'),
  max: z.number().describe('The largest bucket.'),
  count: z
    .number()
    .describe(
      'The figure computed over the whole range at once. It can differ from the sum: a visitor of two days counts once here and in two buckets. For a formula: computed from the counts of its series.',
    ),
};
const chartFigures = z.object(figures);
export type ChartFigures = z.output<typeof chartFigures>;

export const chartMetrics = z.object({
  ...figures,
  previous: chartFigures.optional().describe('With `previous=true`: the figures of the previous period.'),
});
export type ChartMetrics = z.output<typeof chartMetrics>;

export const chartRow = z.object({
  id: z.string().describe('An id that is stable for the same row of the same request.'),
  names: z
    .array(z.string().nullable())
    .describe(
      'The values of the breakdowns in order; null when unknown. Without breakdowns, the name of the event, or the formula.',
    ),
  event: z
    .object({
      id: z.string().describe('The letter of the series, or `formula`.'),
      name: z.string().describe('The name of the event, or the formula.'),
      segment: z.enum(SEGMENTS).optional().describe('The segment. Absent for a formula.'),
      property: z.string().optional().describe('The aggregated property, as requested.'),
      currency: z
        .string()
        .optional()
        .describe(
          'The currency of the amounts, by ISO 4217. Present for `revenue`, and for a formula that refers to such a series.',
        ),
    })
    .describe('The series that the row belongs to.'),
  metrics: chartMetrics,
  data: z
    .array(
      z.object({
        date: bucketDate,
        count: z
          .number()
          .describe(
            'The figure of the bucket. 0 when it is empty. Averages have two decimals: those of `user_average` and `property_average`, and of formulas that divide or refer to one of these. Other figures have up to 15 digits.',
          ),
        previous: z
          .number()
          .optional()
          .describe('With `previous=true`: the figure of the corresponding bucket in the previous period.'),
      }),
    )
    .describe('All buckets of the range, in order.'),
});
export type ChartRow = z.output<typeof chartRow>;

/** The figures of the answer. */
export const chartsFigures = z.object({
  series: z
    .array(chartRow)
    .describe(
      'Rows in the order of the requested series; within a series the greatest sum first, ties by name.',
    ),
  metrics: chartMetrics.describe(
    'Figures over all rows: the sums of sums and counts (a visitor in two rows counts twice), the average of averages, the minimum and the maximum. If the rows have several currencies, over those without and those in the currency of the chart or, by default, of the site.',
  ),
  metricsByCurrency: z
    .record(z.string(), chartMetrics)
    .optional()
    .describe(
      'Present if the rows have several currencies: the same over the rows of each, by ISO 4217 code.',
    ),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when `partial=true` was requested and some data could not be reached.'),
});
/** Without references, which the endpoint adds. */
export type ChartsAnswer = z.output<typeof chartsFigures>;

export const chartsAnswer = chartsFigures.extend({ references: referencesInRange });

/**
 * A field of rows that filters know is that field; any other name is a property key. Undefined if the field is not numeric.
 */
function measuredField(property: string): RowField | undefined {
  const known = fieldOf(property);
  // A fact of sessions is no number of an event, so its name is free for a property.
  const field: RowField =
    known === undefined || known.kind === 'fact'
      ? { owner: 'event', kind: 'property', key: property }
      : known;
  return field.owner === 'event' && (field.kind === 'property' || field.kind === 'amount')
    ? field
    : undefined;
}

/** Reads filters that the schema has accepted; only their size as JSON can still be invalid. */
export function filtersOf(
  given: z.output<typeof seriesField>['filters'],
  context: z.core.$RefinementCtx,
): readonly Filter[] {
  try {
    return given === undefined ? [] : readFilters(JSON.stringify(given));
  } catch (error) {
    if (!(error instanceof RejectError)) throw error;
    context.addIssue({
      code: 'custom',
      path: ['filters'],
      message: `expected at most ${TEXT_MAX_BYTES} bytes`,
    });
    return z.NEVER;
  }
}
