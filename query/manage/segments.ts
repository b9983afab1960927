import {
  DEFINITION_BODY_MAX_BYTES,
  SEGMENTS_MAX,
  type SegmentRecord,
  segmentAnswer,
  segmentChange,
  segmentCreation,
  segmentsAnswer,
} from '../definitions/definition-records.ts';
import { type AnyEndpoint, anyEndpoint } from '../http/serve.ts';
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

const ALL = '/manage/projects/:projectId/segments';

/** `/manage/projects/{projectId}/segments`: named sets of filters. */
export function segmentEndpoints(deps: ManageDeps): AnyEndpoint[] {
  const kind: ControlRecordKind<SegmentRecord> = {
    what: 'segment',
    mirror: deps.catalog.segments,
    belongs: ofSiteInPath(deps),
    shown: shownRecord,
  };
  const all = { pattern: ALL, kind: 'manage-segments', area: 'manage' as const, schema: noParameters };
  return [
    anyEndpoint({
      ...all,
      method: 'get',
      about: {
        summary: 'List segments',
        description:
          'Returns the segments of the site, newest first. A segment is a named set of filters, which questions take as `segment`.',
        answer: segmentsAnswer,
      },
      body: undefined,
      answer: async (call) => ({ json: { data: listOf(kind, call).map(kind.shown) } }),
    }),
    anyEndpoint({
      ...all,
      method: 'post',
      about: {
        summary: 'Create a segment',
        description: `Names a set of filters, which questions take as \`segment\` with the id or the name. Filters that a question would reject return 400, and so does a name that another segment of the site has. Maximum: ${SEGMENTS_MAX} segments per site.`,
        answer: segmentAnswer,
      },
      body: segmentCreation,
      bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
      answer: async (call) => {
        const site = ownSite(deps, call.client, call.path.projectId ?? '');
        const before = listOf(kind, call);
        rejectMoreThan(SEGMENTS_MAX, 'segments of the site', before);
        rejectTakenName(call.body.name, before);
        const entry = await createRecord(deps, kind.mirror, ({ id, ...times }) => ({
          id,
          projectId: site.id,
          storedId: site.storedId,
          ...call.body,
          ...times,
        }));
        return answerEntry(kind, entry);
      },
    }),
    ...oneRecordEndpoints(deps, kind, {
      pattern: `${ALL}/:segmentId`,
      name: 'manage-segment',
      about: {
        get: { summary: 'Get a segment', description: 'The segment must belong to the site in the path.' },
        patch: {
          summary: 'Update a segment',
          description: 'Given fields replace the stored ones, filters as a whole.',
        },
        delete: {
          summary: 'Delete a segment',
          description: 'Returns the deleted segment. Questions that name it are 400 from then on.',
        },
      },
      answer: segmentAnswer,
      change: segmentChange,
      bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
      changed: (current, call) => {
        const { name = current.name, filters = current.filters } = call.body;
        rejectTakenName(
          name,
          listOf(kind, call).filter(({ id }) => id !== current.id),
        );
        return { ...current, name, filters };
      },
    }),
  ];
}
