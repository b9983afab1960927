import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import type { Insight } from '../endpoint.ts';
import { columnsText } from '../export/columns.ts';
import { type ExportRow, exportedEventOf } from '../export/row.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Asked, Sources } from '../question.ts';
import {
  type EventListAnswer,
  type EventListQuery,
  eventListAnswer,
  eventListQuery,
  LISTED_INCLUDES,
} from './event-list-api.ts';
import { listRange, listSeam } from './list-question.ts';
import { edgesOf, pageSpanOf } from './page-span.ts';

interface PieceRow {
  readonly edge: number;
  readonly events: number;
}

/** `GET /insights/{projectId}/events` */
export function eventListInsight(sources: Sources): Insight<EventListQuery> {
  return {
    path: 'events',
    about: { summary: 'Events, newest first', answer: eventListAnswer },
    schema: eventListQuery,
    answer: (asked, query) => answerEventList(sources, asked, query),
  };
}

/**
 * A page of a site's events, newest first, of those that the filters leave. Two statements over one seam see the same events: rows of the events table
 * never change, and both read those up to the seam's flush numbers and the same hot rows.
 */
export async function answerEventList(
  sources: Sources,
  asked: Asked,
  query: EventListQuery,
): Promise<EventListAnswer> {
  const { span } = listRange(query, asked);
  const seam = await listSeam(sources, asked, query);
  const edges = edgesOf(span);
  const held = insightConditions(query.filters, { span });
  const conditions = {
    ...held.parameters,
    site: asked.site.storedId,
    names: query.event,
    synthetic: [SESSION_START, SESSION_END],
    profileId: query.profileId ?? '',
    sessionId: query.sessionId ?? '',
  };
  const pieces = await sources.history.ask<PieceRow>(
    'event-list-pieces',
    { ...conditions, from: span.fromMs, to: span.toMs, edges },
    seam,
    held,
  );
  const rowsByEdge = new Map(pieces.map(({ edge, events }) => [edge, events]));
  const page = pageSpanOf(span, edges, rowsByEdge, { offset: query.cursor, limit: query.limit });
  if (page === undefined) return [];
  const { fromMs: from, toMs: to, offset } = page;
  const rows = await sources.history.ask<ExportRow>(
    'event-list',
    { ...conditions, from, to, offset, limit: query.limit },
    seam,
    { ...held, columns: columnsText(LISTED_INCLUDES) },
  );
  const includes = new Set(LISTED_INCLUDES);
  return rows.map((row) => exportedEventOf(row, asked.site.id, includes));
}
