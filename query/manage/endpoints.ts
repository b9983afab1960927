import type { AnyEndpoint } from '../http/serve.ts';
import { aliasEndpoints } from './aliases.ts';
import { auditEndpoint } from './audit.ts';
import { clientEndpoints } from './clients.ts';
import { dashboardEndpoints } from './dashboards.ts';
import { erasureEndpoints } from './erasures.ts';
import { gscEndpoints } from './gsc/gsc.ts';
import { integrationEndpoints } from './integrations/integrations.ts';
import type { EndpointDeps } from './manage.ts';
import { projectEndpoints } from './projects.ts';
import { referenceEndpoints } from './references.ts';
import { reportEndpoints } from './reports.ts';

/** Everything below `/manage`. */
export function manageEndpoints(deps: EndpointDeps): AnyEndpoint[] {
  return [
    ...projectEndpoints(deps),
    ...clientEndpoints(deps),
    ...referenceEndpoints(deps),
    ...dashboardEndpoints(deps),
    ...reportEndpoints(deps),
    ...erasureEndpoints(deps),
    ...aliasEndpoints(deps),
    ...gscEndpoints(deps),
    ...integrationEndpoints(deps),
    auditEndpoint(deps),
  ];
}
