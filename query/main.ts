import type { HostContext, Mounted } from '../infra/host.ts';
import { Store } from '../infra/store.ts';
import { Accounts } from '../ingest/accounts.ts';
import { SecretVerifier } from '../ingest/client-auth.ts';
import { RecordQuestions } from '../ingest/record-questions.ts';
import { History } from './history.ts';
import { HotView } from './hot-view.ts';
import { addRoutes } from './routes.ts';
import { StoreWatch } from './store-watch.ts';

/** Beyond the time that the store gives a statement, so that it is the store who says that it took too long. */
const ANSWER_SLACK_MS = 5_000;
const PING_TIME_MAX_MS = 3_000;
const RECORD_TIME_MAX_MS = 3_000;
const LIMIT = { requestsMax: 100, windowMs: 10_000 };

/** Answers questions about what was collected. */
export async function mount(context: HostContext): Promise<Mounted> {
  const { config, bus, clock, log, metrics } = context;
  const place = { url: config.CLICKHOUSE_URL, database: config.CLICKHOUSE_DATABASE };
  const store = new Store({ ...place, requestTimeoutMs: config.QUERY_TIME_MAX_MS + ANSWER_SLACK_MS });
  const pinged = new Store({ ...place, requestTimeoutMs: PING_TIME_MAX_MS });
  const accounts = await Accounts.open(bus, log);
  const limits = { timeMaxMs: config.QUERY_TIME_MAX_MS, memoryMaxBytes: config.QUERY_MEMORY_MAX_BYTES };
  const watch = await StoreWatch.start(pinged, clock);
  addRoutes(context.http, {
    history: new History({ store, isReachable: () => watch.dependency.up, limits, metrics }),
    hot: new HotView({ bus, partitions: config.PARTITIONS, clock, metrics }),
    records: new RecordQuestions(bus, config.PARTITIONS, RECORD_TIME_MAX_MS),
    directory: accounts,
    verifier: new SecretVerifier(),
    clock,
    metrics,
    log,
    limit: LIMIT,
  });
  const busSince = clock.nowMs();
  return {
    dependencies: () => [{ name: 'bus', up: bus.connected, since: busSince }, watch.dependency],
    stop: async () => {
      watch.stop();
      accounts.stop();
      await store.close();
      await pinged.close();
    },
  };
}
