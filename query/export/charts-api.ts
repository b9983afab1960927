import { z } from 'zod';
import { common, exportQuery, flag, metricsQuery, wholeNumber } from '../api.ts';
import { type Filter, readFilters } from '../filters/filter.ts';
import { type Field, fieldOf } from '../filters/names.ts';
import { RejectError } from '../reject.ts';
import {
  breakdownField,
  breakdownList,
  formulaField,
  isAboutProperty,
  listOfSeries,
  SEGMENTS,
  type Segment,
  seriesField,
} from './chart-fields.ts';

/** CONTRACT with who asks for charts: the parameters and the answer of `GET /export/charts`. */

const TEXT_MAX_BYTES = 65_536;
const ROWS_MAX = 500;
const ROWS = 50;

/** One series that is asked for. */
export interface ChartSeries {
  readonly name: string;
  readonly filters: readonly Filter[];
  readonly segment: Segment;
  /** What a segment that begins with `property_` reads as a number. */
  readonly measured: Field | undefined;
  /** As it was asked for. */
  readonly property: string | undefined;
}

/** A parameter whose text is JSON. */
const jsonText = z.string().transform((text, context): unknown => {
  if (Buffer.byteLength(text) > TEXT_MAX_BYTES) {
    context.addIssue({ code: 'custom', message: `expected at most ${TEXT_MAX_BYTES} bytes` });
    return z.NEVER;
  }
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'expected a JSON array' });
    return z.NEVER;
  }
});

const askedSeries = seriesField.transform((asked, context): ChartSeries => {
  const { name, segment, property } = asked;
  const measured = isAboutProperty(segment) ? measuredField(property ?? '') : undefined;
  if (isAboutProperty(segment) && measured === undefined)
    context.addIssue({
      code: 'custom',
      path: ['property'],
      message: 'expected a key, properties.<key> or revenue',
    });
  return { name, filters: filtersOf(asked.filters, context), segment, measured, property };
});

const askedBreakdown = breakdownField.transform(({ name }, context): Field => {
  const field = fieldOf(name);
  if (field?.owner === 'event') return field;
  context.addIssue({
    code: 'custom',
    path: ['name'],
    message: `${name.slice(0, 100)} is no field of events themselves, and only these tell series apart`,
  });
  return z.NEVER;
});

const askedBreakdowns = breakdownList.pipe(z.array(askedBreakdown)).superRefine((fields, context) => {
  const texts = fields.map((field) => JSON.stringify(field));
  const again = texts.findIndex((text, index) => texts.indexOf(text) < index);
  if (again === -1) return;
  const message = `it is the same field as breakdowns.${texts.indexOf(texts[again] ?? '')}`;
  context.addIssue({ code: 'custom', path: [again, 'name'], message });
});

/** `GET /export/charts` */
export const chartsQuery = z.object({
  projectId: exportQuery.shape.projectId,
  project_id: exportQuery.shape.project_id,
  series: jsonText
    .pipe(listOfSeries(askedSeries))
    .describe(
      'A JSON array of series: `name` of an event (`*` is every event), and `filters`, `segment` and `property`. In formulas the first is A, the second B, and so on.',
    ),
  breakdowns: jsonText
    .pipe(askedBreakdowns)
    .optional()
    .describe(
      'A JSON array of fields of events, by whose values each series is told apart; those of `profile.` and `group.` records cannot. Of `groups`, an event is in the row of each of its own.',
    ),
  range: common.range.describe(
    "A span of time by its name, as the site's clocks see it; 30d, or custom where there are dates.",
  ),
  startDate: common.startDate,
  endDate: common.endDate,
  interval: metricsQuery.shape.interval,
  previous: flag.describe(
    'Also the figures of the span before, which is as long, by the place of its buckets.',
  ),
  formula: formulaField
    .optional()
    .describe(
      'Arithmetic over the series, such as `A / B * 100`, for every bucket and for the whole range: numbers, letters, `+ - * /` and parentheses. What is divided by zero is 0. Answered are its results alone.',
    ),
  /** Each event by its own columns. */
  filters: common.filters.describe('A JSON array of filters, which hold for every series.'),
  limit: wholeNumber(1, ROWS_MAX)
    .default(ROWS)
    .describe(
      'Rows for each series, or for the formula, where there are breakdowns: those with the greatest sum.',
    ),
  partial: common.partial,
});
export type ChartsQuery = z.output<typeof chartsQuery>;

const figures = {
  sum: z.number().describe('Of all buckets.'),
  average: z.number().describe('The sum divided by the number of buckets, empty ones too.'),
  min: z.number().describe('Of the buckets, empty ones too.'),
  max: z.number().describe('Of the buckets.'),
  count: z
    .number()
    .describe(
      'The figure of the whole range at once: of `user`, its distinct visitors, of whom one who comes on two days is in two buckets; of an average, that of all its events; of a formula, what comes of the counts of its series.',
    ),
};
const chartFigures = z.object(figures);
export type ChartFigures = z.output<typeof chartFigures>;

export const chartMetrics = z.object({
  ...figures,
  previous: chartFigures.optional().describe('With previous=true: of the span before.'),
});
export type ChartMetrics = z.output<typeof chartMetrics>;

export const chartRow = z.object({
  id: z.string().describe('The same for the same row of the same question.'),
  names: z
    .array(z.string().nullable())
    .describe(
      'The values of the breakdowns in their order, null where nothing is known. Without breakdowns the name of the event, or the formula.',
    ),
  event: z
    .object({
      id: z.string().describe('The letter of the series, or `formula`.'),
      name: z.string().describe('The name of the event, or the formula.'),
      segment: z.enum(SEGMENTS).optional().describe('What is counted; none of a formula.'),
      property: z.string().optional(),
    })
    .describe('What the row is of.'),
  metrics: chartMetrics,
  data: z
    .array(
      z.object({
        date: z
          .string()
          .describe(
            "Where the bucket begins, in the site's time zone: `YYYY-MM-DD` for days and longer, `YYYY-MM-DD HH:MM:SS` below.",
          ),
        count: z.number().describe('The figure of the bucket; 0 where there is nothing.'),
        previous: z
          .number()
          .optional()
          .describe('With previous=true: of the bucket at the same place of the span before.'),
      }),
    )
    .describe('Every bucket of the range.'),
});
export type ChartRow = z.output<typeof chartRow>;

export const chartsAnswer = z.object({
  series: z
    .array(chartRow)
    .describe(
      'In the order in which they were asked for; of one series the greatest sum first, ties by name.',
    ),
  metrics: chartMetrics.describe(
    'Of all rows together: sums and counts added up (a visitor of two rows counts twice), the average of averages, the least and the greatest.',
  ),
  partial: z
    .literal(true)
    .optional()
    .describe('Present when something could not be reached and `partial=true` asked for the rest.'),
});
export type ChartsAnswer = z.output<typeof chartsAnswer>;

/** A name that filters know is that field, and any other a key of properties; undefined where it holds no numbers. */
function measuredField(property: string): Field | undefined {
  const field = fieldOf(property) ?? { owner: 'event', kind: 'property', key: property };
  return field.owner === 'event' && (field.kind === 'property' || field.kind === 'amount')
    ? field
    : undefined;
}

/** Filters that the schema has let through; all that may be wrong with them still is their size as JSON. */
function filtersOf(
  asked: z.output<typeof seriesField>['filters'],
  context: z.core.$RefinementCtx,
): readonly Filter[] {
  try {
    return asked === undefined ? [] : readFilters(JSON.stringify(asked));
  } catch (error) {
    if (!(error instanceof RejectError)) throw error;
    context.addIssue({ code: 'custom', path: ['filters'], message: 'they are too long' });
    return z.NEVER;
  }
}
