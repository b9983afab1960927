import type { AnyEndpoint } from '../../http/serve.ts';
import { manageEndpoints } from '../../manage/endpoints.ts';
import type { EndpointDeps } from '../../manage/manage.ts';
import { type QuestionSources, questionEndpoints } from '../../routes.ts';

/** Every property and call returns the same proxy. It replaces dependencies that no test calls. */
const NOTHING: object = new Proxy(() => NOTHING, { get: () => NOTHING });

/** Every endpoint of this room, to describe but not to call. */
export function describedEndpoints(): readonly AnyEndpoint[] {
  return [...questionEndpoints(NOTHING as QuestionSources), ...manageEndpoints(NOTHING as EndpointDeps)];
}
