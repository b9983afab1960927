import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../config.ts';
import { CLOUD } from '../store/cluster.ts';
import { Store } from '../store/store.ts';
import { type OlderServer, startOlderServer } from './older-server.ts';
import { type Replicas, type ReplicasOptions, startReplicas } from './replicas.ts';
import { type StoreServer, startStoreServer } from './store-server.ts';

/** A store for one test file: an embedded one, or a database of its own on the server that CLICKHOUSE_URL names. */
export interface StoreTarget {
  readonly database: string;
  /** The name of another database, which is dropped, too. */
  beside(name: string): string;
  /** The cluster of an outside server, if STORE_CLUSTER names one. */
  readonly cluster: string;
  /** With a user that may do everything. */
  readonly url: string;
  /** With a user that can only read, where there is one. */
  readonly queryUrl: string;
  /** The process of an embedded store, for tests that kill it. */
  readonly server: StoreServer | undefined;
  /** The server in front, if one was asked for. */
  readonly older: OlderServer | undefined;
  /** The replicas in front, if they were asked for. */
  readonly replicas: Replicas | undefined;
  /** Drops the databases of an outside server. */
  stop(): Promise<void>;
}

export interface StoreTargetOptions {
  /** The database in an embedded store; `footfall` when absent. */
  readonly database?: string;
  /** Puts a server in front that has only the features of release 24.8. */
  readonly isOlder?: boolean;
  /** Puts replicas in front, one of which is behind. */
  readonly replicas?: ReplicasOptions;
  /**
   * The data that an embedded store starts with instead of nothing. Not called for a store with a server in front, whose answers to the
   * schema are a test.
   */
  readonly prepared?: () => Promise<PreparedStore>;
}

/** The data folder of a stopped store, which is copied. */
export interface PreparedStore {
  readonly folder: string;
  /** The database in it, which gets the name that the target asks for. */
  readonly database: string;
}

const QUERY_PASSWORD = 'read-only';
let databases = 0;

export async function startStoreTarget({
  database = 'footfall',
  isOlder = false,
  replicas: behind,
  prepared,
}: StoreTargetOptions = {}): Promise<StoreTarget> {
  const {
    CLICKHOUSE_URL: outside,
    CLICKHOUSE_QUERY_URL: outsideQuery,
    STORE_CLUSTER: cluster,
  } = readConfig();
  if (outside !== '') return outsideTarget(outside, outsideQuery || outside, cluster);
  const dataDir = mkdtempSync(join(tmpdir(), 'footfall-target-'));
  const before = isOlder || behind !== undefined ? undefined : await prepared?.();
  if (before !== undefined) cpSync(before.folder, dataDir, { recursive: true });
  const server = await startStoreServer({ dataDir, queryPassword: QUERY_PASSWORD });
  if (before !== undefined && before.database !== database)
    await command(server.url, `RENAME DATABASE \`${before.database}\` TO \`${database}\``);
  const older = isOlder ? await startOlderServer(server.url) : undefined;
  const replicas = behind === undefined ? undefined : await startReplicas(server.url, behind);
  const { url } = replicas ?? older ?? server;
  return {
    database,
    beside: (name) => name,
    cluster: clusterOf(behind),
    url,
    server,
    // The embedded store's reader knows no replicas.
    queryUrl: replicas === undefined ? url.replace('http://', `http://query:${QUERY_PASSWORD}@`) : url,
    older,
    replicas,
    stop: async () => {
      await older?.stop();
      await replicas?.stop();
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The value of `STORE_CLUSTER` for these replicas. */
export function clusterOf(replicas: ReplicasOptions | undefined): string {
  if (replicas === undefined) return '';
  return replicas.sharesFiles === true ? CLOUD : 'ours';
}

function outsideTarget(url: string, queryUrl: string, cluster: string): StoreTarget {
  databases += 1;
  const database = `footfall_conformance_${process.pid}_${databases}`;
  const all = [database];
  return {
    database,
    beside: (name) => {
      all.push(`${database}_${name}`);
      return `${database}_${name}`;
    },
    cluster,
    url,
    queryUrl,
    server: undefined,
    older: undefined,
    replicas: undefined,
    stop: async () => {
      const on = cluster === '' || cluster === CLOUD ? '' : `ON CLUSTER '${cluster}'`;
      for (const name of all) await command(url, `DROP DATABASE IF EXISTS ${name} ${on} SYNC`);
    },
  };
}

async function command(url: string, sql: string): Promise<void> {
  const store = new Store({ url, database: 'default', requestTimeoutMs: 60_000 });
  await store.command(sql);
  await store.close();
}
