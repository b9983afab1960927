import type { StoreParameters } from '../../infra/store/store.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { nextRows } from '../cursor.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { listRange, listSeam } from '../snapshot/list-question.ts';
import type { Asked, Sources } from '../snapshot/question.ts';
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

/** What a filter can say: the names, keys and values that a site's events have, with how many events of those that the filters leave. */
interface WordRow {
  readonly word: string;
  readonly events: number;
}

/** `GET /insights/{projectId}/events/names`: every name that events can be asked for by, the synthetic ones too. */
export function eventNamesInsight(sources: Sources): Insight<EventNamesQuery, NamesAnswer> {
  return {
    path: 'events/names',
    about: { summary: 'The names of events', answer: namesAnswer },
    schema: eventNamesQuery,
    next: nextRows,
    answer: async (asked, query): Promise<NamesAnswer> =>
      namesOf(await askWords(sources, asked, query, { question: 'event-names', conditions: {} })),
  };
}

/** `GET /insights/{projectId}/events/properties`: the keys of properties. */
export function propertyKeysInsight(sources: Sources): Insight<PropertyKeysQuery, NamesAnswer> {
  return {
    path: 'events/properties',
    about: { summary: 'The keys of properties of events', answer: namesAnswer },
    schema: propertyKeysQuery,
    next: nextRows,
    answer: async (asked, query): Promise<NamesAnswer> => {
      const conditions = namedConditions(query);
      return namesOf(await askWords(sources, asked, query, { question: 'property-keys', conditions }));
    },
  };
}

/** `GET /insights/{projectId}/events/property_values`: the values of one property. */
export function propertyValuesInsight(sources: Sources): Insight<PropertyValuesQuery, PropertyValuesAnswer> {
  return {
    path: 'events/property_values',
    about: { summary: 'The values of a property of events', answer: propertyValuesAnswer },
    schema: propertyValuesQuery,
    next: nextRows,
    answer: async (asked, query): Promise<PropertyValuesAnswer> => {
      const conditions = { ...namedConditions(query), property: query.property };
      const rows = await askWords(sources, asked, query, { question: 'property-values', conditions });
      return rows.map(({ word, events }) => ({ value: word, count: events }));
    },
  };
}

async function askWords(
  sources: Sources,
  asked: Asked,
  query: EventNamesQuery,
  { question, conditions }: { readonly question: string; readonly conditions: StoreParameters },
): Promise<readonly WordRow[]> {
  const { span } = listRange(query, asked);
  const held = insightConditions(query.filters, { span });
  const { fromMs: from, toMs: to } = span;
  const page = {
    ...held.parameters,
    site: asked.site.storedId,
    from,
    to,
    limit: query.limit,
    offset: query.cursor,
  };
  const seam = await listSeam(sources, asked, query);
  return sources.history.ask<WordRow>(question, { ...page, ...conditions }, seam, held);
}

function namedConditions({ event }: PropertyKeysQuery): StoreParameters {
  return { names: event, synthetic: [SESSION_START, SESSION_END] };
}

function namesOf(rows: readonly WordRow[]): NamesAnswer {
  return rows.map(({ word, events }) => ({ name: word, count: events }));
}
