import { chartAnswer, chartRangeOf } from './charts.ts';
import { activeUsersAnswer, liveAnswer, metricsAnswer } from './counted.ts';
import type { AskedFilter } from './filters.ts';
import {
  breakdownRows,
  DIMENSIONS,
  entryExitRows,
  eventRows,
  keyRows,
  nameRows,
  pageRows,
  sessionRows,
  valueRows,
} from './lists.ts';
import type { SiteModel } from './model.ts';
import { cohortAnswer, engagementAnswer, flowAnswer, funnelAnswer, retentionAnswer } from './paths.ts';
import { type Parameters, rangeOf, type Span } from './ranges.ts';

/** A question below `/insights/{site}/`, or `export/charts`. */
export interface Question {
  readonly route: string;
  readonly parameters: Parameters;
  readonly filters: readonly AskedFilter[];
}

/** The model's answer at an instant; `rejected` where the service must answer 400. */
export type Expected = { readonly kind: 'answer'; readonly body: unknown } | { readonly kind: 'rejected' };

const USUAL_BREAKDOWN: Readonly<Record<string, string>> = {
  'traffic/referrers': 'referrer_name',
  'traffic/geo': 'country',
  'traffic/devices': 'device',
};
const WORD_ROUTES = ['events/names', 'events/properties', 'events/property_values'];

/** The model's answer to a question asked at `nowMs`. */
export function expectedOf(model: SiteModel, question: Question, nowMs: number): Expected {
  const { route, parameters, filters } = question;
  switch (route) {
    case 'live':
      return answered(liveAnswer(model, parameters.details === 'true', nowMs));
    case 'metrics':
      return answered(unmarked(metricsAnswer(model, rangeOf(parameters, model.calendar, nowMs), filters)));
    case 'active_users':
      return answered(activeUsersAnswer(model, parameters, filters, nowMs));
    case 'funnel':
      return answered(
        funnelAnswer(model, parameters, filters, rangeOf(parameters, model.calendar, nowMs).span),
      );
    case 'user_flow':
      return answered(
        flowAnswer(model, parameters, filters, rangeOf(parameters, model.calendar, nowMs).span),
      );
    case 'retention':
      return answered(retentionAnswer(model, parameters, filters, nowMs));
    case 'retention/cohort':
      return answered(cohortAnswer(model, parameters, filters, nowMs));
    case 'engagement':
      return answered(engagementAnswer(model, parameters, filters, nowMs));
    case 'export/charts':
      return answered(unmarked(chartAnswer(model, parameters, filters, nowMs)));
    default: {
      const { span } = rangeOf(parameters, model.calendar, nowMs);
      const cursor = Number(parameters.cursor ?? 0);
      const limit = Number(parameters.limit ?? (WORD_ROUTES.includes(route) ? 100 : 10));
      return answered(wholeList(model, question, span).slice(cursor, cursor + limit));
    }
  }
}

/** The part of the answer that depends on the time of the question: while it is the same, so is the answer. */
export function momentOf(model: SiteModel, { route, parameters }: Question, nowMs: number): string {
  if (route === 'live') return String(Math.floor(nowMs / 1000));
  const rangeIn = route === 'export/charts' ? chartRangeOf : rangeOf;
  const { span, previous } = rangeIn(parameters, model.calendar, nowMs);
  return JSON.stringify([span, previous, model.calendar.dateOf(nowMs)]);
}

function wholeList(
  model: SiteModel,
  { route, parameters, filters }: Question,
  span: Span,
): readonly unknown[] {
  if (DIMENSIONS[route] !== undefined) return breakdownRows(model, route, span, filters);
  const usual = USUAL_BREAKDOWN[route];
  if (usual !== undefined) return breakdownRows(model, String(parameters.breakdown ?? usual), span, filters);
  switch (route) {
    case 'pages':
      return pageRows(model, span, filters);
    case 'pages/entry_exit':
      return entryExitRows(model, parameters.mode === 'exit' ? 'exit' : 'entry', span, filters);
    case 'events':
      return eventRows(model, parameters, span, filters);
    case 'events/names':
      return nameRows(model, span, filters);
    case 'events/properties':
      return keyRows(model, parameters, span, filters);
    case 'events/property_values':
      return valueRows(model, parameters, span, filters);
    case 'sessions':
      return sessionRows(model, parameters, span, filters);
    default:
      throw new Error(`the model has no ${route}`);
  }
}

/** A series of a site without references. */
function unmarked(body: object | undefined): object | undefined {
  return body && { ...body, references: [] };
}

function answered(body: unknown): Expected {
  return body === undefined ? { kind: 'rejected' } : { kind: 'answer', body };
}
