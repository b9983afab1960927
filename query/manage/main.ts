import { type Accounts, CONTROL_BUCKET } from '../../infra/accounts/accounts.ts';
import type { ClientUses } from '../../infra/accounts/client-uses.ts';
import { followBucket, Mirror } from '../../infra/bus/mirror.ts';
import type { HostContext } from '../../infra/process/host.ts';
import type { PerShard } from '../../infra/store/store-shards.ts';
import { ALIASES_BUCKET } from '../../ingest/entity-update.ts';
import {
  bucketOf,
  DELIVERIES_BUCKET,
  type Delivery,
  deliverySchema,
  INTEGRATION_PREFIX,
  readEndpointsAllowed,
} from '../../processor/integration.ts';
import { CONNECTION_PREFIX, SYNCS_BUCKET, type Sync, syncSchema } from '../../processor/search-console.ts';
import { AuditLog } from '../audit/audit-log.ts';
import type { AnyEndpoint } from '../http/serve.ts';
import type { Passphrases } from '../sign-in/passphrases.ts';
import type { SiteMemory } from '../site-memory.ts';
import type { Catalog } from './catalog.ts';
import { manageEndpoints } from './endpoints.ts';
import type { RowStore } from './gsc/gsc-rows.ts';
import { TRIAL_STEP_MAX_MS } from './integrations/integration-trial.ts';
import { ControlRecords } from './records.ts';
import { TeamBytes } from './team-bytes.ts';

export interface ManageOptions {
  readonly context: Pick<HostContext, 'bus' | 'clock' | 'config' | 'log'>;
  readonly accounts: Accounts;
  /** Its owner stops it. */
  readonly catalog: Catalog;
  readonly uses: ClientUses;
  readonly passphrases: Passphrases;
  readonly rowStores: PerShard<RowStore>;
  /** The caches of this process, which evict a site when it is deleted or a person of it is erased. */
  readonly memory: SiteMemory;
}

export interface Managed {
  readonly endpoints: readonly AnyEndpoint[];
  readonly audit: AuditLog;
  readonly stop: () => void;
}

/** Everything below `/manage`: with the catalog of control records, and ends with `stop`. */
export async function openManage({
  context,
  accounts,
  catalog,
  uses,
  passphrases,
  rowStores,
  memory,
}: ManageOptions): Promise<Managed> {
  const { bus, clock, config, log } = context;
  const deliveries = new Mirror<Delivery>(INTEGRATION_PREFIX, deliverySchema);
  const stopDeliveries = await followBucket(await bus.keyed(DELIVERIES_BUCKET), [deliveries], log);
  const syncs = new Mirror<Sync>(CONNECTION_PREFIX, syncSchema);
  const stopSyncs = await followBucket(await bus.keyed(SYNCS_BUCKET), [syncs], log);
  accounts.sites.onChange((after, before) => {
    if (before !== undefined && after?.value.deletion !== null) memory.evict(before.value.storedId);
  });
  catalog.erasures.onChange((after) => {
    if (after?.value.status === 'done') memory.evict(after.value.storedId);
  });
  const audit = await AuditLog.open(bus, clock);
  const bucketOptions = {
    secretsKey: config.SECRETS_KEY,
    endpointsAllowed: readEndpointsAllowed(config.ENDPOINTS_ALLOWED),
    timeoutMs: TRIAL_STEP_MAX_MS,
  };
  const endpoints = manageEndpoints({
    accounts,
    uses,
    catalog,
    records: new ControlRecords(await bus.keyed(CONTROL_BUCKET), new TeamBytes(accounts, catalog)),
    aliases: await bus.keyed(ALIASES_BUCKET),
    clock,
    limits: config,
    rowStores,
    audit,
    passphrases,
    secretsKey: config.SECRETS_KEY,
    deliveries,
    syncs,
    bucketOf: (integration) => bucketOf(integration, bucketOptions),
  });
  return {
    endpoints,
    audit,
    stop: () => {
      stopDeliveries();
      stopSyncs();
    },
  };
}
