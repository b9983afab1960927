import { pointOf } from '../range.ts';
import { RefusalError } from '../refusal.ts';
import { type AnyEndpoint, anyEndpoint } from '../serve.ts';
import { Zones } from '../zone.ts';
import type { Reference } from './catalog.ts';
import {
  referenceAnswer,
  referenceChange,
  referenceCreation,
  referencesAnswer,
  referencesQuery,
  shownRecord,
} from './catalog-api.ts';
import { type ManageParts, ownSite } from './manage.ts';
import { noParameters } from './parameters.ts';
import {
  answerEntry,
  changeRecord,
  createRecord,
  entryOf,
  listOf,
  type RecordKind,
  refuseMoreThan,
  removeRecord,
} from './record-kind.ts';

const ALL = '/manage/references';
const REFERENCES_MAX = 1_000;

/** `/manage/references`: dates that matter to the sites of a team. */
export function referenceEndpoints(parts: ManageParts): AnyEndpoint[] {
  const { accounts, catalog } = parts;
  const zones = new Zones();
  const kind: RecordKind<Reference> = {
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
  const all = { pattern: ALL, kind: 'manage-references', area: 'manage' as const };
  const one = {
    pattern: `${ALL}/:referenceId`,
    kind: 'manage-reference',
    area: 'manage' as const,
    schema: noParameters,
  };
  const instantOf = (date: string, timezone: string) => {
    const point = pointOf(date, zones.of(timezone));
    if (point !== undefined) return new Date(point.fromMs).toISOString();
    throw new RefusalError('invalid', 'date: expected YYYY-MM-DD or an ISO time of the years 1902 to 2298');
  };
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: {
        summary: 'The references of all sites of the team, or of one, newest first',
        answer: referencesAnswer,
      },
      schema: referencesQuery,
      body: undefined,
      answer: async (call) => {
        const { projectId } = call.parameters;
        const site = projectId === undefined ? undefined : ownSite(parts, call.client, projectId);
        const own = listOf(kind, call).filter((one) => site === undefined || one.projectId === site.id);
        return { json: { data: own.map(kind.shown) } };
      },
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: {
        summary: 'Mark a date',
        description: "A date without a time is the midnight with which it begins on the site's clocks.",
        answer: referenceAnswer,
      },
      schema: noParameters,
      body: referenceCreation,
      answer: async (call) => {
        const { title, description, date } = call.body;
        const site = ownSite(parts, call.client, call.body.projectId);
        const before = listOf(kind, call).filter(({ storedId }) => storedId === site.storedId);
        refuseMoreThan(REFERENCES_MAX, 'references of the site', before);
        const at = instantOf(date, site.timezone);
        const entry = await createRecord(parts, kind.mirror, ({ id, ...times }) => ({
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
    anyEndpoint({
      ...one,
      method: 'get',
      about: { summary: 'A reference', answer: referenceAnswer },
      body: undefined,
      answer: async (call) => answerEntry(kind, entryOf(kind, call)),
    }),
    anyEndpoint({
      ...one,
      method: 'patch',
      about: { summary: 'Change a reference', answer: referenceAnswer },
      body: referenceChange,
      answer: async (call) => {
        const { title, description, date } = call.body;
        const entry = await changeRecord(parts, kind, call, (current) => ({
          ...current,
          title: title ?? current.title,
          description: description ?? current.description,
          date:
            date === undefined
              ? current.date
              : instantOf(date, ownSite(parts, call.client, current.projectId).timezone),
        }));
        return answerEntry(kind, entry);
      },
    }),
    anyEndpoint({
      ...one,
      method: 'delete',
      about: { summary: 'Delete a reference', answer: referenceAnswer },
      body: undefined,
      answer: (call) => removeRecord(parts, kind, call),
    }),
  ];
}
