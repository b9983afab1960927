import type { Logger } from '../log.ts';
import { CLOUD } from './cluster.ts';
import { StoreError } from './store-error.ts';

/** The oldest release of ClickHouse that footfall works with. */
export const RELEASE_MIN = '24.8';

/**
 * Settings of ours that a supported server may not know, each with its first release. A server rejects a
 * statement with an unknown setting, so `Store` omits the missing ones. A setting that changes an answer must not be in
 * this list. Source: the engine's own `system.settings_changes`; older-server.clickhouse.test.ts compares it with our
 * settings.
 */
export const OPTIONAL_SETTINGS: Readonly<Record<string, string>> = {
  // Older servers wrote no such filters, as we want.
  output_format_parquet_write_bloom_filter: '25.2',
};

/** The setting that writes a statement to `system.query_log`, with its bound values instead of their names. */
const LOG = 'log_queries';
/** ClickHouse Cloud switches this on. A server that does not know the setting is not ClickHouse Cloud. */
const CLOUD_MODE = 'cloud_mode';
/** The server's limit for the value of one bound parameter. It applies before a statement's own settings do. */
const PARAMETER_LIMIT = 'http_max_field_value_size';

/** The embedded store's name in its answers. It keeps no text of any statement, and has no log of them. */
export const EMBEDDED_STORE = 'footfall, embedded';
/** The header with a server's name. */
export const SERVER_NAME = 'x-clickhouse-server-display-name';

/** Version and capabilities of the server. */
export interface ServerFeatures {
  /** In the form of `version()`, such as `24.8.14.39`. */
  readonly version: string;
  /** The reason why it cannot be the store; undefined if it can. */
  readonly problem: string | undefined;
  /** The `OPTIONAL_SETTINGS` that it knows. */
  readonly known: readonly string[];
  /** Bytes of one bound parameter at most; beyond it the server rejects the request. */
  readonly parameterMaxBytes: number;
  /** True if it may keep the text of statements, in `system.query_log` or in its log file: all but the embedded store. */
  readonly keepsTexts: boolean;
  /** True if our user may keep a statement out of `system.query_log`. */
  readonly maySkipLog: boolean;
}

/** Asks for all of `ServerFeatures` in one statement. Every user may read this table, even without any other right. */
export const FEATURES_STATEMENT = `
  SELECT version() AS version,
         groupArrayIf(name, name IN {optional:Array(String)}) AS known,
         countIf(name = {log:String} AND readonly = 0) = 1 AS maySkipLog,
         countIf(name = {cloud:String} AND value = '1') = 1 AS isCloud,
         toUInt64OrZero(anyIf(value, name = {limit:String})) AS parameterMaxBytes
  FROM system.settings WHERE name IN {optional:Array(String)} OR name IN ({log:String}, {limit:String}, {cloud:String})`;
export const FEATURES_PARAMETERS = {
  cloud: CLOUD_MODE,
  limit: PARAMETER_LIMIT,
  log: LOG,
  optional: Object.keys(OPTIONAL_SETTINGS),
};

/** The answer to `FEATURES_STATEMENT`. */
export interface FeaturesRow extends Pick<ServerFeatures, 'version' | 'known' | 'parameterMaxBytes'> {
  readonly maySkipLog: number;
  readonly isCloud: number;
}

/** @param cluster the value of `STORE_CLUSTER` for the server */
export function featuresOf(
  { isCloud, ...row }: FeaturesRow,
  serverName: unknown,
  cluster: string,
): ServerFeatures {
  const problem = problemOf(row.version, isCloud === 1, cluster);
  const keepsTexts = serverName !== EMBEDDED_STORE;
  return { ...row, problem, keepsTexts, maySkipLog: row.maySkipLog === 1 };
}

function problemOf(version: string, isCloud: boolean, cluster: string): string | undefined {
  if (isOlder(version, RELEASE_MIN))
    return `the store is ClickHouse ${version}, and footfall needs ${RELEASE_MIN} or later: upgrade the server that CLICKHOUSE_URL names`;
  if (isCloud && cluster !== CLOUD)
    return `the server that CLICKHOUSE_URL names is ClickHouse Cloud, whose replicas may answer with an old state: set STORE_CLUSTER=${CLOUD}`;
  if (!isCloud && cluster === CLOUD)
    return `STORE_CLUSTER is ${CLOUD}, which stands for ClickHouse Cloud, and the server that CLICKHOUSE_URL names is none: name its cluster, or leave STORE_CLUSTER empty`;
  return undefined;
}

/** The settings without those that this server does not know. */
export function knownSettings<Value>(
  settings: Readonly<Record<string, Value>>,
  { known }: Pick<ServerFeatures, 'known'>,
): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(settings).filter(([name]) => !(name in OPTIONAL_SETTINGS) || known.includes(name)),
  );
}

/** Settings for a statement with bound values, which may name people: it stays out of the server's log of statements. */
export function unloggedSettings(
  features: Pick<ServerFeatures, 'maySkipLog'> | undefined,
): Record<string, number> {
  return features?.maySkipLog === false ? {} : { [LOG]: 0 };
}

/**
 * Logs the server's version and features.
 * @throws {StoreError} fatal: the server is older than `RELEASE_MIN`, or STORE_CLUSTER does not match it
 */
export function acceptServer(features: ServerFeatures, log: Pick<Logger, 'info'>): void {
  const { version, problem, known, ...others } = features;
  if (problem !== undefined) throw new StoreError(problem, { kind: 'fatal', failure: 'server' });
  const missing = Object.keys(OPTIONAL_SETTINGS).filter((name) => !known.includes(name));
  log.info({ version, known, missing, ...others }, 'store: ClickHouse is supported');
}

/** Between two questions to a server that does not answer. */
const ASK_EVERY_MS = 5_000;

/**
 * Logs the server's version as soon as it answers, or once why it cannot be the store; for a process that starts
 * without a store. Returns a function to stop asking.
 */
export function noteServer(
  store: { features(): Promise<ServerFeatures> },
  log: Pick<Logger, 'info' | 'error'>,
): () => void {
  let next: NodeJS.Timeout | undefined;
  let isStopped = false;
  const ask = async (): Promise<void> => {
    const features = await store.features().catch(() => undefined); // The store is unavailable: its watch reports that.
    if (isStopped) return;
    if (features === undefined) {
      next = setTimeout(() => void ask(), ASK_EVERY_MS).unref(); // Never rejects.
      return;
    }
    try {
      acceptServer(features, log);
    } catch (error) {
      log.error({ reason: String(error) }, 'no question is answered');
    }
  };
  void ask(); // Never rejects.
  return () => {
    isStopped = true;
    clearTimeout(next);
  };
}

/** Compares year and month of releases. Anything that is no version counts as new: private builds may have any name. */
function isOlder(version: string, release: string): boolean {
  const [year = Number.NaN, month = 0] = version.split('.').map(Number);
  const [minYear = 0, minMonth = 0] = release.split('.').map(Number);
  return year < minYear || (year === minYear && month < minMonth);
}
