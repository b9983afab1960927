import type { AnyEndpoint } from '../../http/serve.ts';
import { manageEndpoints } from '../../manage/endpoints.ts';
import type { EndpointDeps } from '../../manage/manage.ts';
import { type QuestionSources, questionEndpoints } from '../../routes.ts';

/** Whatever is asked of it is it again: it stands where nothing is ever asked. */
const NOTHING: object = new Proxy(() => NOTHING, { get: () => NOTHING });

/** Every endpoint of this room, to be described and not to be asked. */
export function describedEndpoints(): readonly AnyEndpoint[] {
  return [...questionEndpoints(NOTHING as QuestionSources), ...manageEndpoints(NOTHING as EndpointDeps)];
}
