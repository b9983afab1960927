import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
// Statements that we send ourselves carry values of the request's size; the request's own text is held to its own
// max_query_size, see `DEFAULT_MAX_QUERY_SIZE`.
const OWN_QUERY_SIZE_MAX = 268_435_456;

/** What the real server allows a query's text when the client does not say otherwise. */
export const DEFAULT_MAX_QUERY_SIZE = '262144';

export interface EngineOptions {
  /** The engine's data. */
  readonly folder: string;
  /** A folder for the engine's settings file, which is written anew. */
  readonly settingsFolder: string;
  readonly memoryMaxBytes: number;
}

/**
 * chDB on one folder. Opening a connection costs a tenth of a millisecond, so each request gets one of its own: its
 * settings, parameters, database and temporary tables are gone with it, and none can be seen by another request.
 * Settings and parameters go in by `SET` on that connection. The engine's other way, parameters handed over with the
 * call, is kept in a place that all connections share, and races.
 */
export class Engine {
  readonly version: string;
  readonly timezone: string;
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
  }

  /** Opens the folder, or rejects with what the engine says about it. */
  static async open(options: EngineOptions): Promise<Engine> {
    const native = loadNative();
    mkdirSync(options.folder, { recursive: true });
    const settingsFile = join(options.settingsFolder, 'engine.xml');
    writeFileSync(settingsFile, settingsXml(options.memoryMaxBytes));
    // The first connection brings the engine up with its settings, and holds it up until the end.
    const control = native.CreateConnection(options.folder, [
      `--config-file=${settingsFile}`,
      ...defaults(options),
    ]);
    const facts = await native.QueryAsyncConnection(control, 'SELECT version(), timezone()', 'TabSeparated');
    const [version = '', timezone = ''] = facts.bytes.toString().trimEnd().split('\t');
    return new Engine(options, native, control, { version, timezone });
  }

  connect(): EngineConnection {
    const args = defaults({ memoryMaxBytes: this.#memoryMaxBytes });
    return new EngineConnection(this.#native, this.#native.CreateConnection(this.#folder, args));
  }

  /**
   * Ends the query with this mark. It may not have reached the engine yet, so this asks again until `ended` resolves,
   * as it does when the query has gone; it must not reject.
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
}

/** One request's connection. One call at a time; `close` only when none runs. */
export class EngineConnection {
  readonly #native: Native;
  readonly #connection: NativeConnection;

  constructor(native: Native, connection: NativeConnection) {
    this.#native = native;
    this.#connection = connection;
  }

  /** Runs a statement; the result comes as bytes in memory. */
  async query(sql: string, format: string): Promise<NativeResult> {
    try {
      return await this.#native.QueryAsyncConnection(this.#connection, sql, format);
    } catch (error) {
      throw engineException(error);
    }
  }

  /**
   * Runs a statement that has no result, and counts what it wrote. This is the addon's call for inserts with the rows
   * behind the statement, which must not be used for that: it takes an empty line within the rows for their end.
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
 * Settings that every connection starts with, where the engine's own start values differ from a server's:
 * asynchronous inserts would acknowledge before the rows are stored.
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

/** Sized for a small machine that has other work to do: few background threads, small caches, no system logs. */
function settingsXml(memoryMaxBytes: number): string {
  const cacheBytes = Math.floor(memoryMaxBytes / 32);
  const values = {
    max_server_memory_usage: memoryMaxBytes,
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
  </merge_tree>
</clickhouse>
`;
}
