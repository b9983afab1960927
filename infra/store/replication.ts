import { CLOUD, CONSISTENT_READ, ON_ALL, ON_CLUSTER, QUORUM_INSERT } from './cluster.ts';
import { cloudText, clusterText, tableLike } from './cluster-text.ts';

/** The cluster of all replicas of a service of ClickHouse Cloud, as the service calls it. */
const ALL_OF_CLOUD = 'default';

/** Settings of ClickHouse that travel with a statement, by name. */
export type StoreSettings = Readonly<Record<string, string | number>>;

/** The differences between a single server, replicas and ClickHouse Cloud. */
export interface Replication {
  /** Settings that `Store` sends with every statement that reads. */
  readonly readSettings: StoreSettings;
  /** Settings that it sends with inserts and commands: a command may insert the rows that it selects. */
  readonly writeSettings: StoreSettings;
  /** Settings that it sends with statements that make, change or drop tables. */
  readonly definitionSettings: StoreSettings;
  /** True if inserts into one table have to wait for each other. */
  readonly insertsInTurn: boolean;
  /** True if the key of an insert and its rows are recorded in one step, so that a repeated insert never needs another key. */
  readonly keysHaveRows: boolean;
  /** Returns a statement that makes, changes or drops tables in the form that the server needs. @throws {Error} it has none */
  definition(statement: string): string;
  /** Returns the statement that makes an empty copy of the table `like`, whose `engine_full` is given. @throws {Error} for an unexpected engine */
  likeDefinition(table: string, like: string, engineFull: string): string;
  /** Returns the statement that waits until every replica has the newest rows of a table. A single server has none. */
  settling?(table: string): { readonly sql: string; readonly settings: StoreSettings };
}

const emptyCopy = (table: string, like: string) => `CREATE TABLE ${table} AS ${like}`;

const SINGLE: Replication = {
  readSettings: {},
  writeSettings: {},
  definitionSettings: {},
  insertsInTurn: false,
  keysHaveRows: false,
  definition: (statement) => statement,
  likeDefinition: emptyCopy,
};

/**
 * ClickHouse Cloud: its tables are of the `SharedMergeTree` family, whatever the statement names. Replicas share the
 * files, and the coordination service lists them. So an insert needs no quorum, and the service spreads a definition by
 * itself. But a replica may not know the newest files yet, which a consistent read asks for. Source: ClickHouse's
 * documentation of SharedMergeTree, of `insert_quorum` and of `cloud_mode_engine`.
 */
const IN_CLOUD: Replication = {
  readSettings: CONSISTENT_READ,
  writeSettings: CONSISTENT_READ,
  definitionSettings: ON_CLUSTER,
  insertsInTurn: false,
  keysHaveRows: true,
  definition: cloudText,
  likeDefinition: emptyCopy,
  settling: (table) => ({
    sql: `SYSTEM SYNC REPLICA ON CLUSTER '${ALL_OF_CLOUD}' ${table} LIGHTWEIGHT`,
    settings: ON_ALL,
  }),
};

/** @param cluster as `STORE_CLUSTER` names it for one shard; empty for a single server */
export function replicationOf(cluster: string): Replication {
  if (cluster === '') return SINGLE;
  if (cluster === CLOUD) return IN_CLOUD;
  return {
    readSettings: CONSISTENT_READ,
    writeSettings: QUORUM_INSERT,
    definitionSettings: ON_CLUSTER,
    insertsInTurn: true,
    keysHaveRows: true,
    definition: (statement) => clusterText(statement, cluster),
    likeDefinition: (table, like, engineFull) => tableLike({ table, like, engineFull }, cluster),
    settling: (table) => ({ sql: `SYSTEM SYNC REPLICA ON CLUSTER '${cluster}' ${table}`, settings: ON_ALL }),
  };
}
