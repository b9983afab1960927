import { groupAnswer, groupQuery, profileAnswer, recordQuery } from '../api.ts';
import { type Insight, insight, type ScopeOf } from '../http/endpoint.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { answerGroup, answerProfile, nextMembers } from './entities.ts';
import { groupListInsight, groupTypesInsight } from './group-list.ts';
import { groupMetricsInsight } from './group-metrics.ts';
import { profileJourneyInsight, sessionJourneyInsight } from './journey.ts';
import type { PeopleSources } from './people-sources.ts';
import { profileListInsight } from './profile-list.ts';
import { profileMetricsInsight } from './profile-metrics.ts';
import { profileSessionsInsight } from './profile-sessions.ts';

/** The endpoint of every question about profiles and groups. */
export function peopleEndpoints(sources: PeopleSources, scopeOf: ScopeOf): AnyEndpoint[] {
  const endpoint = <Parameters, Answer>(question: Insight<Parameters, Answer>) =>
    anyEndpoint(insight(scopeOf, question));
  return [
    endpoint(profileListInsight(sources)),
    endpoint({
      path: 'profiles/:profileId',
      about: {
        summary: 'A profile and its last events',
        description:
          'Returns the profile with every acknowledged update, and its 20 newest events. Returns 404 when neither an update nor an event names the profile.',
        answer: profileAnswer,
      },
      schema: recordQuery,
      answer: (scope, _query, { profileId = '' } = {}) => answerProfile(sources, scope, profileId),
    }),
    endpoint(profileSessionsInsight(sources)),
    endpoint(profileMetricsInsight(sources)),
    endpoint(profileJourneyInsight(sources)),
    endpoint(sessionJourneyInsight(sources)),
    endpoint(groupListInsight(sources)),
    endpoint(groupTypesInsight(sources)),
    endpoint({
      path: 'groups/:groupId',
      about: {
        summary: 'A group and its members',
        description:
          'Returns the group with every acknowledged update, and its members in pages, ordered by id; `x-next-cursor` has the cursor of the next page. A profile is a member once `assign_group` names it. A group exists once `group` or `assign_group` names it; returns 404 otherwise.',
        answer: groupAnswer,
      },
      schema: groupQuery,
      answer: (scope, query, { groupId = '' } = {}) => answerGroup(sources, scope, { ...query, id: groupId }),
      next: nextMembers,
    }),
    endpoint(groupMetricsInsight(sources)),
  ];
}
