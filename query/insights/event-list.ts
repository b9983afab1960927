import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { FIRST, nextBehind } from '../cursor.ts';
import { columnsText } from '../export/columns.ts';
import { readEventPage } from '../export/event-page.ts';
import { exportedEventOf } from '../export/row.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { listRange, listSeam } from '../snapshot/list-question.ts';
import type { Asked, Sources } from '../snapshot/question.ts';
import {
  type EventListAnswer,
  type EventListQuery,
  eventListAnswer,
  eventListQuery,
  LISTED_INCLUDES,
} from './event-list-api.ts';

/** `GET /insights/{projectId}/events` */
export function eventListInsight(sources: Sources): Insight<EventListQuery, EventListAnswer> {
  return {
    path: 'events',
    about: { summary: 'Events, newest first', answer: eventListAnswer },
    schema: eventListQuery,
    answer: (asked, query) => answerEventList(sources, asked, query),
    next: (query, page) => nextBehind(query, page, ({ createdAt, id }) => ({ at: createdAt, id })),
  };
}

/** A page of a site's events, newest first, of those that the filters leave. */
export async function answerEventList(
  sources: Sources,
  asked: Asked,
  query: EventListQuery,
): Promise<EventListAnswer> {
  const { span } = listRange(query, asked);
  const seam = await listSeam(sources, asked, query);
  const held = insightConditions(query.filters, { span });
  const { rows } = await readEventPage(sources.history, seam, {
    span,
    cursor: query.cursor ?? FIRST,
    limit: query.limit,
    conditions: {
      ...held.parameters,
      site: asked.site.storedId,
      names: query.event,
      synthetic: [SESSION_START, SESSION_END],
      profileId: query.profileId ?? '',
      sessionId: query.sessionId ?? '',
    },
    held,
    columns: columnsText(LISTED_INCLUDES),
  });
  const includes = new Set(LISTED_INCLUDES);
  return rows.map((row) => exportedEventOf(row, asked.site.id, includes));
}
