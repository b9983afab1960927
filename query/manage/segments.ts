import {
  DEFINITION_BODY_MAX_BYTES,
  SEGMENTS_MAX,
  segmentAnswer,
  segmentChange,
  segmentCreation,
  segmentsAnswer,
} from '../definitions/definition-records.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import { shownRecord } from './catalog-api.ts';
import type { ManageDeps } from './manage.ts';
import { recordEndpoints } from './record-endpoints.ts';
import { namedSite, siteInPath } from './record-parents.ts';

/** `/manage/projects/{projectId}/segments`: named sets of filters. */
export function segmentEndpoints(deps: ManageDeps): AnyEndpoint[] {
  return recordEndpoints(deps, {
    ...siteInPath(deps),
    what: 'segment',
    mirror: deps.catalog.segments,
    shown: shownRecord,
    about: {
      list: {
        summary: 'List segments',
        description:
          'Returns the segments of the site, newest first. A segment is a named set of filters, which questions take as `segment`.',
      },
      create: {
        summary: 'Create a segment',
        description: `Names a set of filters, which questions take as \`segment\` with the id or the name. Filters that a question would reject return 400, and so does a name that another segment of the site has. Maximum: ${SEGMENTS_MAX} segments per site.`,
      },
      get: { summary: 'Get a segment', description: 'The segment must belong to the site in the path.' },
      change: {
        summary: 'Update a segment',
        description: 'Given fields replace the stored ones, filters as a whole.',
      },
      delete: {
        summary: 'Delete a segment',
        description: 'Returns the deleted segment. Questions that name it are 400 from then on.',
      },
    },
    answers: { list: segmentsAnswer, one: segmentAnswer },
    creation: segmentCreation,
    change: segmentChange,
    bodyMaxBytes: DEFINITION_BODY_MAX_BYTES,
    limits: [{ max: SEGMENTS_MAX, what: 'segments of the site' }],
    uniqueName: ({ name }) => name,
    make: ({ body }, site) => ({
      record: ({ id, ...times }) => ({ id, ...namedSite(site), ...body, ...times }),
    }),
    changed: (current, { body: { name = current.name, filters = current.filters } }) => ({
      ...current,
      name,
      filters,
    }),
  });
}
