import type { ProfileId } from '../../ingest/event.ts';
import { cursorBounds, FIRST, nextBehind } from '../cursor.ts';
import type { Insight } from '../http/endpoint.ts';
import { LISTED_COLUMNS, type ListedSessionRow, listedSessionOf } from '../insights/session-list.ts';
import { type SessionListAnswer, sessionListAnswer } from '../insights/session-list-api.ts';
import { pageWithin } from '../page-size.ts';
import { openSeam, type QuestionScope } from '../snapshot/question.ts';
import { rejectUnknownProfile } from './known-profile.ts';
import { EVER, type PeopleSources } from './people-sources.ts';
import { type ProfileSessionsQuery, profileSessionsQuery } from './profile-metrics-api.ts';
import { type ProfilePlace, STATES_MAX, sessionsOfProfile } from './profile-states.ts';

/** A page of a profile's sessions. */
type AskedSessions = ProfileSessionsQuery & { readonly profileId: ProfileId };

/** `GET /insights/{projectId}/profiles/{profileId}/sessions` */
export function profileSessionsInsight(
  sources: PeopleSources,
): Insight<ProfileSessionsQuery, SessionListAnswer> {
  return {
    path: 'profiles/:profileId/sessions',
    about: {
      summary: 'The sessions of a profile, newest first',
      description:
        'The sessions whose profile it is now, over all time that the site retains, each in its current state. Newest first, ties by id; `x-next-cursor` has the cursor of the next page. A session that names another profile later leaves the list. Returns 404 when neither an update nor a session nor an event names the profile.',
      answer: sessionListAnswer,
    },
    schema: profileSessionsQuery,
    answer: (scope, query, { profileId = '' } = {}) =>
      answerProfileSessions(sources, scope, { ...query, profileId }),
    next: (query, page) => nextBehind(query, page, ({ startedAt, id }) => ({ at: startedAt, id })),
  };
}

/** A page of the sessions of a profile. @throws {RejectError} 404 when there is no such profile */
export async function answerProfileSessions(
  sources: PeopleSources,
  scope: QuestionScope,
  asked: AskedSessions,
  statesMax = STATES_MAX,
): Promise<SessionListAnswer> {
  const { profileId, partial } = asked;
  const seam = await openSeam(sources, scope, { partial });
  const { history, kept } = sources;
  const place = { history, kept, seam, site: scope.site.storedId, profileId };
  const rows = (await pageOfFew(place, asked, statesMax)) ?? (await pageOfMany(place, asked));
  const sessions = pageWithin(rows.map((row) => listedSessionOf(row, scope.site.currency)));
  if (sessions.length === 0) await rejectUnknownProfile(sources, scope, seam, profileId);
  return sessions;
}

/** A page of all sessions of the profile; undefined when there are too many. */
async function pageOfFew(
  place: ProfilePlace,
  { limit, cursor = FIRST }: AskedSessions,
  statesMax: number,
): Promise<readonly ListedSessionRow[] | undefined> {
  const sessions = await sessionsOfProfile(place, statesMax);
  const { behindAt, behindId } = cursorBounds(cursor, EVER.toMs);
  const from = cursor.kind === 'rows' ? cursor.rows : 0;
  return sessions
    ?.filter(({ startedAt, id }) => startedAt < behindAt || (startedAt === behindAt && id > behindId))
    .sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? -1 : 1))
    .slice(from, from + limit);
}

/** The page when there are many: the store groups and orders them. */
function pageOfMany(
  { history, seam, site, profileId }: ProfilePlace,
  { limit, cursor = FIRST }: AskedSessions,
): Promise<readonly ListedSessionRow[]> {
  const parameters = {
    site,
    profileId,
    ...cursorBounds(cursor, EVER.toMs),
    limit,
    offset: cursor.kind === 'rows' ? cursor.rows : 0,
  };
  const texts = { columns: LISTED_COLUMNS };
  return history.ask({ name: 'profile-sessions', parameters, texts, isPage: true }, seam);
}
