import { Accounts, CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { SecretVerifier } from '../infra/accounts/client-auth.ts';
import { SharedLimit } from '../infra/accounts/shared-limit.ts';
import { followBucket, Mirror } from '../infra/bus/mirror.ts';
import type { HostContext, Mounted } from '../infra/process/host.ts';
import { Store } from '../infra/store/store.ts';
import { EntityQuestions } from '../ingest/entity-lookup.ts';
import {
  bucketOf,
  DELIVERIES_BUCKET,
  type Delivery,
  deliverySchema,
  INTEGRATION_PREFIX,
  readEndpointsAllowed,
} from '../processor/integration.ts';
import { Authenticator } from './http/authenticator.ts';
import { Catalog } from './manage/catalog.ts';
import { manageEndpoints } from './manage/endpoints.ts';
import { TRIAL_STEP_MAX_MS } from './manage/integrations/integration-trial.ts';
import { ControlRecords } from './manage/records.ts';
import { addDocumentation } from './openapi/documentation.ts';
import { questionEndpoints } from './routes.ts';
import { SiteMemory } from './site-memory.ts';
import { History } from './snapshot/history.ts';
import { HotView } from './snapshot/hot-view.ts';
import { StoreWatch } from './snapshot/store-watch.ts';

/** Beyond the time that the store gives a statement, so that it is the store who says that it took too long. */
const ANSWER_SLACK_MS = 5_000;
const STREAM_SILENCE_MAX_MS = 600_000;
const PING_TIME_MAX_MS = 3_000;
const RECORD_TIME_MAX_MS = 3_000;
/** A secret is not cheap to verify, and nobody needs more tries. */
const FAILURES = { requestsMax: 100, windowMs: 10_000 };
const WINDOW_MS = 10_000;
/** The bus answers within milliseconds; a client is not kept waiting to be counted. */
const LIMIT_WAIT_MAX_MS = 500;

/** Answers questions about what was collected, and manages the sites and clients that may ask. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, clock, log, metrics, http } = context;
  const place = { url: config.CLICKHOUSE_URL, database: config.CLICKHOUSE_DATABASE };
  const store = new Store({ ...place, requestTimeoutMs: config.QUERY_TIME_MAX_MS + ANSWER_SLACK_MS });
  const streams = new Store({ ...place, requestTimeoutMs: STREAM_SILENCE_MAX_MS });
  const pinged = new Store({ ...place, requestTimeoutMs: PING_TIME_MAX_MS });
  const accounts = await Accounts.open(bus, log);
  const catalog = await Catalog.open(bus, log);
  const deliveries = new Mirror<Delivery>(INTEGRATION_PREFIX, deliverySchema);
  const stopDeliveries = await followBucket(await bus.keyed(DELIVERIES_BUCKET), [deliveries], log);
  const bucketOptions = {
    secretsKey: config.SECRETS_KEY,
    endpointsAllowed: readEndpointsAllowed(config.ENDPOINTS_ALLOWED),
    timeoutMs: TRIAL_STEP_MAX_MS,
  };
  const limits = { timeMaxMs: config.QUERY_TIME_MAX_MS, memoryMaxBytes: config.QUERY_MEMORY_MAX_BYTES };
  const watch = await StoreWatch.start(pinged, clock);
  const memory = new SiteMemory();
  accounts.sites.onChange((after, before) => {
    if (before !== undefined && after?.value.deletion !== null) memory.evict(before.value.storedId);
  });
  // Whoever was erased is in sums that were kept before.
  catalog.erasures.onChange((after) => {
    if (after?.value.status === 'done') memory.evict(after.value.storedId);
  });
  const questions = limitOf('questions', config.QUERY_LIMIT_PER_10_S, context);
  const manage = limitOf('manage', config.MANAGE_LIMIT_PER_10_S, context);
  const authenticator = new Authenticator({
    directory: accounts,
    verifier: new SecretVerifier(),
    clock,
    metrics,
    log,
    limits: { insights: questions, export: questions, manage },
    failures: FAILURES,
  });
  const endpoints = [
    ...questionEndpoints({
      history: new History({ store, streams, isReachable: () => watch.dependency.up, limits, metrics }),
      hot: new HotView({ bus, partitions: config.PARTITIONS, clock, metrics }),
      records: new EntityQuestions(bus, config.PARTITIONS, RECORD_TIME_MAX_MS),
      directory: accounts,
      clock,
      memory,
    }),
    ...manageEndpoints({
      accounts,
      catalog,
      records: new ControlRecords(await bus.keyed(CONTROL_BUCKET)),
      clock,
      store,
      isStoreReachable: () => watch.dependency.up,
      secretsKey: config.SECRETS_KEY,
      deliveries,
      bucketOf: (integration) => bucketOf(integration, bucketOptions),
    }),
  ];
  for (const endpoint of endpoints) endpoint.addTo(http, authenticator, metrics);
  addDocumentation(http, endpoints);
  const busSince = clock.nowMs();
  return {
    dependencies: () => [{ name: 'bus', up: bus.connected, since: busSince }, watch.dependency],
    stop: async () => {
      watch.stop();
      stopDeliveries();
      catalog.stop();
      accounts.stop();
      await store.close();
      await streams.close();
      await pinged.close();
    },
  };
}

/** Undefined where there is none. */
function limitOf(
  name: string,
  requestsMax: number,
  { bus, clock, metrics, log }: HostContext,
): SharedLimit | undefined {
  if (requestsMax === 0) return undefined;
  const limit = { requestsMax, windowMs: WINDOW_MS };
  return new SharedLimit({ name, limit, bus, clock, metrics, log, waitMaxMs: LIMIT_WAIT_MAX_MS });
}
