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
import type { AnyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { shownRecord } from './catalog-api.ts';
import type { ManageDeps } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { namedSite, siteInPath } from './record-parents.ts';

/** `/manage/projects/{projectId}/goals`: the definitions of conversions. */
export function goalEndpoints(deps: ManageDeps): AnyEndpoint[] {
  return recordEndpoints(deps, {
    ...siteInPath(deps),
    what: 'goal',
    mirror: deps.catalog.goals,
    shown: shownRecord,
    about: {
      list: {
        summary: 'List goals',
        description:
          'Returns the goals of the site, newest first. `GET /insights/{projectId}/goals` has their conversions.',
      },
      create: {
        summary: 'Create a goal',
        description: `A goal is reached by an event of a name, or by a screen view of a path, that also passes the goal's filters. Questions take it as \`goal\` with the id or the name, and then answer with conversions. A name that another goal of the site has is 400. Maximum: ${GOALS_MAX} goals per site, and 20 filters each.`,
      },
      get: { summary: 'Get a goal', description: 'The goal must belong to the site in the path.' },
      change: {
        summary: 'Update a goal',
        description:
          'Given fields replace the stored ones, filters as a whole. The type is fixed. Conversions are counted from the events, so a change applies to all of history.',
      },
      delete: {
        summary: 'Delete a goal',
        description: 'Returns the deleted goal. Questions that name it are 400 from then on.',
      },
    },
    answers: { list: goalsAnswer, one: goalAnswer },
    creation: goalCreation,
    change: goalChange,
    bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
    limits: [{ max: GOALS_MAX, what: 'goals of the site' }],
    uniqueName: ({ name }) => name,
    check: ({ body }) => rejectForeignField(body.type, body),
    make: ({ body: { name, type, event = null, path = null, filters, value } }, site) => ({
      record: ({ id, ...times }) => ({
        id,
        ...namedSite(site),
        ...{ name, type, event, path, filters, value },
        ...times,
      }),
    }),
    changed: (current, { body }) => {
      rejectForeignField(current.type, body);
      return { ...current, ...given(body) };
    },
  });
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
