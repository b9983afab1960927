import type { StoredId } from '../../infra/accounts/ids.ts';
import { majorUnits } from '../../infra/money.ts';
import { VISIT_FIELD_LIST } from '../../processor/fields.ts';
import { durationMsOf, isBounce } from '../../processor/figures.ts';
import type { SESSIONS_COLUMNS } from '../../processor/rows.ts';
import { type Cursor, cursorBounds, FIRST, nextBehind } from '../cursor.ts';
import { type InsightConditions, insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { pageWithin } from '../page-size.ts';
import type { History } from '../snapshot/history.ts';
import { openSeam, type QuestionScope, requestedRange, type Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import type { AnswerRow } from '../sql/answer-rows.ts';
import { countFromNewest } from '../time/counted-pieces.ts';
import { type Page, type PageSpan, pageSpanOf } from '../time/page-span.ts';
import type { Span } from '../time/range.ts';
import {
  type ListedSession,
  type SessionListAnswer,
  type SessionListQuery,
  sessionListAnswer,
  sessionListQuery,
} from './session-list-api.ts';

type ListedColumn = (typeof SESSIONS_COLUMNS)[number];

/** Text columns of a listed session, answered as they are stored. */
const OWN_TEXTS = ['deviceId', 'profileId', 'entryOrigin', 'entryPath', 'exitOrigin', 'exitPath'] as const;

const COLUMNS: readonly ListedColumn[] = [
  'id',
  'startedAt',
  'endedAt',
  'screenViews',
  'otherEvents',
  'revenue',
  ...OWN_TEXTS,
  ...VISIT_FIELD_LIST.flatMap(([column, { isListed = true }]) => (isListed ? [column] : [])),
];

/** The columns of a listed session, for `$COLUMNS$`. */
export const LISTED_COLUMNS: string = COLUMNS.join(', ');

/** A row of a statement with these columns. */
export type ListedSessionRow = AnswerRow<'session-list'>;

/** `GET /insights/{projectId}/sessions` */
export function sessionListInsight(sources: Sources): Insight<SessionListQuery, SessionListAnswer> {
  return {
    path: 'sessions',
    about: {
      summary: 'Sessions, newest first',
      description:
        'Returns the sessions that began in the range, in their current state. Newest first, ties by id. Source, location and software are those of the first event.',
      answer: sessionListAnswer,
    },
    schema: sessionListQuery,
    answer: (scope, query) => answerSessionList(sources, scope, query),
    next: (query, page) => nextBehind(query, page, ({ startedAt, id }) => ({ at: startedAt, id })),
  };
}

/** A page of the sessions that began in a range, newest first, each in its current state. */
export async function answerSessionList(
  sources: Sources,
  scope: QuestionScope,
  query: SessionListQuery,
): Promise<SessionListAnswer> {
  const { span } = requestedRange(query, scope);
  const seam = await openSeam(sources, scope, query);
  return listSessions(sources.history, scope, { ...query, cursor: query.cursor ?? FIRST, span, seam });
}

/** The sessions to list: of one profile, or of all if undefined. */
export interface SessionPage extends Pick<SessionListQuery, 'limit' | 'profileId' | 'filters'> {
  readonly cursor: Cursor;
  readonly span: Span;
  readonly seam: Seam;
}

/**
 * Lists sessions over a given seam. A session that changes between the two statements is newer in the page than in the
 * count, as it can be between two pages. Flushes of the seam that land in between change nothing.
 */
export async function listSessions(
  history: History,
  { site, nowMs }: Pick<QuestionScope, 'site' | 'nowMs'>,
  { span, seam, cursor, limit, profileId, filters }: SessionPage,
): Promise<SessionListAnswer> {
  const conditions = insightConditions(filters, { span });
  const page = { cursor, limit };
  const whole: PageSpan = { ...span, offset: cursor.kind === 'rows' ? cursor.rows : 0 };
  // One profile has few sessions, so a narrower span is not needed.
  const part =
    profileId === undefined
      ? await countedSpan(history, site.storedId, { span, seam, page, nowMs, conditions, filters })
      : whole;
  if (part === undefined) return [];
  const parameters = {
    ...conditions.parameters,
    site: site.storedId,
    ...cursorBounds(cursor, part.toMs),
    from: part.fromMs,
    to: part.toMs,
    profileId: profileId ?? '',
    offset: part.offset,
    limit,
  };
  const texts = { ...conditions, columns: LISTED_COLUMNS };
  const rows = await history.ask({ name: 'session-list', parameters, texts, filters, isPage: true }, seam);
  return pageWithin(rows.map((row) => listedSessionOf(row, site.currency)));
}

interface CountedPage {
  readonly span: Span;
  readonly seam: Seam;
  readonly page: Page;
  readonly nowMs: number;
  readonly conditions: InsightConditions;
  readonly filters: SessionPage['filters'];
}

async function countedSpan(
  history: History,
  projectId: StoredId,
  { span, seam, page, nowMs, conditions, filters }: CountedPage,
): Promise<PageSpan | undefined> {
  const pieces = await countFromNewest(span, page, nowMs, async ({ fromMs: from, toMs: to }, edges) => {
    const bounds = { site: projectId, from, to, previousFrom: from, previousTo: from, edges };
    const parameters = { ...conditions.parameters, ...bounds };
    // The statement of `metrics` counts sessions by bucket. Here the buckets are the pieces, and the previous span is
    // empty.
    const counted = await history.ask(
      { name: 'metrics-sessions', parameters, texts: conditions, filters },
      seam,
    );
    return counted.map(({ edge, sessions }) => [edge, sessions]);
  });
  return pageSpanOf(pieces.span, pieces.edges, pieces.rowsByEdge, page);
}

/** A session as it is answered. */
export function listedSessionOf(row: ListedSessionRow, siteCurrency: string): ListedSession {
  const { startedAt, endedAt, otherEvents, revenue, ...rest } = row;
  const amounts = Object.entries(revenue).filter(([, minorUnits]) => minorUnits !== '0');
  const revenueByCurrency: Record<string, number> = {};
  for (const [currency, minorUnits] of amounts.sort(([a], [b]) => (a < b ? -1 : 1))) {
    revenueByCurrency[currency] = majorUnits(BigInt(minorUnits), currency);
  }
  return {
    ...rest,
    startedAt: new Date(startedAt).toISOString(),
    endedAt: new Date(endedAt).toISOString(),
    duration: durationMsOf(startedAt, endedAt),
    isBounce: isBounce(row.screenViews),
    events: otherEvents,
    revenue: revenueByCurrency[siteCurrency] ?? 0,
    revenueByCurrency,
  };
}
