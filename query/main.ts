import { Accounts, CONTROL_BUCKET } from '../infra/accounts/accounts.ts';
import { SecretVerifier } from '../infra/accounts/client-auth.ts';
import { SecretGuard } from '../infra/accounts/secret-guard.ts';
import { EXCHANGE_MS, SharedRateLimiter } from '../infra/accounts/shared-rate-limiter.ts';
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

/** Added to the time that the store gives a statement, so that the store is first to report that it took too long. */
const ANSWER_SLACK_MS = 5_000;
const STREAM_SILENCE_MAX_MS = 600_000;
const PING_TIME_MAX_MS = 3_000;
const RECORD_TIME_MAX_MS = 3_000;
const LIMIT_WINDOW_MS = 10_000;
const FORGET_EVERY_MS = 60_000;

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
    if (before !== undefined && after?.value.deletion !== null) memory.forget(before.value.storedId);
  });
  // Whoever was erased is in sums that were kept before.
  catalog.erasures.onChange((after) => {
    if (after?.value.status === 'done') memory.forget(after.value.storedId);
  });
  const questions = limiterOf('questions', config.QUERY_LIMIT_PER_10_S, context);
  const manage = limiterOf('manage', config.MANAGE_LIMIT_PER_10_S, context);
  const secretGuard = new SecretGuard(new SecretVerifier(), clock);
  const forgetting = setInterval(() => secretGuard.forgetExpired(clock.nowMs()), FORGET_EVERY_MS).unref();
  const authenticator = new Authenticator({
    directory: accounts,
    secretGuard,
    limiters: { insights: questions, export: questions, manage },
    metrics,
    log,
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
      clearInterval(forgetting);
      questions.stop();
      manage.stop();
      stopDeliveries();
      catalog.stop();
      accounts.stop();
      await store.close();
      await streams.close();
      await pinged.close();
    },
  };
}

/** Limits each client over all query processes; `requestsMax` 0: no limit. */
function limiterOf(
  kind: string,
  requestsMax: number,
  { bus, clock, metrics }: HostContext,
): SharedRateLimiter {
  const limit = { requestsMax, windowMs: LIMIT_WINDOW_MS };
  return new SharedRateLimiter({ kind, limit, bus, clock, metrics, exchangeMs: EXCHANGE_MS });
}
