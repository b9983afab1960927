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
  shownRecord,
} from './catalog-api.ts';
import { type ManageDeps, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import { oneRecordEndpoints, teamListEndpoint } from './record-endpoints.ts';
import {
  answerEntry,
  type ControlRecordKind,
  createRecord,
  listOf,
  ofTeamSite,
  rejectMoreThan,
} from './record-kind.ts';

const ALL = '/manage/references';
const REFERENCES_MAX = 1_000;

/** `/manage/references`: dates to mark on the charts of a team's sites. */
export function referenceEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const zones = new Zones();
  const kind: ControlRecordKind<Reference> = {
    what: 'reference',
    mirror: deps.catalog.references,
    belongs: ofTeamSite(deps),
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
        summary: 'List references',
        description:
          'Returns the references of the team, or of one site, newest first. A reference is a date to mark on charts, such as a release.',
        answer: referencesAnswer,
      },
    }),
    anyEndpoint({
      method: 'post',
      pattern: ALL,
      kind: 'manage-references',
      area: 'manage',
      about: {
        summary: 'Create a reference',
        description:
          'Marks a date on the charts of a site. A date without a time is midnight in the time zone of the site. Maximum: 1,000 references per site.',
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
        get: { summary: 'Get a reference', description: 'The reference may belong to any site of the team.' },
        patch: {
          summary: 'Update a reference',
          description: 'Given fields replace the stored ones.',
        },
        delete: { summary: 'Delete a reference', description: 'Returns the deleted reference.' },
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
