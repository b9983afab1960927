import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '../assert.ts';
import { engineException } from './exceptions.ts';
import {
  loadNative,
  type Native,
  type NativeConnection,
  type NativeResult,
  type NativeWrite,
} from './native.ts';
import { sqlString } from './statement.ts';

const KILL_RETRY_FIRST_MS = 10;
const KILL_RETRY_MAX_MS = 500;
// Our own statements contain values of the request's size. The request's own text is limited by its own max_query_size,
// see `DEFAULT_MAX_QUERY_SIZE`.
const OWN_QUERY_SIZE_MAX = 268_435_456;
const BROKEN_PARTS_MAX_BYTES = 1_125_899_906_842_624;

/** The real server's limit for a query text when the client sets none. */
export const DEFAULT_MAX_QUERY_SIZE = '262144';

export interface EngineOptions {
  /** Folder of the engine's data. */
  readonly folder: string;
  /** A folder for the engine's settings file, which is written at every start. */
  readonly settingsFolder: string;
  readonly memoryMaxBytes: number;
  /** The bytes that inserts and merges leave free on the disk. */
  readonly keptFreeBytes: number;
}

/**
 * chDB on one folder. Opening a connection takes 0.1 ms, so each request gets its own: settings, parameters, database
 * and temporary tables end with it and are invisible to other requests. Settings and parameters are set by `SET` on
 * that connection. The engine's other way, parameters passed with the call, stores them where all connections share
 * them, which is a race.
 */
export class Engine {
  readonly version: string;
  readonly timezone: string;
  /** The names of all table functions. */
  readonly tableFunctions: readonly string[];
  readonly #native: Native;
  readonly #folder: string;
  readonly #memoryMaxBytes: number;
  readonly #control: NativeConnection;

  private constructor(options: EngineOptions, native: Native, control: NativeConnection, facts: Facts) {
    this.#native = native;
    this.#folder = options.folder;
    this.#memoryMaxBytes = options.memoryMaxBytes;
    this.#control = control;
    this.version = facts.version;
    this.timezone = facts.timezone;
    this.tableFunctions = facts.tableFunctions;
  }

  /** Opens the folder, or rejects with the engine's error. */
  static async open(options: EngineOptions): Promise<Engine> {
    const native = loadNative();
    mkdirSync(options.folder, { recursive: true });
    const settingsFile = join(options.settingsFolder, 'engine.xml');
    writeFileSync(settingsFile, settingsXml(options));
    // The first connection starts the engine with its settings and keeps it running until `close`.
    const control = native.CreateConnection(options.folder, [
      `--config-file=${settingsFile}`,
      ...defaults(options),
    ]);
    const sql =
      "SELECT version(), timezone(), arrayStringConcat(groupArray(name), ' ') FROM system.table_functions";
    const facts = await native.QueryAsyncConnection(control, sql, 'TabSeparated');
    const [version = '', timezone = '', names = ''] = facts.bytes.toString().trimEnd().split('\t');
    const tableFunctions = names.split(' ');
    assert(tableFunctions.includes('file'), 'the engine names its table functions');
    return new Engine(options, native, control, { version, timezone, tableFunctions });
  }

  connect(): EngineConnection {
    const args = defaults({ memoryMaxBytes: this.#memoryMaxBytes });
    return new EngineConnection(this.#native, this.#native.CreateConnection(this.#folder, args));
  }

  /** The rows of a statement of our own, in memory. */
  async rows(sql: string): Promise<readonly (readonly unknown[])[]> {
    const connection = this.connect();
    try {
      const { bytes } = await connection.query(sql, 'JSONCompactEachRow');
      const lines = bytes.toString().split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as unknown[]);
    } finally {
      connection.close();
    }
  }

  /** The number of writes to files that have failed since the start. A write of a statement that has ended is counted. */
  async failedWrites(): Promise<number> {
    const [row] = await this.rows(
      "SELECT sum(value) FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'",
    );
    return Number(row?.[0]);
  }

  /**
   * Kills the query with this mark. The query may not have reached the engine yet, so this repeats until `ended`
   * resolves, which it must do when the query has ended; `ended` must not reject.
   */
  async kill(mark: string, ended: Promise<void>): Promise<void> {
    let isEnded = false;
    const settled = ended.finally(() => {
      isEnded = true;
    });
    const sql = `KILL QUERY WHERE startsWith(Settings['log_comment'], ${sqlString(mark)}) ASYNC FORMAT Null`;
    for (let waitMs = KILL_RETRY_FIRST_MS; !isEnded; waitMs = Math.min(waitMs * 2, KILL_RETRY_MAX_MS)) {
      await this.#native.QueryAsyncConnection(this.#control, sql, 'Null');
      await Promise.race([settled, new Promise((resolve) => setTimeout(resolve, waitMs).unref())]);
    }
  }

  close(): void {
    this.#native.CloseConnection(this.#control);
  }
}

interface Facts {
  readonly version: string;
  readonly timezone: string;
  readonly tableFunctions: readonly string[];
}

/** The connection of one request. One call at a time; call `close` only when none is running. */
export class EngineConnection {
  readonly #native: Native;
  readonly #connection: NativeConnection;

  constructor(native: Native, connection: NativeConnection) {
    this.#native = native;
    this.#connection = connection;
  }

  /** Runs a statement and returns its result as bytes in memory. */
  async query(sql: string, format: string): Promise<NativeResult> {
    try {
      return await this.#native.QueryAsyncConnection(this.#connection, sql, format);
    } catch (error) {
      throw engineException(error);
    }
  }

  /**
   * Runs a statement without a result and returns the number of rows and bytes written. The addon's call is meant for inserts
   * with rows after the statement, but must not be used for them: it takes an empty line among the rows for their end.
   */
  async write(sql: string): Promise<NativeWrite> {
    try {
      return await this.#native.InsertRawAsyncConnection(this.#connection, '', Buffer.from(sql), false);
    } catch (error) {
      throw engineException(error);
    }
  }

  close(): void {
    this.#native.CloseConnection(this.#connection);
  }
}

/**
 * Settings of every connection, where chDB's defaults differ from a server's: asynchronous inserts would be
 * acknowledged before the rows are stored.
 */
function defaults({ memoryMaxBytes }: Pick<EngineOptions, 'memoryMaxBytes'>): string[] {
  return [
    '--async_insert=0',
    '--implicit_select=0',
    '--allow_introspection_functions=0',
    `--max_memory_usage=${Math.floor(memoryMaxBytes / 2)}`,
    `--max_query_size=${OWN_QUERY_SIZE_MAX}`,
  ];
}

/**
 * Sized for a small machine with other work: few background threads, small caches, no system logs. A part that is
 * inserted or merged for the first time has few files (`Compact`): it lives for a minute, and a file for each of fifty
 * columns takes a quarter of such a merge. A wider `merge_selector_base` would save merges, but questions pay 0.3 ms
 * for every part.
 *
 * An incomplete part is put aside at the start, whatever its size: see `write-watch.ts`.
 */
function settingsXml({ memoryMaxBytes, keptFreeBytes }: EngineOptions): string {
  const cacheBytes = Math.floor(memoryMaxBytes / 32);
  const values = {
    max_server_memory_usage: memoryMaxBytes,
    // By default the engine looks at its memory 20 times a second, also when it does nothing.
    memory_worker_period_ms: 1000,
    mark_cache_size: cacheBytes,
    index_mark_cache_size: cacheBytes,
    primary_index_cache_size: cacheBytes,
    query_condition_cache_size: Math.min(cacheBytes, 16_777_216),
    uncompressed_cache_size: 0,
    background_pool_size: 2,
    background_merges_mutations_concurrency_ratio: 2,
    background_schedule_pool_size: 2,
    background_common_pool_size: 1,
    background_move_pool_size: 1,
    background_fetches_pool_size: 1,
    background_message_broker_schedule_pool_size: 1,
    background_distributed_schedule_pool_size: 1,
    background_buffer_flush_schedule_pool_size: 1,
  };
  const lines = Object.entries(values).map(([name, value]) => `  <${name}>${value}</${name}>`);
  return `<clickhouse>
${lines.join('\n')}
  <merge_tree>
    <fsync_after_insert>1</fsync_after_insert>
    <fsync_part_directory>1</fsync_part_directory>
    <merge_selector_base>12</merge_selector_base>
    <min_level_for_wide_part>2</min_level_for_wide_part>
    <max_suspicious_broken_parts_bytes>${BROKEN_PARTS_MAX_BYTES}</max_suspicious_broken_parts_bytes>
  </merge_tree>
  <storage_configuration>
    <disks><default><keep_free_space_bytes>${keptFreeBytes}</keep_free_space_bytes></default></disks>
  </storage_configuration>
</clickhouse>
`;
}
