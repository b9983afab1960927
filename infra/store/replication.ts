import { CLOUD, CONSISTENT_READ, ON_ALL, ON_CLUSTER, QUORUM_INSERT } from './cluster.ts';
import { cloudText, clusterText, tableLike } from './cluster-text.ts';

/** The cluster of all replicas of a service of ClickHouse Cloud, as the service calls it. */
const ALL_OF_CLOUD = 'default';

type Settings = Readonly<Record<string, string | number>>;

/** What differs between the servers that a store can be: in our statements, and in what their answers say. */
export interface Replication {
  /** Of statements that read. */
  readonly readSettings: Settings;
  /** Of inserts, and of all other statements, some of which insert what they select. */
  readonly writeSettings: Settings;
  /** Of statements that make, change or drop tables. */
  readonly definitionSettings: Settings;
  /** Whether inserts into one table have to follow each other. */
  readonly insertsInTurn: boolean;
  /** Whether the key of an insert and its rows are recorded in one step, so that a repeated insert never needs another key. */
  readonly keysHaveRows: boolean;
  /** A statement of `processor/schema` and the like as these servers need it. @throws {Error} it has no form for them */
  definition(statement: string): string;
  /** Makes an empty table like another one, whose `engine_full` is given. @throws {Error} the other table is not as here */
  likeDefinition(table: string, like: string, engineFull: string): string;
  /** Waits until every replica has what the table has by now. Absent where nothing has to be waited for. */
  settling?(table: string): { readonly sql: string; readonly settings: Settings };
}

const SINGLE: Replication = {
  readSettings: {},
  writeSettings: {},
  definitionSettings: {},
  insertsInTurn: false,
  keysHaveRows: false,
  definition: (statement) => statement,
  likeDefinition: (table, like) => `CREATE TABLE ${table} AS ${like}`,
};

/**
 * ClickHouse Cloud: its tables are of the `SharedMergeTree` family, whatever the statement says. Replicas share the files, and the
 * coordination service says which there are. So an insert needs no quorum, and the service spreads a definition by itself. But a
 * replica may not have heard of the newest files, which a consistent read asks for.
 * Source: ClickHouse's documentation of SharedMergeTree, of `insert_quorum` and of `cloud_mode_engine`.
 */
const IN_CLOUD: Replication = {
  readSettings: CONSISTENT_READ,
  writeSettings: CONSISTENT_READ,
  definitionSettings: ON_CLUSTER,
  insertsInTurn: false,
  keysHaveRows: true,
  definition: cloudText,
  likeDefinition: (table, like) => `CREATE TABLE ${table} AS ${like}`,
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
