import { z } from 'zod';
import { boundedList } from '../../infra/http/bounded-list.ts';
import { isCurrency } from '../../infra/money.ts';
import { filterList } from '../filters/filter.ts';
import { fieldOf } from '../filters/names.ts';
import { FORMULA_MAX_CHARACTERS, FormulaError, parseFormula } from './formula.ts';

/** CONTRACT of charts, and of reports, which store them: the events to count, how, and by which fields. */

const EVENT_NAME_MAX = 80;
const PROPERTY_MAX = 200;
/** A formula has one letter for each series. */
export const SERIES_MAX = 26;
export const BREAKDOWNS_MAX = 3;

/** Matches every event except the synthetic `session_start` and `session_end`. */
export const ANY_EVENT = '*';

/** Figures to compute from a series' events. Segments that start with `property_` aggregate its `property`. */
export const SEGMENTS = [
  'event',
  'user',
  'session',
  'group',
  'user_average',
  'one_event_per_user',
  'property_sum',
  'property_average',
  'property_max',
  'property_min',
] as const;
export type Segment = (typeof SEGMENTS)[number];

/** The property of a series that sums up amounts. */
const REVENUE = 'revenue';

export const currencyField = z.string().refine(isCurrency, 'expected an ISO 4217 code, such as EUR');

export const seriesField = z
  .strictObject({
    name: z
      .string()
      .min(1, 'expected a non-empty string')
      .max(EVENT_NAME_MAX, `expected at most ${EVENT_NAME_MAX} characters`)
      .describe('The name of an event, or `*` for every event.'),
    filters: filterList.optional().describe('Filters that apply to this series only.'),
    segment: z
      .enum(SEGMENTS)
      .default('event')
      .describe('What to count. Segments that start with `property_` need `property`.'),
    property: z
      .string()
      .min(1, 'expected a non-empty string')
      .max(PROPERTY_MAX)
      .optional()
      .describe('The property to aggregate, for `property_` segments: `properties.<key>` or `revenue`.'),
    currency: currencyField
      .optional()
      .describe(
        'For the property `revenue`: the only currency whose amounts count, by ISO 4217. Default: that of a filter `currency` `is` one value, else that of the request, else that of the site.',
      ),
  })
  .superRefine(({ segment, property, currency }, context) => {
    const addIssue = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (isAboutProperty(segment) && property === undefined)
      addIssue('property', `missing; required by ${segment}`);
    if (currency !== undefined && !(isAboutProperty(segment) && property === REVENUE))
      addIssue('currency', `only for property_ segments of ${REVENUE}`);
  });

export function isAboutProperty(segment: Segment): boolean {
  return segment.startsWith('property_');
}

/** True if the figures of a segment are averages. */
export function isAverage(segment: Segment): boolean {
  return segment.endsWith('_average');
}

/** The letter of a series in formulas and ids. */
export function letterOf(index: number): string {
  return String.fromCharCode('A'.charCodeAt(0) + index);
}

export const seriesList = listOfSeries(seriesField);

/** A list of 1 to `SERIES_MAX` series, for any schema of one series. */
export function listOfSeries<One extends z.ZodType>(one: One) {
  const list = z.array(one).min(1, 'expected at least one series');
  return boundedList(list, SERIES_MAX, `expected at most ${SERIES_MAX} series`);
}

export const breakdownField = z.strictObject({
  name: z
    .string()
    .refine((name) => fieldOf(name) !== undefined, 'unknown field')
    .describe('The name of a field, as in filters.'),
});

export const breakdownList = boundedList(
  z.array(breakdownField),
  BREAKDOWNS_MAX,
  `expected at most ${BREAKDOWNS_MAX} breakdowns`,
);

/** Arithmetic over the series, see `formula.ts`. Whether its letters name existing series is not checked here. */
export const formulaField = z
  .string()
  .max(FORMULA_MAX_CHARACTERS, {
    error: `expected at most ${FORMULA_MAX_CHARACTERS} characters`,
    abort: true,
  })
  .trim()
  .min(1, 'expected a non-empty string')
  .superRefine((text, context) => {
    try {
      parseFormula(text, SERIES_MAX);
    } catch (error) {
      if (!(error instanceof FormulaError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  });
