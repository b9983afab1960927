import { type Integration, integrationKeyOf } from '../../../processor/integration.ts';
import type { EndpointDeps } from '../manage.ts';
import { type ControlRecordKind, ofTeamSite } from '../record-kind.ts';
import { sealedSecret } from '../sealed-secret.ts';
import { shownIntegration } from './integration-status.ts';

/** Integrations as control records of a team, returned with the progress of their delivery. */
export function integrationKind({
  accounts,
  catalog,
  deliveries,
  clock,
}: EndpointDeps): ControlRecordKind<Integration> {
  return {
    what: 'integration',
    mirror: catalog.integrations,
    belongs: ofTeamSite({ accounts }),
    shown: (integration) =>
      shownIntegration(integration, deliveries.get(integrationKeyOf(integration.id)), clock.nowMs()),
  };
}

/** The secret access key as the record stores it. Throws a `RejectError` if there is no key to seal with. */
export function sealedKey(secretsKey: string, id: string, secretAccessKey: string): string {
  return sealedSecret(secretsKey, integrationKeyOf(id), secretAccessKey);
}
