import type { z } from 'zod';
import type { ExportQuery } from '../api.ts';
import { withSegments } from '../definitions/definitions.ts';
import { type Directory, siteForExport } from '../http/access.ts';
import type { About, Endpoint, EndpointAnswer, ScopeOf } from '../http/endpoint.ts';
import { RejectError } from '../reject.ts';
import type { QuestionScope } from '../snapshot/question.ts';

/** The two parameters that may name the site of an export. */
export type NamedSite = Pick<ExportQuery, 'projectId' | 'project_id'>;

/** An endpoint below `/export`, without its access rules. */
export interface ExportQuestion<Parameters extends NamedSite> {
  readonly path: string;
  readonly about: About;
  readonly schema: z.ZodType<Parameters>;
  readonly answer: (scope: QuestionScope, parameters: Parameters) => Promise<EndpointAnswer>;
}

/** Adds the access rules of exports. */
export function exportEndpoint<Parameters extends NamedSite>(
  scopeOf: ScopeOf,
  directory: Directory,
  { path, about, schema, answer }: ExportQuestion<Parameters>,
): Endpoint<Parameters, undefined> {
  return {
    method: 'get',
    pattern: `/export/${path}`,
    kind: `export-${path.replaceAll('.', '-')}`,
    area: 'export',
    about,
    schema,
    body: undefined,
    answer: async ({ client, parameters }) => {
      const site = siteForExport(client, namedSite(parameters), directory);
      const scope = scopeOf(client, site.id);
      return answer(scope, withSegments(parameters, scope.definitions));
    },
  };
}

function namedSite({ projectId, project_id }: NamedSite): string | undefined {
  if (projectId !== undefined && project_id !== undefined && projectId !== project_id)
    throw new RejectError('invalid', 'project_id: contradicts projectId');
  return projectId ?? project_id;
}
