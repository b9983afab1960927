import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../../../../infra/assert.ts';
import { type Config, ConfigError } from '../../../../infra/config.ts';
import type { LaneLayout } from '../../../../infra/process/service-lanes.ts';
import { Store } from '../../../../infra/store/store.ts';
import {
  comparePlace,
  PerShard,
  type ShardAddress,
  type ShardPlace,
  shardAddresses,
} from '../../../../infra/store/store-shards.ts';
import { counted } from '../table.ts';

/** The longest silence of one statement of a backup: an insert of two million rows on a slow disk. */
const TIMEOUT_MS = 900_000;

/**
 * Opens all shards of the store at `CLICKHOUSE_URL`, or the store of the service on `DATA_DIR`. If a shard is unavailable or does
 * not belong to the service, the error says what to do.
 */
export async function openStores(
  config: Config,
  { storeShards: wanted }: Pick<LaneLayout, 'storeShards'>,
): Promise<PerShard<Store>> {
  const url = config.CLICKHOUSE_URL === '' ? localStoreUrl(config.DATA_DIR) : config.CLICKHOUSE_URL;
  const shards = shardAddresses({ ...config, CLICKHOUSE_URL: url });
  if (shards.length !== wanted)
    throw new ConfigError(
      `CLICKHOUSE_URL lists ${counted(shards.length, 'server')}, and the store of this service has ${counted(wanted, 'shard')}: list all, as the service does`,
    );
  const stores = new PerShard(shards.map(storeAt));
  try {
    for (const [shard, store] of stores.all.entries())
      await check(store, { shard, shards: wanted }, must(shards[shard], 'each store has an address'));
    return stores;
  } catch (error) {
    await stores.inEach((store) => store.close());
    throw error;
  }
}

function storeAt({ url, database, cluster }: ShardAddress): Store {
  return new Store({ url, database, cluster, requestTimeoutMs: TIMEOUT_MS });
}

/** @throws {Error} for an operator: the server does not answer, or is another shard */
async function check(store: Store, place: ShardPlace, { url }: ShardAddress): Promise<void> {
  if (!(await store.ping())) {
    const why = (await store.rejectsUs()) ? 'does not accept its user' : 'does not answer';
    throw new Error(
      `the store at ${new URL(url).host} ${why}; start the service (npm start), or set DATA_DIR or CLICKHOUSE_URL`,
    );
  }
  const { problem } = await comparePlace(store, place);
  if (problem !== undefined) throw new ConfigError(problem);
}

function localStoreUrl(dataDir: string): string {
  try {
    return readFileSync(join(dataDir, 'store-url'), 'utf8').trim();
  } catch {
    throw new Error(`no service has run with its own store on ${dataDir}; set DATA_DIR or CLICKHOUSE_URL`);
  }
}
