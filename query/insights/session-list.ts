import { majorUnits } from '../../infra/money.ts';
import type { SESSIONS_COLUMNS } from '../../processor/rows.ts';
import { type Cursor, cursorBounds, FIRST, nextBehind } from '../cursor.ts';
import { type InsightConditions, insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import type { History } from '../snapshot/history.ts';
import { listRange, listSeam } from '../snapshot/list-question.ts';
import type { Asked, Sources } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import { edgesOf, type Page, type PageSpan, pageSpanOf } from '../time/page-span.ts';
import type { Span } from '../time/range.ts';
import {
  type ListedSession,
  type SessionListAnswer,
  type SessionListQuery,
  sessionListAnswer,
  sessionListQuery,
} from './session-list-api.ts';

type Column = (typeof SESSIONS_COLUMNS)[number];

/** Columns of a listed session that are texts and stay as they are. */
const TEXTS = [
  'deviceId',
  'profileId',
  'entryOrigin',
  'entryPath',
  'exitOrigin',
  'exitPath',
  'referrer',
  'referrerName',
  'referrerType',
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmTerm',
  'utmContent',
  'channel',
  'country',
  'region',
  'city',
  'browser',
  'os',
  'device',
  'brand',
  'model',
] as const satisfies readonly Column[];

const COLUMNS: readonly Column[] = [
  'id',
  'startedAt',
  'endedAt',
  'screenViews',
  'otherEvents',
  'revenue',
  ...TEXTS,
];

type SessionRow = Readonly<Record<(typeof TEXTS)[number], string>> & {
  readonly id: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  /** Minor units by currency, as decimal text. */
  readonly revenue: Readonly<Record<string, string>>;
};

interface PieceRow {
  readonly edge: number;
  readonly sessions: number;
}

/** `GET /insights/{projectId}/sessions` */
export function sessionListInsight(sources: Sources): Insight<SessionListQuery, SessionListAnswer> {
  return {
    path: 'sessions',
    about: { summary: 'Sessions, newest first', answer: sessionListAnswer },
    schema: sessionListQuery,
    answer: (asked, query) => answerSessionList(sources, asked, query),
    next: (query, page) => nextBehind(query, page, ({ startedAt, id }) => ({ at: startedAt, id })),
  };
}

/** A page of the sessions that began in a range, newest first, each once and in its current state. */
export async function answerSessionList(
  sources: Sources,
  asked: Asked,
  query: SessionListQuery,
): Promise<SessionListAnswer> {
  const { span } = listRange(query, asked);
  const seam = await listSeam(sources, asked, query);
  return listSessions(sources.history, asked, { ...query, cursor: query.cursor ?? FIRST, span, seam });
}

/** Which sessions are listed: those that the filters leave of a profile's, or of all where it is undefined. */
export interface SessionPage extends Pick<SessionListQuery, 'limit' | 'profileId' | 'filters'> {
  readonly cursor: Cursor;
  readonly span: Span;
  readonly seam: Seam;
}

/**
 * The same over a seam that there is. A session that changes between the two statements is newer in the page than it was
 * when it was counted, as between two pages; with nothing but the seam's own flushes landing, both see the same.
 */
export async function listSessions(
  history: History,
  { site }: Pick<Asked, 'site'>,
  { span, seam, cursor, limit, profileId, filters }: SessionPage,
): Promise<SessionListAnswer> {
  const held = insightConditions(filters, { span });
  const page = { cursor, limit };
  const whole: PageSpan = { ...span, offset: cursor.kind === 'rows' ? cursor.rows : 0 };
  // The sessions of one profile are few: they need no narrower span.
  const part =
    profileId === undefined ? await countedSpan(history, site.storedId, { span, seam, page, held }) : whole;
  if (part === undefined) return [];
  const rows = await history.ask<SessionRow>(
    'session-list',
    {
      ...held.parameters,
      site: site.storedId,
      ...cursorBounds(cursor, part.toMs),
      from: part.fromMs,
      to: part.toMs,
      profileId: profileId ?? '',
      offset: part.offset,
      limit,
    },
    seam,
    { ...held, columns: COLUMNS.join(', ') },
  );
  return rows.map((row) => listedSessionOf(row, site.currency));
}

interface CountedPage {
  readonly span: Span;
  readonly seam: Seam;
  readonly page: Page;
  readonly held: InsightConditions;
}

async function countedSpan(
  history: History,
  projectId: string,
  { span, seam, page, held }: CountedPage,
): Promise<PageSpan | undefined> {
  const { fromMs: from, toMs: to } = span;
  const edges = edgesOf(span);
  const bounds = { site: projectId, from, to, previousFrom: from, previousTo: from, edges };
  const parameters = { ...held.parameters, ...bounds };
  // The sessions of the metrics by bucket, with pieces for buckets and nothing before.
  const pieces = await history.ask<PieceRow>('metrics-sessions', parameters, seam, held);
  return pageSpanOf(span, edges, new Map(pieces.map(({ edge, sessions }) => [edge, sessions])), page);
}

function listedSessionOf(row: SessionRow, siteCurrency: string): ListedSession {
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
    duration: endedAt - startedAt,
    isBounce: row.screenViews <= 1,
    events: otherEvents,
    revenue: revenueByCurrency[siteCurrency] ?? 0,
    revenueByCurrency,
  };
}
