import { StoreError } from './store-error.ts';

/** The value of `STORE_CLUSTER` for ClickHouse Cloud, which has no cluster of ours. */
export const CLOUD = 'cloud';

/**
 * Settings of a cluster of replicas beyond a single server: losing one replica never loses an acknowledged insert, and
 * no reader takes an old state for the present one:
 *
 *     insert  ── acknowledged once most replicas have it (insert_quorum), one after the other for each table
 *     read    ── from a replica that has all of these, else an error that passes (select_sequential_consistency)
 *
 * The server offers the second only without parallel quorum inserts.
 */
export const CONSISTENT_READ = { select_sequential_consistency: 1 };
/** A shorter wait for the quorum than the request's own: then the answer says that the outcome is unknown. */
export const QUORUM_INSERT = {
  ...CONSISTENT_READ,
  insert_quorum: 'auto',
  insert_quorum_parallel: 0,
  insert_quorum_timeout: 20_000,
};
/** Does not wait for an unavailable replica: it takes the statement from the coordination service when it comes back. */
export const ON_CLUSTER = {
  distributed_ddl_task_timeout: '20',
  distributed_ddl_output_mode: 'null_status_on_timeout',
} as const;
/** Every replica has to answer. */
export const ON_ALL = {
  distributed_ddl_task_timeout: '20',
  distributed_ddl_output_mode: 'throw',
};

/** Facts that a server reports about a cluster. */
export interface ClusterFacts {
  readonly replicas: number;
  readonly shards: number;
  /** The names of its macros. */
  readonly macros: readonly string[];
}

export const CLUSTER_STATEMENT = `
  SELECT count() AS replicas, uniqExact(shard_num) AS shards, (SELECT groupArray(macro) FROM system.macros) AS macros
  FROM system.clusters WHERE cluster = {cluster:String}`;

/** The reason why footfall cannot run on this cluster; undefined if it can. */
export function clusterProblem(
  { replicas, shards, macros }: ClusterFacts,
  cluster: string,
): string | undefined {
  if (replicas === 0)
    return `STORE_CLUSTER is ${cluster}, and the server at CLICKHOUSE_URL knows no cluster of this name: add it to remote_servers`;
  if (shards > 1)
    return `the cluster ${cluster} has ${shards} shards, and footfall needs one: a session, its events and its rollups are read together by one server, so name a cluster for each shard, whose servers are its replicas, and list the shards in CLICKHOUSE_URL`;
  // The server waits for another replica to note a quorum, even for one of one: every insert would end after the timeout.
  if (replicas === 1)
    return `the cluster ${cluster} has one replica, and an insert waits for a second one: add one, or leave STORE_CLUSTER empty`;
  const missing = ['shard', 'replica'].filter((macro) => !macros.includes(macro));
  if (missing.length > 0)
    return `the server at CLICKHOUSE_URL has no macro ${missing.join(' and no macro ')}: each replica of ${cluster} needs both in its configuration, with the same shard and a replica name of its own`;
  return undefined;
}

/**
 * @throws {StoreError} fatal, with the reason: footfall cannot run on this cluster
 */
export async function acceptCluster(
  store: { query<Row>(sql: string, parameters: Readonly<Record<string, unknown>>): Promise<Row[]> },
  cluster: string,
): Promise<void> {
  if (cluster === '' || cluster === CLOUD) return;
  const [facts] = await store.query<ClusterFacts>(CLUSTER_STATEMENT, { cluster });
  const problem = clusterProblem(facts ?? { replicas: 0, shards: 0, macros: [] }, cluster);
  if (problem !== undefined) throw new StoreError(problem, { kind: 'fatal', failure: 'server' });
}
