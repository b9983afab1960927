import type { AnyEndpoint } from '../serve.ts';
import { clientEndpoints } from './clients.ts';
import type { ManageParts } from './manage.ts';
import { projectEndpoints } from './projects.ts';

/** Everything below `/manage`. */
export function manageEndpoints(parts: ManageParts): AnyEndpoint[] {
  return [...projectEndpoints(parts), ...clientEndpoints(parts)];
}
