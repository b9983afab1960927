import type { AnyEndpoint } from '../http/serve.ts';
import { aliasEndpoints } from './aliases.ts';
import { auditEndpoint } from './audit.ts';
import { clientEndpoints } from './clients.ts';
import { dashboardEndpoints } from './dashboards.ts';
import { erasureEndpoints } from './erasures.ts';
import { goalEndpoints } from './goals.ts';
import { gscEndpoints } from './gsc/gsc.ts';
import { integrationEndpoints } from './integrations/integrations.ts';
import type { EndpointDeps } from './manage.ts';
import { projectEndpoints } from './projects.ts';
import { referenceEndpoints } from './references.ts';
import { reportEndpoints } from './reports.ts';
import { segmentEndpoints } from './segments.ts';
import { shareEndpoints } from './shares.ts';
import { userEndpoints } from './users.ts';

/** Everything below `/manage`. */
export function manageEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  return [
    ...projectEndpoints(deps),
    ...clientEndpoints(deps),
    ...referenceEndpoints(deps),
    ...dashboardEndpoints(deps),
    ...reportEndpoints(deps),
    ...segmentEndpoints(deps),
    ...goalEndpoints(deps),
    ...erasureEndpoints(deps),
    ...aliasEndpoints(deps),
    ...gscEndpoints(deps),
    ...integrationEndpoints(deps),
    ...userEndpoints(deps),
    ...shareEndpoints(deps),
    auditEndpoint(deps),
  ];
}
