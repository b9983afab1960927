import type { z } from 'zod';
import { ANY_EVENT } from '../export/chart-fields.ts';
import type { ChartsQuery } from '../export/charts-api.ts';
import { chartOf } from '../export/stored-chart.ts';
import { readBy } from '../http/read-by.ts';
import { type FunnelQuery, funnelQuery } from '../paths/funnel-api.ts';
import { planCohorts } from '../paths/retention-cohort.ts';
import { COHORT_INTERVALS, type CohortQuery, cohortQuery } from '../paths/retention-cohort-api.ts';
import { type UserFlowQuery, userFlowQuery } from '../paths/user-flow-api.ts';
import { RejectError } from '../reject.ts';
import { type QuestionScope, requestedRange } from '../snapshot/question.ts';
import {
  type ChartType,
  type ReportOptions,
  type ReportShown,
  SERIES_TYPES,
  type SeriesType,
} from './report-api.ts';

/** The fields of a report that a drawing needs. */
export type ReportDefinition = Pick<
  ReportShown,
  | 'chartType'
  | 'range'
  | 'startDate'
  | 'endDate'
  | 'interval'
  | 'series'
  | 'breakdowns'
  | 'formula'
  | 'options'
>;

/** The question that a report asks, as the endpoint of its chart type takes it. */
export type Drawing =
  | { readonly kind: 'series'; readonly chartType: SeriesType; readonly query: ChartsQuery }
  | { readonly kind: 'funnel'; readonly query: FunnelQuery }
  | { readonly kind: 'retention'; readonly query: CohortQuery }
  | { readonly kind: 'sankey'; readonly query: UserFlowQuery };
type PathKind = Exclude<Drawing['kind'], 'series'>;

/** The options of each chart type. */
const OPTIONS: Readonly<Record<Drawing['kind'], readonly (keyof ReportOptions)[]>> = {
  series: [],
  funnel: ['windowHours', 'groupBy', 'filters'],
  retention: ['firstEvent', 'event', 'filters'],
  sankey: ['by', 'start', 'direction', 'depth', 'limit', 'filters'],
};

/**
 * The question of a report.
 * @throws {RejectError} when the report cannot be drawn; the message begins with the field of the report
 */
export function drawingOf(report: ReportDefinition, scope: QuestionScope): Drawing {
  const { chartType } = report;
  if (isSeriesType(chartType)) {
    rejectForeignOptions('series', report);
    return { kind: 'series', chartType, query: chartOf(report, scope) };
  }
  rejectForeignOptions(chartType, report);
  if (report.formula !== undefined) throw invalid('formula', `not for a ${chartType} report`);
  switch (chartType) {
    case 'funnel':
      return { kind: chartType, query: funnelOf(report, scope) };
    case 'retention':
      return { kind: chartType, query: cohortsOf(report, scope) };
    case 'sankey':
      return { kind: chartType, query: flowOf(report, scope) };
  }
}

/** True if a chart type shows series. */
export function isSeriesType(chartType: ChartType): chartType is SeriesType {
  return SERIES_TYPES.some((type) => type === chartType);
}

function rejectForeignOptions(kind: Drawing['kind'], { options = {} }: ReportDefinition): void {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const foreign = given.find(([name]) => !OPTIONS[kind].some((own) => own === name));
  if (foreign === undefined) return;
  const whose = kind === 'series' ? 'a report of series' : `a ${kind} report`;
  throw invalid(`options.${foreign[0]}`, `not for ${whose}`);
}

/** The steps are the series. A breakdown by one field becomes the funnel's breakdown. */
function funnelOf(report: ReportDefinition, scope: QuestionScope): FunnelQuery {
  const { series, breakdowns, options = {} } = report;
  rejectAggregates('funnel', series);
  if (breakdowns.length > 1) throw invalid('breakdowns', 'a funnel is broken down by one field at most');
  const steps = series.map(({ name, filters }) => ({ name, ...(filters === undefined ? {} : { filters }) }));
  const given = {
    steps: JSON.stringify(steps),
    windowHours: textOf(options.windowHours),
    groupBy: options.groupBy,
    breakdown: breakdowns[0]?.name,
  };
  const query = parsed(funnelQuery, report, given, { steps: 'series', breakdown: 'breakdowns.0.name' });
  requestedRange(query, scope);
  return query;
}

/** The events are options, or the first two series. */
function cohortsOf(report: ReportDefinition, scope: QuestionScope): CohortQuery {
  const { interval } = report;
  rejectBreakdowns('retention', report);
  if (!COHORT_INTERVALS.some((known) => known === interval))
    throw invalid('interval', `expected one of ${COHORT_INTERVALS.join(', ')} for a retention report`);
  const query = parsed(cohortQuery, report, { interval, ...cohortEvents(report) }, {});
  planCohorts(query, scope);
  return query;
}

function cohortEvents({
  series,
  options = {},
}: ReportDefinition): Readonly<Record<'firstEvent' | 'event', string | undefined>> {
  const { firstEvent, event } = options;
  const [first, second] = series;
  if (first === undefined) return { firstEvent, event };
  if (firstEvent !== undefined) throw invalid('options.firstEvent', 'not together with series');
  if (event !== undefined) throw invalid('options.event', 'not together with series');
  if (series.length > 2) throw invalid('series', 'expected at most two for a retention report');
  rejectAggregates('retention', series);
  const filtered = series.findIndex(({ filters = [] }) => filters.length > 0);
  if (filtered !== -1)
    throw invalid(`series.${filtered}.filters`, 'not for a retention report; use options.filters');
  const nameOf = (one: { readonly name: string } | undefined) =>
    one?.name === ANY_EVENT ? undefined : one?.name;
  return { firstEvent: nameOf(first), event: nameOf(second) };
}

function flowOf(report: ReportDefinition, scope: QuestionScope): UserFlowQuery {
  const { series, options = {} } = report;
  rejectBreakdowns('sankey', report);
  if (series.length > 0) throw invalid('series', 'expected an empty list for a sankey report; use options');
  const { by, start, direction, depth, limit } = options;
  const given = { by, start, direction, depth: textOf(depth), limit: textOf(limit) };
  const query = parsed(userFlowQuery, report, given, {});
  requestedRange(query, scope);
  return query;
}

/** Rejects series that are more than an event and its filters. */
function rejectAggregates(kind: PathKind, series: ReportDefinition['series']): void {
  for (const [index, { segment, property, currency }] of series.entries()) {
    if (segment !== 'event') throw invalid(`series.${index}.segment`, `expected event for a ${kind} report`);
    if (property !== undefined) throw invalid(`series.${index}.property`, `not for a ${kind} report`);
    if (currency !== undefined) throw invalid(`series.${index}.currency`, `not for a ${kind} report`);
  }
}

function rejectBreakdowns(kind: PathKind, { breakdowns }: ReportDefinition): void {
  if (breakdowns.length > 0) throw invalid('breakdowns', `expected an empty list for a ${kind} report`);
}

/** Derives the parameters of an endpoint from a report. Errors name the report's field that the parameter comes from. */
function parsed<Query>(
  schema: z.ZodType<Query>,
  { range, startDate, endDate, options }: ReportDefinition,
  given: Readonly<Record<string, string | undefined>>,
  fields: Readonly<Record<string, string>>,
): Query {
  const filters = options?.filters === undefined ? undefined : JSON.stringify(options.filters);
  const named = (message: string) => message.replace(/^\w+/, (name) => fieldOf(name, options, fields));
  try {
    return readBy(schema, { ...given, range, startDate, endDate, filters }, 'body');
  } catch (error) {
    if (!(error instanceof RejectError)) throw error;
    throw new RejectError('invalid', named(error.message), error);
  }
}

function fieldOf(
  parameter: string,
  options: ReportOptions | undefined,
  fields: Readonly<Record<string, string>>,
): string {
  const isOption = options !== undefined && Object.hasOwn(options, parameter);
  return fields[parameter] ?? (isOption ? `options.${parameter}` : parameter);
}

function textOf(number: number | undefined): string | undefined {
  return number === undefined ? undefined : String(number);
}

function invalid(field: string, problem: string): RejectError {
  return new RejectError('invalid', `${field}: ${problem}`);
}
