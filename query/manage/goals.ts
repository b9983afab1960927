import {
  DEFINITION_BODY_MAX_BYTES,
  GOALS_MAX,
  type GoalChange,
  type GoalRecord,
  goalAnswer,
  goalChange,
  goalCreation,
  goalsAnswer,
} from '../definitions/definition-records.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { shownRecord } from './catalog-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints } from './record-endpoints.ts';
import {
  answerEntry,
  type ControlRecordKind,
  createRecord,
  listOf,
  ofSiteInPath,
  rejectMoreThan,
  rejectTakenName,
} from './record-kind.ts';

const ALL = '/manage/projects/:projectId/goals';

/** `/manage/projects/{projectId}/goals`: the definitions of conversions. */
export function goalEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<GoalRecord> = {
    what: 'goal',
    mirror: deps.catalog.goals,
    belongs: ofSiteInPath(deps),
    shown: shownRecord,
  };
  const all = { pattern: ALL, kind: 'manage-goals', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: {
        summary: 'List goals',
        description:
          'Returns the goals of the site, newest first. `GET /insights/{projectId}/goals` has their conversions.',
        answer: goalsAnswer,
      },
      body: undefined,
      answer: async (call) => ({ json: { data: listOf(kind, call).map(kind.shown) } }),
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: {
        summary: 'Create a goal',
        description: `A goal is reached by an event of a name, or by a screen view of a path, that also passes the goal's filters. Questions take it as \`goal\` with the id or the name, and then answer with conversions. A name that another goal of the site has is 400. Maximum: ${GOALS_MAX} goals per site, and 20 filters each.`,
        answer: goalAnswer,
      },
      body: goalCreation,
      bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
      answer: async (call) => {
        const { name, type, event = null, path = null, filters, value } = call.body;
        rejectForeignField(type, call.body);
        const site = ownSite(deps, call.client, call.path.projectId ?? '');
        const before = listOf(kind, call);
        rejectMoreThan(GOALS_MAX, 'goals of the site', before);
        rejectTakenName(name, before);
        const entry = await createRecord(deps, kind.mirror, ({ id, ...times }) => ({
          id,
          projectId: site.id,
          storedId: site.storedId,
          ...{ name, type, event, path, filters, value },
          ...times,
        }));
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:goalId`,
      name: 'manage-goal',
      about: {
        get: { summary: 'Get a goal', description: 'The goal must belong to the site in the path.' },
        patch: {
          summary: 'Update a goal',
          description:
            'Given fields replace the stored ones, filters as a whole. The type is fixed. Conversions are counted from the events, so a change applies to all of history.',
        },
        delete: {
          summary: 'Delete a goal',
          description: 'Returns the deleted goal. Questions that name it are 400 from then on.',
        },
      },
      answer: goalAnswer,
      change: goalChange,
      bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
      changed: (current, call) => {
        rejectForeignField(current.type, call.body);
        const next = { ...current, ...given(call.body) };
        rejectTakenName(
          next.name,
          listOf(kind, call).filter(({ id }) => id !== current.id),
        );
        return next;
      },
    }),
  ];
}

/** The fields of a change that are present. */
function given({ name, event, path, filters, value }: GoalChange): Partial<GoalRecord> {
  return {
    ...(name === undefined ? {} : { name }),
    ...(event === undefined ? {} : { event }),
    ...(path === undefined ? {} : { path }),
    ...(filters === undefined ? {} : { filters }),
    ...(value === undefined ? {} : { value }),
  };
}

function rejectForeignField(
  type: GoalRecord['type'],
  { event, path }: Pick<GoalChange, 'event' | 'path'>,
): void {
  if (type === 'event' && path !== undefined)
    throw new RejectError('invalid', 'path: only for the type page');
  if (type === 'page' && event !== undefined)
    throw new RejectError('invalid', 'event: only for the type event');
}
