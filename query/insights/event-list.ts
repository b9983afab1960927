import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { SYNTHETIC_EVENTS } from '../api.ts';
import { FIRST, nextBehind } from '../cursor.ts';
import { columnsText } from '../export/columns.ts';
import { readEventPage } from '../export/event-page.ts';
import { exportedEventOf } from '../export/row.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { pageWithin } from '../page-size.ts';
import { openSeam, type QuestionScope, requestedRange, type Sources } from '../snapshot/question.ts';
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
    about: {
      summary: 'Events, newest first',
      description: `Newest first, ties by id. \`session_start\` and \`session_end\` are returned only when \`event\` names them. With \`partial=true\`, unreachable events are missing without a mark in the response.\n\n${SYNTHETIC_EVENTS}`,
      answer: eventListAnswer,
    },
    schema: eventListQuery,
    answer: (scope, query) => answerEventList(sources, scope, query),
    next: (query, page) => nextBehind(query, page, ({ createdAt, id }) => ({ at: createdAt, id })),
  };
}

/** A page of a site's events that match the filters, newest first. */
export async function answerEventList(
  sources: Sources,
  scope: QuestionScope,
  query: EventListQuery,
): Promise<EventListAnswer> {
  const { span } = requestedRange(query, scope);
  const seam = await openSeam(sources, scope, query);
  const filtered = insightConditions(query.filters, { span });
  const { rows } = await readEventPage(sources.history, seam, {
    span,
    cursor: query.cursor ?? FIRST,
    limit: query.limit,
    nowMs: scope.nowMs,
    isCounted: false,
    conditions: {
      ...filtered.parameters,
      site: scope.site.storedId,
      names: query.event,
      synthetic: [SESSION_START, SESSION_END],
      profileId: query.profileId ?? '',
      sessionId: query.sessionId ?? '',
    },
    filterTexts: filtered,
    filters: query.filters,
    columns: columnsText(LISTED_INCLUDES),
  });
  const includes = new Set(LISTED_INCLUDES);
  return pageWithin(rows.map((row) => exportedEventOf(row, scope.site.id, includes)));
}
