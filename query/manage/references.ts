import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
import { RejectError } from '../reject.ts';
import { pointOf } from '../time/range.ts';
import { Zones } from '../time/zone.ts';
import type { Reference } from './catalog.ts';
import {
  referenceAnswer,
  referenceChange,
  referenceCreation,
  referencesAnswer,
  referencesQuery,
  shownRecord,
} from './catalog-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints, teamListEndpoint } from './record-endpoints.ts';
import { answerEntry, type ControlRecordKind, createRecord, listOf, rejectMoreThan } from './record-kind.ts';

const ALL = '/manage/references';
const REFERENCES_MAX = 1_000;

/** `/manage/references`: dates that matter to the sites of a team. */
export function referenceEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const { accounts, catalog } = deps;
  const zones = new Zones();
  const kind: ControlRecordKind<Reference> = {
    what: 'reference',
    mirror: catalog.references,
    belongs:
      ({ client }) =>
      ({ projectId, storedId }) => {
        const site = accounts.site(projectId);
        return site?.storedId === storedId && site.teamId === client.teamId;
      },
    shown: shownRecord,
  };
  const instantOf = (date: string, timezone: string) => {
    const point = pointOf(date, zones.of(timezone));
    if (point !== undefined) return new Date(point.fromMs).toISOString();
    throw new RejectError('invalid', 'date: expected YYYY-MM-DD or an ISO time of the years 1902 to 2298');
  };
  return [
    teamListEndpoint(deps, kind, {
      pattern: ALL,
      name: 'manage-references',
      about: {
        summary: 'The references of all sites of the team, or of one, newest first',
        answer: referencesAnswer,
      },
      query: referencesQuery,
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-references',
      area: 'manage',
      about: {
        summary: 'Mark a date',
        description: "A date without a time is the midnight with which it begins on the site's clocks.",
        answer: referenceAnswer,
      },
      schema: noParameters,
      body: referenceCreation,
      answer: async (call) => {
        const { title, description, date } = call.body;
        const site = ownSite(deps, call.client, call.body.projectId);
        const before = listOf(kind, call).filter(({ storedId }) => storedId === site.storedId);
        rejectMoreThan(REFERENCES_MAX, 'references of the site', before);
        const at = instantOf(date, site.timezone);
        const entry = await createRecord(deps, kind.mirror, ({ id, ...times }) => ({
          id,
          projectId: site.id,
          storedId: site.storedId,
          title,
          description,
          date: at,
          ...times,
        }));
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:referenceId`,
      name: 'manage-reference',
      about: {
        get: { summary: 'A reference' },
        patch: { summary: 'Change a reference' },
        delete: { summary: 'Delete a reference' },
      },
      answer: referenceAnswer,
      change: referenceChange,
      changed: (current, { client, body: { title, description, date } }) => ({
        ...current,
        title: title ?? current.title,
        description: description ?? current.description,
        date:
          date === undefined
            ? current.date
            : instantOf(date, ownSite(deps, client, current.projectId).timezone),
      }),
    }),
  ];
}
