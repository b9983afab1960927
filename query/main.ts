import { Accounts } from '../infra/accounts/accounts.ts';
import { SecretVerifier } from '../infra/accounts/client-auth.ts';
import { SharedLimit } from '../infra/accounts/shared-limit.ts';
import type { HostContext, Mounted } from '../infra/process/host.ts';
import { Store } from '../infra/store/store.ts';
import { EntityQuestions } from '../ingest/entity-lookup.ts';
import { Authenticator } from './http/authenticator.ts';
import { openManage } from './manage/main.ts';
import { addDocumentation } from './openapi/documentation.ts';
import { questionEndpoints } from './routes.ts';
import { SiteMemory } from './site-memory.ts';
import { History } from './snapshot/history.ts';
import { HotView } from './snapshot/hot-view.ts';
import { StoreWatch } from './snapshot/store-watch.ts';

/** A request outlasts the time limit of its statement, so that the store reports a statement that takes too long. */
const ANSWER_SLACK_MS = 5_000;
const STREAM_SILENCE_MAX_MS = 600_000;
const PING_TIME_MAX_MS = 3_000;
const RECORD_TIME_MAX_MS = 3_000;
/** A secret is not cheap to verify, and nobody needs more tries. */
const FAILURES = { requestsMax: 100, windowMs: 10_000 };
const WINDOW_MS = 10_000;
/** The bus answers within milliseconds; a client is not kept waiting to be counted. */
const LIMIT_WAIT_MAX_MS = 500;

/** Mounts the room: answers questions below `/insights` and `/export`, and manages sites and clients below `/manage`. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, clock, log, metrics, http } = context;
  const database = { url: config.CLICKHOUSE_URL, database: config.CLICKHOUSE_DATABASE };
  const store = new Store({ ...database, requestTimeoutMs: config.QUERY_TIME_MAX_MS + ANSWER_SLACK_MS });
  const streams = new Store({ ...database, requestTimeoutMs: STREAM_SILENCE_MAX_MS });
  const pinged = new Store({ ...database, requestTimeoutMs: PING_TIME_MAX_MS });
  const watch = await StoreWatch.start(pinged, clock);
  const isReachable = () => watch.dependency.up;
  const accounts = await Accounts.open(bus, log);
  const memory = new SiteMemory();
  const questionLimit = limitOf('questions', config.QUERY_LIMIT_PER_10_S, context);
  const manageLimit = limitOf('manage', config.MANAGE_LIMIT_PER_10_S, context);
  const authenticator = new Authenticator({
    directory: accounts,
    verifier: new SecretVerifier(),
    clock,
    metrics,
    log,
    limits: { insights: questionLimit, export: questionLimit, manage: manageLimit },
    failures: FAILURES,
  });
  const limits = { timeMaxMs: config.QUERY_TIME_MAX_MS, memoryMaxBytes: config.QUERY_MEMORY_MAX_BYTES };
  const questions = questionEndpoints({
    history: new History({ store, streams, isReachable, limits, metrics }),
    hot: new HotView({ bus, partitions: config.PARTITIONS, clock, metrics, log }),
    records: new EntityQuestions(bus, config.PARTITIONS, RECORD_TIME_MAX_MS),
    directory: accounts,
    clock,
    memory,
  });
  const manage = await openManage({ context, accounts, store, isStoreReachable: isReachable, memory });
  const endpoints = [...questions, ...manage.endpoints];
  for (const endpoint of endpoints) endpoint.addTo(http, authenticator, metrics);
  addDocumentation(http, endpoints);
  const busSince = clock.nowMs();
  return {
    dependencies: () => [{ name: 'bus', up: bus.connected, since: busSince }, watch.dependency],
    stop: async () => {
      watch.stop();
      manage.stop();
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
