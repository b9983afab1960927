import { SCREEN_VIEW, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { insightConditions } from '../filters/insight-conditions.ts';
import type { Insight } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import { openSeam, type QuestionScope, requestedRange } from '../snapshot/question.ts';
import {
  type GroupMetricsAnswer,
  type GroupMetricsQuery,
  groupMetricsAnswer,
  groupMetricsQuery,
} from './group-list-api.ts';
import { unknownRecord } from './known-profile.ts';
import { awaitRecords, type PeopleSources } from './people-sources.ts';
import { revenueOf } from './profile-activity.ts';

/** `GET /insights/{projectId}/groups/{groupId}/metrics` */
export function groupMetricsInsight(sources: PeopleSources): Insight<GroupMetricsQuery, GroupMetricsAnswer> {
  return {
    path: 'groups/:groupId/metrics',
    about: {
      summary: 'What a group and its members did in a range',
      description: [
        'An event belongs to the group if it names the group in `groups`, or if its visitor is a member now, whenever the member was assigned. The visitor of an event is the profile of its session, else its own profile. Groups are never added to events by themselves, so most events of a group are those of its members.',
        'Sessions are those of members: an event that names the group makes its session none of them. Members are counted as of now, without regard to the range and the filters.',
        'Returns 404 when neither an update names the group nor a profile is assigned to it. With `partial=true`, what cannot be reached is left out.',
      ].join('\n\n'),
      answer: groupMetricsAnswer,
    },
    schema: groupMetricsQuery,
    answer: (scope, query, { groupId = '' } = {}) =>
      answerGroupMetrics(sources, scope, { ...query, groupId }),
  };
}

/** The figures of a group. @throws {RejectError} 404 when there is no such group */
export async function answerGroupMetrics(
  { history, hot, records }: PeopleSources,
  scope: QuestionScope,
  query: GroupMetricsQuery & { readonly groupId: string },
): Promise<GroupMetricsAnswer> {
  const { site } = scope;
  const { groupId, filters } = query;
  const { span } = requestedRange(query, scope);
  const [seam] = await Promise.all([
    openSeam({ history, hot }, scope, query),
    awaitRecords(records, scope, query),
  ]);
  const conditions = insightConditions(filters, { span });
  const parameters = {
    ...conditions.parameters,
    site: site.storedId,
    group: groupId,
    from: span.fromMs,
    to: span.toMs,
    screenView: SCREEN_VIEW,
    synthetic: [SESSION_START, SESSION_END],
  };
  const asked = { parameters, texts: conditions, filters };
  const [[happened], [begun], record] = await Promise.all([
    history.ask({ name: 'group-events', ...asked }, seam),
    history.ask({ name: 'group-sessions', ...asked }, seam),
    records.ask({ kind: 'group', projectId: site.storedId, id: groupId }),
  ]);
  const { sessions = 0 } = begun ?? {};
  const members = begun?.members ?? 0;
  if (members === 0) {
    if (record.kind === 'absent') throw unknownRecord('group', groupId);
    if (record.kind === 'unavailable')
      throw new RejectError('lane-away', 'this record cannot be reached now');
  }
  return {
    groupId,
    members,
    activeMembers: happened?.activeMembers ?? 0,
    sessions,
    events: happened?.events ?? 0,
    screenViews: happened?.screenViews ?? 0,
    ...revenueOf(happened?.revenue ?? {}, site.currency),
    ...(seam.partial ? { partial: true as const } : {}),
  };
}
