import { HOUR_MS } from '../../infra/durations.ts';
import type { ProfileId } from '../../ingest/event.ts';
import { SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { FIRST, nextBehind } from '../cursor.ts';
import { columnsText } from '../export/columns.ts';
import { type ExportRow, exportedEventOf } from '../export/row.ts';
import type { Insight } from '../http/endpoint.ts';
import { LISTED_INCLUDES } from '../insights/event-list-api.ts';
import { isFullPage, pageWithin } from '../page-size.ts';
import { RejectError } from '../reject.ts';
import type { StatementRunner } from '../snapshot/history.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import type { Seam } from '../snapshot/seam.ts';
import {
  type JourneyAnswer,
  type JourneyEvent,
  type JourneyQuery,
  journeyAnswer,
  journeyQuery,
} from './journey-api.ts';
import { rejectUnknownProfile, unknownRecord } from './known-profile.ts';
import { EVER, type PeopleSources } from './people-sources.ts';

/**
 * A journey is read in two steps. The first finds the sessions that may have events on the page, few of a person's many
 * sessions.
 *
 *     session A   ├──────┤
 *     session B             ├───┤
 *     session C                  ├────────┤
 *     session D                                ├──┤
 *     page of 2     │behind     ▲          ▲
 *                               1st close  2nd close: the last time of the page; D is not needed
 *
 * A session that closes behind the position has an event there: its last one. So the first `needed` closes are as many
 * events, and later events are not on the page. The second step reads the events of these sessions in their hours,
 * where the index finds them.
 */

/** Maximum number of sessions on one page. Reaching it takes as many simultaneous devices of one profile, or credited payments. */
const SESSIONS_MAX = 20_000;
const SESSION_ID = /^[0-9a-f]{32}$/i;
const LAST_MS = '9223372036854775807';

/** The journey's subject: a profile or one session; the other id is empty. */
interface Traveller {
  readonly profileId: ProfileId;
  readonly sessionId: string;
}

const DEFINITION = [
  'Events in order of time, ties by id, with the fields of the list of events. `sessionId` shows where a session begins and ends; it is empty for an event outside of sessions.',
  '`session_start` and `session_end` are left out, unless `synthetic=true`. `x-next-cursor` has the cursor of the next page, which belongs to one `order`; a late event in front of it is not shown any more.',
].join(' ');
const BOUND = `A page whose events may lie in more than ${SESSIONS_MAX.toLocaleString('en-US')} sessions is rejected with 400.`;

/** `GET /insights/{projectId}/profiles/{profileId}/journey` */
export function profileJourneyInsight(sources: PeopleSources): Insight<JourneyQuery, JourneyAnswer> {
  return {
    path: 'profiles/:profileId/journey',
    about: {
      summary: 'What a person did, event by event',
      description: [
        'The events of the sessions whose profile it is now, those before the login included, and the events outside of sessions that name it. Events that name it within a session which has another profile by now belong to the journey of that one.',
        DEFINITION,
        `Returns 404 when neither an update nor a session nor an event names the profile. ${BOUND}`,
      ].join('\n\n'),
      answer: journeyAnswer,
    },
    schema: journeyQuery,
    answer: (scope, query, { profileId = '' } = {}) =>
      answerJourney(sources, scope, { ...query, profileId, sessionId: '' }),
    next: nextOf,
  };
}

/** `GET /insights/{projectId}/sessions/{sessionId}/journey` */
export function sessionJourneyInsight(sources: PeopleSources): Insight<JourneyQuery, JourneyAnswer> {
  return {
    path: 'sessions/:sessionId/journey',
    about: {
      summary: 'What happened in a session, event by event',
      description: `${DEFINITION} Returns 404 for an unknown session.`,
      answer: journeyAnswer,
    },
    schema: journeyQuery,
    answer: (scope, query, { sessionId = '' } = {}) =>
      answerJourney(sources, scope, { ...query, profileId: '', sessionId }),
    next: nextOf,
  };
}

function nextOf(query: JourneyQuery, page: JourneyAnswer): string | undefined {
  return nextBehind(query, page, ({ createdAt, id }) => ({ at: createdAt, id }));
}

/** A page of a journey. @throws {RejectError} 404 when there is no such profile or session */
export async function answerJourney(
  sources: PeopleSources,
  scope: QuestionScope,
  query: JourneyQuery & Traveller,
): Promise<JourneyAnswer> {
  const { profileId, sessionId } = query;
  if (profileId === '' && !SESSION_ID.test(sessionId)) throw unknownRecord('session', sessionId);
  const seam = await openSeam(sources, scope, query);
  const page = await readPage(sources.history, seam, scope, query);
  if (page.length > 0) return page;
  if (profileId !== '') await rejectUnknownProfile(sources, scope, seam, profileId);
  else if ((await readPage(sources.history, seam, scope, { ...query, ...ANY_EVENT })).length === 0)
    throw unknownRecord('session', sessionId);
  return [];
}

/** Finds any event of a session; every session has one. */
const ANY_EVENT = { cursor: FIRST, limit: 1 } as const;

async function readPage(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: JourneyQuery & Traveller,
): Promise<JourneyAnswer> {
  const { limit, order, cursor = FIRST } = query;
  const isForward = order === 'asc';
  const skipped = cursor.kind === 'rows' ? cursor.rows : 0;
  // One more event than the page has: the one before its first, by time.
  const isLed = isForward && skipped > 0;
  const rows = await readRows(history, seam, scope, query, {
    offset: isLed ? skipped - 1 : skipped,
    limit: isForward && !isLed ? limit : limit + 1,
  });
  const events = rows.map((row) => exportedEventOf(row, scope.site.id, new Set(LISTED_INCLUDES)));
  const beforeMs = (at: number): number | undefined => {
    const before = rows[isForward ? at - 1 : at + 1]?.createdAt;
    return before ?? (isForward && cursor.kind === 'behind' ? cursor.atMs : undefined);
  };
  const page = events.map((event, at): JourneyEvent => {
    const previousMs = beforeMs(at);
    const sincePreviousMs = previousMs === undefined ? null : Date.parse(event.createdAt) - previousMs;
    return { ...event, sincePreviousMs };
  });
  return pageWithin(isLed ? page.slice(1) : page.slice(0, limit));
}

interface Rows {
  readonly offset: number;
  readonly limit: number;
}

async function readRows(
  history: StatementRunner,
  seam: Seam,
  scope: QuestionScope,
  query: JourneyQuery & Traveller,
  { offset, limit }: Rows,
): Promise<readonly ExportRow[]> {
  const { cursor = FIRST, order } = query;
  const isForward = order === 'asc';
  const behindMs = cursor.kind === 'behind' ? cursor.atMs : isForward ? EVER.fromMs : EVER.toMs;
  for (let needed = offset + limit; ; needed *= 2) {
    const found = await readSessions(history, seam, scope, query, { behindMs, needed });
    const toMs = found.untilMs === undefined || !isForward ? EVER.toMs : found.untilMs;
    const fromMs = found.untilMs === undefined || isForward ? EVER.fromMs : -found.untilMs;
    const page = {
      fromMs: isForward ? Math.max(fromMs, behindMs) : fromMs,
      toMs: isForward ? toMs : Math.min(toMs, behindMs),
    };
    const parameters = {
      site: scope.site.storedId,
      profileId: query.profileId,
      hours: hoursOf(found.sessions, page),
      sessions: found.sessions.filter(({ isCredited }) => isCredited === 0).map(({ id }) => id),
      credited: found.sessions.filter(({ isCredited }) => isCredited !== 0).map(({ id }) => id),
      synthetic: [SESSION_START, SESSION_END],
      unwanted: query.synthetic ? [] : [SESSION_START, SESSION_END],
      isForward: isForward ? 1 : 0,
      behindAt: behindMs,
      behindId: cursor.kind === 'behind' ? cursor.id : '',
      from: page.fromMs,
      to: page.toMs,
      limit,
      offset,
    };
    const texts = {
      columns: columnsText(LISTED_INCLUDES),
      order: isForward ? 'createdAt, id' : 'createdAt DESC, id DESC',
    };
    const rows = await history.ask({ name: 'journey', parameters, texts, isPage: true }, seam);
    // A flush that lands meanwhile may close a session with an event that this seam lacks.
    if (isFullPage(rows, limit) || found.untilMs === undefined) return rows;
  }
}

interface JourneySession {
  readonly id: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly isCredited: number;
}

interface FoundSessions {
  readonly sessions: readonly JourneySession[];
  /** The last time of the page, negated in a journey that runs backwards; undefined where no session is left out. */
  readonly untilMs: number | undefined;
}

async function readSessions(
  history: StatementRunner,
  seam: Seam,
  { site }: QuestionScope,
  { profileId, sessionId, order }: JourneyQuery & Traveller,
  { behindMs, needed }: { readonly behindMs: number; readonly needed: number },
): Promise<FoundSessions> {
  const isForward = order === 'asc';
  const parameters = {
    site: site.storedId,
    profileId,
    sessionId,
    isForward: isForward ? 1 : 0,
    behindMs: isForward ? behindMs : -behindMs,
    needed,
    lastMs: LAST_MS,
    sessionsMax: SESSIONS_MAX + 1,
  };
  const rows = await history.ask({ name: 'journey-sessions', parameters }, seam);
  if (rows.length > SESSIONS_MAX)
    throw new RejectError('invalid', `cursor: the page may lie in more than ${SESSIONS_MAX} sessions`);
  const until = rows[0]?.until ?? LAST_MS;
  return { sessions: rows, untilMs: until === LAST_MS ? undefined : Number(until) };
}

/** The hours of a span in which the sessions may have events, in seconds since 1970. */
function hoursOf(
  sessions: readonly JourneySession[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): number[] {
  const hours = new Set<number>();
  for (const { startedMs, endedMs, isCredited } of sessions) {
    if (isCredited !== 0) continue;
    const lastMs = Math.min(endedMs, toMs);
    for (let hour = Math.floor(Math.max(startedMs, fromMs) / HOUR_MS); hour * HOUR_MS <= lastMs; hour += 1)
      hours.add((hour * HOUR_MS) / 1000);
  }
  return [...hours];
}
