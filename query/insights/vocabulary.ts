import type { z } from 'zod';
import type { StoreParameters } from '../../infra/store/store.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { NAMES_ROLLUP } from '../../processor/rows.ts';
import { nextRows } from '../cursor.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { About, Insight } from '../http/endpoint.ts';
import { NO_HOURS, planLookup, planNames } from '../plan/plan.ts';
import { lookUpBlocks } from '../rollups/blocks-lookup.ts';
import {
  openSeam,
  type QuestionScope,
  requestedRange,
  type SeamSources,
  type Sources,
} from '../snapshot/question.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import {
  type EventNamesQuery,
  eventNamesQuery,
  type NamesAnswer,
  namesAnswer,
  type PropertyKeysQuery,
  type PropertyValuesAnswer,
  type PropertyValuesQuery,
  propertyKeysQuery,
  propertyValuesAnswer,
  propertyValuesQuery,
} from './vocabulary-api.ts';

/** A name, key or value for filters, and its number of filtered events. */
type VocabularyRow = AnswerRow<'event-names'>;

function aboutWords(summary: string, answer: z.ZodType): About {
  return {
    summary,
    description: 'Use it to build filters. Sorted by number of events in descending order, then by name.',
    answer,
  };
}

/** `GET /insights/{projectId}/events/names`: every event name that filters can use, including the synthetic ones. */
export function eventNamesInsight(sources: Sources): Insight<EventNamesQuery, NamesAnswer> {
  return {
    path: 'events/names',
    isShared: true,
    about: aboutWords('The names of events', namesAnswer),
    schema: eventNamesQuery,
    next: nextRows,
    answer: (scope, query) => answerEventNames(sources, scope, query),
  };
}

/** The names of a site's events in a range with their numbers of events, the most frequent first. */
export async function answerEventNames(
  { history, hot }: SeamSources,
  scope: QuestionScope,
  query: EventNamesQuery,
): Promise<NamesAnswer> {
  const { span } = requestedRange(query, scope);
  const { filters, limit, cursor } = query;
  const question = { projectId: scope.site.storedId, filters, span, limit, offset: cursor };
  const seam = await openSeam({ history, hot }, scope, query);
  const lookup = lookUpBlocks(history, planLookup(question, [span], NO_HOURS), seam, NAMES_ROLLUP);
  return namesOf(await lookup.answer((blocks) => history.ask(planNames(question, blocks), seam)));
}

/** `GET /insights/{projectId}/events/properties`: the keys of properties. */
export function propertyKeysInsight(sources: Sources): Insight<PropertyKeysQuery, NamesAnswer> {
  return {
    path: 'events/properties',
    about: aboutWords('The keys of properties of events', namesAnswer),
    schema: propertyKeysQuery,
    next: nextRows,
    answer: async (scope, query): Promise<NamesAnswer> =>
      namesOf(await askWords(sources, scope, query, { name: 'property-keys', bound: eventsOf(query) })),
  };
}

/** `GET /insights/{projectId}/events/property_values`: the values of one property. */
export function propertyValuesInsight(sources: Sources): Insight<PropertyValuesQuery, PropertyValuesAnswer> {
  return {
    path: 'events/property_values',
    about: aboutWords('The values of a property of events', propertyValuesAnswer),
    schema: propertyValuesQuery,
    next: nextRows,
    answer: async (scope, query): Promise<PropertyValuesAnswer> => {
      const bound = { ...eventsOf(query), property: query.property };
      const rows = await askWords(sources, scope, query, { name: 'property-values', bound });
      return rows.map(({ word, events }) => ({ value: word, count: events }));
    },
  };
}

async function askWords(
  sources: Sources,
  scope: QuestionScope,
  query: EventNamesQuery,
  { name, bound }: { readonly name: 'property-keys' | 'property-values'; readonly bound: StoreParameters },
): Promise<readonly VocabularyRow[]> {
  const { span } = requestedRange(query, scope);
  const { parameters: filterValues, ...texts } = insightConditions(query.filters, { span });
  const parameters = {
    ...filterValues,
    ...bound,
    site: scope.site.storedId,
    from: span.fromMs,
    to: span.toMs,
    limit: query.limit,
    offset: query.cursor,
  };
  const seam = await openSeam(sources, scope, query);
  const { filters } = query;
  return sources.history.ask({ name, parameters, texts, filters }, seam);
}

function eventsOf({ event }: PropertyKeysQuery): StoreParameters {
  return { names: event, synthetic: [SESSION_START, SESSION_END] };
}

function namesOf(rows: readonly VocabularyRow[]): NamesAnswer {
  return rows.map(({ word, events }) => ({ name: word, count: events }));
}
