import { cursorBehindId } from '../cursor.ts';
import type { Insight } from '../http/endpoint.ts';
import { isFullPage, pageWithin } from '../page-size.ts';
import type { QuestionScope } from '../snapshot/question.ts';
import { NO_SEAM } from '../snapshot/seam.ts';
import {
  type GroupListAnswer,
  type GroupListQuery,
  type GroupTypesAnswer,
  type GroupTypesQuery,
  groupListAnswer,
  groupListQuery,
  groupTypesAnswer,
  groupTypesQuery,
} from './group-list-api.ts';
import { awaitRecords, type PeopleSources } from './people-sources.ts';

/** The sources of lists of groups. */
type GroupSources = Pick<PeopleSources, 'history' | 'records'>;

const EXISTS =
  'A group exists once `group` or `assign_group` names it; what events say of groups makes none. A person who is being erased is no member. The newest updates are waited for. When an owner of them cannot say that they are stored, the answer is 503, or with `partial=true` an answer without them and without a mark.';

/** `GET /insights/{projectId}/groups` */
export function groupListInsight(sources: GroupSources): Insight<GroupListQuery, GroupListAnswer> {
  return {
    path: 'groups',
    about: {
      summary: 'Groups, with the number of their members',
      description: `Ordered by id; \`x-next-cursor\` has the cursor of the next page. \`search\` and \`type\` must both hold. ${EXISTS}`,
      answer: groupListAnswer,
    },
    schema: groupListQuery,
    answer: (scope, query) => answerGroupList(sources, scope, query),
    next: ({ limit }, page) => {
      const last = page.at(-1);
      return last === undefined || !isFullPage(page, limit) ? undefined : cursorBehindId(last.id);
    },
  };
}

/** `GET /insights/{projectId}/groups/types` */
export function groupTypesInsight(sources: GroupSources): Insight<GroupTypesQuery, GroupTypesAnswer> {
  return {
    path: 'groups/types',
    about: {
      summary: 'The types of groups, and how many groups have each',
      description: `Sorted by number of groups in descending order, then by type. A group with the id \`types\` is found in the list of groups only. ${EXISTS}`,
      answer: groupTypesAnswer,
    },
    schema: groupTypesQuery,
    answer: (scope, query) => answerGroupTypes(sources, scope, query),
  };
}

/** One page of a site's groups, by id. */
export async function answerGroupList(
  { history, records }: GroupSources,
  scope: QuestionScope,
  query: GroupListQuery,
): Promise<GroupListAnswer> {
  const { search = '', type, limit, cursor } = query;
  history.rejectAway(scope.site.storedId);
  await awaitRecords(records, scope, query);
  const parameters = {
    site: scope.site.storedId,
    search,
    anyType: type === undefined ? 1 : 0,
    type: type ?? '',
    limit,
    behindId: cursor?.kind === 'behind' ? cursor.id : '',
    offset: cursor?.kind === 'rows' ? cursor.rows : 0,
  };
  const rows = await history.ask({ name: 'group-list', parameters, isPage: true }, NO_SEAM);
  const groups = rows.map(({ isOnlyAssigned, createdMs, updatedMs, ...group }) => ({
    ...group,
    createdAt: isOnlyAssigned ? null : new Date(createdMs).toISOString(),
    updatedAt: isOnlyAssigned ? null : new Date(updatedMs).toISOString(),
  }));
  return pageWithin(groups);
}

/** Counts the groups of each type. */
export async function answerGroupTypes(
  { history, records }: GroupSources,
  scope: QuestionScope,
  query: GroupTypesQuery,
): Promise<GroupTypesAnswer> {
  history.rejectAway(scope.site.storedId);
  await awaitRecords(records, scope, query);
  const parameters = { site: scope.site.storedId };
  return history.ask({ name: 'group-types', parameters }, NO_SEAM);
}
