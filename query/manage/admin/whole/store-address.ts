import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../../infra/config.ts';
import { Store } from '../../../../infra/store/store.ts';

/** The longest that one statement of a backup is silent: an insert of two million rows on a slow disk. */
const TIMEOUT_MS = 900_000;

/** Opens the store at `CLICKHOUSE_URL`, or that of the service on `DATA_DIR`; the error for one that is away says what to do. */
export async function openStore(config: Config): Promise<Store> {
  const { CLICKHOUSE_URL, CLICKHOUSE_DATABASE: database, STORE_CLUSTER: cluster, DATA_DIR } = config;
  const url = CLICKHOUSE_URL === '' ? localStoreUrl(DATA_DIR) : CLICKHOUSE_URL;
  const store = new Store({ url, database, cluster, requestTimeoutMs: TIMEOUT_MS });
  if (await store.ping()) return store;
  const { host } = new URL(url);
  const why = (await store.rejectsUs()) ? 'does not accept its user' : 'does not answer';
  await store.close();
  throw new Error(
    `the store at ${host} ${why}; start the service (npm start), or set DATA_DIR or CLICKHOUSE_URL`,
  );
}

function localStoreUrl(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'store-url'), 'utf8').trim();
  } catch {
    throw new Error(`no service has run with its own store on ${dataDir}; set DATA_DIR or CLICKHOUSE_URL`);
  }
}
