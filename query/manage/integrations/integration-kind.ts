import { type Integration, integrationKeyOf } from '../../../processor/integration.ts';
import type { EndpointDeps } from '../manage.ts';
import type { ControlRecordKind } from '../record-kind.ts';
import { siteInBody } from '../record-parents.ts';
import { sealedSecret } from '../sealed-secret.ts';
import { shownIntegration } from './integration-status.ts';

/** Integrations as control records of a team, returned with the progress of their delivery. */
export function integrationKind(deps: EndpointDeps): ControlRecordKind<Integration> {
  const { catalog, deliveries, clock } = deps;
  return {
    what: 'integration',
    mirror: catalog.integrations,
    belongs: siteInBody(deps).belongs,
    shown: (integration) =>
      shownIntegration(integration, deliveries.get(integrationKeyOf(integration.id)), clock.nowMs()),
  };
}

/** The secret access key as the record stores it. Throws a `RejectError` if there is no key to seal with. */
export function sealedKey(secretsKey: string, id: string, secretAccessKey: string): string {
  return sealedSecret(secretsKey, integrationKeyOf(id), secretAccessKey);
}
