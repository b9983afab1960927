import type { StoredId } from '../accounts/ids.ts';
import { must } from '../assert.ts';
import { type Config, ConfigError } from '../config.ts';
import { listed } from './listed.ts';
import { storeShardOf, storeShardOfLane } from './shard-of.ts';
import type { Store } from './store.ts';
import { StoreError } from './store-error.ts';

/**
 * A store of several shards: servers, or clusters of replicas, each of which has everything of some sites. They know nothing of each other,
 * and no statement spans two of them:
 *
 *     site ─▶ shard (`storeShardOf`)     lane ─▶ shard (`storeShardOfLane`), and all sites of a lane are of its shard
 *
 * README.md gives the reasons.
 */

type StoreConfig = Pick<
  Config,
  'CLICKHOUSE_URL' | 'CLICKHOUSE_QUERY_URL' | 'CLICKHOUSE_DATABASE' | 'STORE_CLUSTER'
>;

/** The address of one shard. */
export interface ShardAddress {
  readonly url: string;
  /** For questions: the same server with a user that can only read, or `url`. */
  readonly queryUrl: string;
  readonly database: string;
  /** The cluster of replicas; empty: a single server. */
  readonly cluster: string;
}

/**
 * The shards that the settings list, in their order; none without `CLICKHOUSE_URL`.
 * @throws {ConfigError} settings that list shards list different numbers of them
 */
export function shardAddresses(config: StoreConfig): readonly ShardAddress[] {
  const urls = listed(config.CLICKHOUSE_URL);
  const queryUrls = listed(config.CLICKHOUSE_QUERY_URL);
  const clusters = listed(config.STORE_CLUSTER);
  for (const [setting, list] of [
    ['CLICKHOUSE_QUERY_URL', queryUrls],
    ['STORE_CLUSTER', clusters],
  ] as const) {
    if (list.length !== 0 && urls.length !== 0 && list.length !== urls.length)
      throw new ConfigError(
        `${setting} lists ${list.length} and CLICKHOUSE_URL ${urls.length}: both list one for each shard of the store, in one order`,
      );
  }
  return urls.map((url, index) => ({
    url,
    queryUrl: queryUrls[index] ?? url,
    database: config.CLICKHOUSE_DATABASE,
    cluster: clusters[index] ?? '',
  }));
}

/**
 * The shards for a process that cannot do without a store.
 * @throws {ConfigError} also when there is none
 */
export function neededShardAddresses(config: StoreConfig): readonly ShardAddress[] {
  const shards = shardAddresses(config);
  if (shards.length > 0) return shards;
  throw new ConfigError(
    'CLICKHOUSE_URL: this process needs a store; npm start gives it the one that it starts',
  );
}

/** One of something for each shard, such as its client. */
export class PerShard<One> {
  readonly all: readonly One[];

  /** @param all at least one, in the order of the shards */
  constructor(all: readonly One[]) {
    this.all = all;
  }

  get #spread() {
    return { storeShards: this.all.length };
  }

  /** The member for the shard that has everything of a site. */
  ofSite(storedId: StoredId): One {
    return must(this.all[storeShardOf(storedId, this.#spread)], 'every site has a shard');
  }

  /** The member for the first shard. */
  get first(): One {
    return must(this.all[0], 'there is a shard');
  }

  /** Runs `work` for all shards concurrently; returns the results in their order. */
  inEach<Result>(work: (one: One) => Promise<Result>): Promise<Result[]> {
    return Promise.all(this.all.map(work));
  }

  /** The member for the shard that has everything of a lane. */
  ofLane(lane: number): One {
    return must(this.all[storeShardOfLane(lane, this.#spread)], 'every lane has a shard');
  }
}

/** The number of a server's shard, from 0 on, and the number of shards. */
export interface ShardPlace {
  readonly shard: number;
  readonly shards: number;
}

/** A table of one row, in each shard of a store that has several. */
const PLACE_TABLE = 'store_shard';
/** ClickHouse's numbers of the errors for a table and a database that do not exist. */
const MISSING = new Set([60, 81]);

/**
 * Writes its place into a new shard, and compares it in a used one. A store of one shard has no place.
 * @throws {StoreError} fatal: the server is another shard
 */
export async function settlePlace(store: Store, place: ShardPlace): Promise<void> {
  if (place.shards === 1) return;
  await store.define(
    `CREATE TABLE IF NOT EXISTS ${PLACE_TABLE} (shard UInt16, shards UInt16)\nENGINE = MergeTree ORDER BY shard`,
  );
  if ((await placeOf(store)) === undefined) {
    const sql = `INSERT INTO ${PLACE_TABLE} (shard, shards) SELECT {shard:UInt16}, {shards:UInt16}`;
    await store.command(sql, { ...place });
  }
  const { problem } = await comparePlace(store, place);
  if (problem !== undefined) throw new StoreError(problem, { kind: 'fatal', failure: 'server' });
}

/** The result of comparing a server's stored shard with the one that it is listed as. */
export interface ComparedPlace {
  /** False also where no processor has written yet which shard it is. */
  readonly isOurs: boolean;
  readonly problem: string | undefined;
}

/** Compares a server's record of its shard with its place in the list. A single server is not asked: the bus has the number of shards. */
export async function comparePlace(
  store: Pick<Store, 'query'>,
  { shard, shards }: ShardPlace,
): Promise<ComparedPlace> {
  if (shards === 1) return { isOurs: true, problem: undefined };
  const found = await placeOf(store);
  if (found === undefined) return { isOurs: false, problem: undefined };
  if (found.shard === shard && found.shards === shards) return { isOurs: true, problem: undefined };
  const is = `shard ${found.shard + 1} of the ${found.shards} of a service`;
  const problem = `CLICKHOUSE_URL: server ${shard + 1} of ${shards} is ${is}: list its servers as at the first start`;
  return { isOurs: false, problem };
}

async function placeOf(store: Pick<Store, 'query'>): Promise<ShardPlace | undefined> {
  try {
    const [row] = await store.query<ShardPlace>(`SELECT shard, shards FROM ${PLACE_TABLE}`);
    return row;
  } catch (error) {
    if (error instanceof StoreError && MISSING.has(error.code ?? 0)) return undefined;
    throw error;
  }
}
