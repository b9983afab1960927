import { Readable } from 'node:stream';
import type { ClickHouseClient } from '@clickhouse/client';
import { must } from '../assert.ts';
import { type Replication, replicationOf, type StoreSettings } from './replication.ts';
import { type IsLastRow, parseRowLines, readRowLines } from './row-lines.ts';
import {
  FEATURES_PARAMETERS,
  FEATURES_STATEMENT,
  type FeaturesRow,
  featuresOf,
  knownSettings,
  OPTIONAL_SETTINGS,
  SERVER_NAME,
  type ServerFeatures,
  unloggedSettings,
} from './server-features.ts';
import { formOf, type StatementTable, type StoreStatement } from './statement-form.ts';
import { connect, type StoreAddress } from './store-client.ts';
import { StoreError, storeError, withStoreErrors } from './store-error.ts';

/** Queries contain long lists of values; the engine's default limit is 256 KiB. */
const QUERY_TEXT_MAX_BYTES = 67_108_864;

/** More rows than any insert has. */
const ONE_BLOCK_ROWS = '16777216';
/** Limit for inserts whose keys were recorded by a store that was killed before it had the rows. */
const INSERTS_MAX = 20;

export interface StoreOptions extends StoreAddress {
  /** The cluster whose replicas all have the tables, or `CLOUD`; none when absent or empty. */
  readonly cluster?: string;
  /** Makes the store reject every statement of `query` and `bytes` that would change something. */
  readonly isReadonly?: boolean;
}

/** Rows to be stored exactly once. */
export interface KeyedInsert {
  readonly table: string;
  readonly columns: readonly string[];
  /** RowBinary for these columns. */
  readonly chunks: readonly Uint8Array[];
  /** The columns with the ClickHouse types of the rows, as in `insertRowBinary`. */
  readonly structure?: string;
  /** Unique among all inserts of the table. */
  readonly key: string;
  /** A condition that holds for rows of this insert and for no others, once it is stored. */
  readonly present: { readonly sql: string; readonly parameters: StoreParameters };
  /** True if any process may have tried the insert before. */
  readonly isRepeat: boolean;
  /** Called before rows are sent; throws if they must no longer be sent. */
  readonly confirm?: () => Promise<void>;
}

export type StoreParameters = Readonly<Record<string, unknown>>;

/**
 * ClickHouse as footfall uses it. 64-bit integers are returned as JSON numbers, exact up to 2⁵³, which counts,
 * milliseconds and sequences do not reach. Select a column that can exceed it, such as a hash, as `toString(column)`.
 */
export class Store {
  readonly #client: ClickHouseClient;
  readonly #options: StoreOptions;
  readonly #replication: Replication;
  #features: Promise<ServerFeatures> | undefined;
  /** The same, once they are known. */
  #known: ServerFeatures | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#client = connect(options);
    this.#replication = replicationOf(options.cluster ?? '');
  }

  /** True if inserts into one table must run one after another: each waits for most replicas. */
  get insertsInTurn(): boolean {
    return this.#replication.insertsInTurn;
  }

  get database(): string {
    return this.#options.database;
  }

  /** Version and capabilities of the server; asked once, and again after a failure. */
  features(): Promise<ServerFeatures> {
    this.#features ??= this.#askFeatures().catch((error: unknown) => {
      this.#features = undefined;
      throw error;
    });
    return this.#features;
  }

  /** True if the server may keep the text of statements, or has not been asked yet. */
  get keepsTexts(): boolean {
    return this.#known?.keepsTexts ?? true;
  }

  async #askFeatures(): Promise<ServerFeatures> {
    return withStoreErrors(async () => {
      const answer = await this.#client.query({
        query: FEATURES_STATEMENT,
        query_params: FEATURES_PARAMETERS,
        format: 'JSONEachRow',
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0, ...this.#rights() },
      });
      const [row] = await answer.json<FeaturesRow>();
      const name = answer.response_headers[SERVER_NAME];
      this.#known = featuresOf(must(row, 'an aggregate has one row'), name, this.#options.cluster ?? '');
      return this.#known;
    });
  }

  /**
   * Calls with the settings that this server accepts: immediately, unless it may not know one of them. Start a call before its signal can
   * abort, because the client ignores a signal that has already aborted.
   */
  #asKnown<T>(
    settings: StoreSettings = {},
    parameters: StoreParameters = {},
    call: (known: StoreSettings) => Promise<T>,
    ended?: AbortSignal,
  ): Promise<T> {
    // A server that was not asked yet hardly forbids it, and an embedded one takes it.
    const unlogged = Object.keys(parameters).length === 0 ? {} : unloggedSettings(this.#known);
    if (!Object.keys(settings).some((name) => name in OPTIONAL_SETTINGS))
      return call({ ...unlogged, ...settings });
    return this.features().then((features) => {
      ended?.throwIfAborted();
      return call({ ...unlogged, ...knownSettings(settings, features) });
    });
  }

  /**
   * Stores rows exactly once, also when it is repeated. The store recognizes an insert by its key, but it records the
   * key before it has the rows, and does not sync that record: if it is killed in between, it drops a repeated insert
   * whose rows are missing, and after a power failure it may not recognize an insert whose rows it has. So a repeated
   * insert checks for the rows themselves. An insert is one block, which is stored completely or not at all. Replicas
   * agree on keys and rows in one step, so there a repeated insert never needs another key.
   * @throws {StoreError} like `insertRowBinary`; fatal when the rows are not visible after repeated inserts, on
   *   replicas retryable
   */
  async insertOnce(insert: KeyedInsert): Promise<void> {
    const { table, columns, chunks, key, structure, confirm } = insert;
    const send = async (token: string) => {
      await confirm?.();
      await this.insertRowBinary(table, columns, chunks, token, structure);
    };
    if (!insert.isRepeat) return send(key);
    const { keysHaveRows } = this.#replication;
    const insertsMax = keysHaveRows ? 1 : INSERTS_MAX;
    for (let attempt = 0; attempt < insertsMax; attempt += 1) {
      if (await this.#hasRows(insert)) return;
      // A first attempt that still runs in the store has the first of these keys, so one of the two is dropped.
      await send(attempt === 0 ? key : `${key}:${attempt}`);
    }
    if (await this.#hasRows(insert)) return;
    throw new StoreError(`${table}: rows of ${key} are not visible after ${insertsMax} inserts`, {
      kind: keysHaveRows ? 'retryable' : 'fatal',
      failure: 'server',
    });
  }

  async #hasRows({ table, present }: KeyedInsert): Promise<boolean> {
    const sql = `SELECT 1 AS found FROM ${table} WHERE ${present.sql} LIMIT 1`;
    return (await this.query(sql, present.parameters)).length > 0;
  }

  /**
   * Stores RowBinary rows for these columns as one block. Resolves when they are on disk. If the table has a
   * deduplication window, the store drops rows whose key it knows; `insertOnce` states the limits of that.
   *
   * `structure` is `column Type, …` with plain types (`String`, where the table has `LowCardinality(String)`). With it, the
   * store reads each column as a whole and converts it then. Without it, the store builds a dictionary for every single
   * value of a `LowCardinality` column: half of the price of an insert into a table of many of them.
   */
  async insertRowBinary(
    table: string,
    columns: readonly string[],
    chunks: readonly Uint8Array[],
    key: string | undefined,
    structure?: string,
  ): Promise<void> {
    const names = columns.map((column) => `\`${column}\``).join(', ');
    const rows = structure === undefined ? '' : `SELECT ${names} FROM input('${quoted(structure)}') `;
    await withStoreErrors(async () => {
      const { stream } = await this.#client.exec({
        query: `INSERT INTO ${table} (${names}) ${rows}FORMAT RowBinary`,
        values: Readable.from(chunks, { objectMode: false }),
        clickhouse_settings: {
          async_insert: 0,
          wait_end_of_query: 1,
          // With a structure the embedded store reads a file, and goes by the second.
          max_insert_block_size: ONE_BLOCK_ROWS,
          max_block_size: ONE_BLOCK_ROWS,
          // Rows that cancel out or replace each other do so at the first merge, and are not looked for before.
          optimize_on_insert: 0,
          min_insert_block_size_rows: ONE_BLOCK_ROWS,
          min_insert_block_size_bytes: '0',
          ...this.#replication.writeSettings,
          // Without a key, equal rows are different rows. Releases differ in their handling of the settings' defaults.
          ...(key === undefined
            ? { insert_deduplicate: 0 }
            : { insert_deduplicate: 1, insert_deduplication_token: key }),
        },
      });
      for await (const _ of stream) {
        // The answer has no body; reading to its end releases the connection.
      }
    });
  }

  /**
   * Runs an insert whose rows are the bytes of a stream, in the format at the end of the statement. Resolves when they
   * are on disk. The settings decide the number of blocks, so a failed insert may have stored some of them.
   */
  async insertBytes(sql: string, bytes: Readable, settings: StoreSettings): Promise<void> {
    await withStoreErrors(async () => {
      const { stream } = await this.#client.exec({
        query: sql,
        values: bytes,
        clickhouse_settings: {
          async_insert: 0,
          wait_end_of_query: 1,
          ...this.#replication.writeSettings,
          ...settings,
        },
      });
      for await (const _ of stream) {
        // The answer has no body.
      }
    });
  }

  /**
   * All rows of a result, or the rows up to the one that `isLast` names. When `ended` aborts before the answer begins, the statement ends
   * like after a lost connection.
   */
  async query<Row>(
    sql: string,
    parameters?: StoreParameters,
    settings?: StoreSettings,
    ended?: AbortSignal,
    tables: readonly StatementTable[] = [],
    isLast?: IsLastRow<Row>,
  ): Promise<Row[]> {
    // Threads that write pieces of a result in parallel take longer to start than to write a small one.
    const small = { output_format_parallel_formatting: 0, ...settings };
    if (tables.length === 0 && isLast === undefined) {
      const ask = async () => (await this.#ask(sql, parameters, small, ended)).text();
      return parseRowLines(await withStoreErrors(ask));
    }
    const json = { ...small, output_format_json_quote_64bit_integers: 0 };
    return readRowLines(this.bytes(`${sql}\nFORMAT JSONEachRow`, parameters, json, ended, tables), isLast);
  }

  /** The rows of a result as they arrive, in groups; memory does not grow with their number. */
  async *stream<Row>(
    sql: string,
    parameters?: StoreParameters,
    settings?: StoreSettings,
  ): AsyncGenerator<Row[]> {
    const result = await withStoreErrors(() => this.#ask(sql, parameters, settings));
    const groups = result.stream<Row>()[Symbol.asyncIterator]();
    try {
      for (;;) {
        const group = await withStoreErrors(() => groups.next());
        if (group.done) return;
        yield (group.value as readonly { json(): Row }[]).map((row) => row.json());
      }
    } finally {
      result.close();
    }
  }

  /**
   * The bytes of a result as they arrive; the statement names its format. The store waits while they are not read, and
   * stops when `return` is called before the end. `ended` as for `query`.
   */
  async *bytes(
    sql: string,
    parameters?: StoreParameters,
    settings?: StoreSettings,
    ended?: AbortSignal,
    tables: readonly StatementTable[] = [],
  ): AsyncGenerator<Buffer, void, void> {
    const exec = (known: StoreSettings) =>
      this.#client.exec({
        query: sql,
        ...(tables.length > 0 ? formOf(parameters, tables) : { query_params: { ...parameters } }),
        ...(ended === undefined ? {} : { abort_signal: ended }),
        clickhouse_settings: {
          max_query_size: String(QUERY_TEXT_MAX_BYTES),
          ...this.#replication.readSettings,
          ...known,
          ...this.#rights(),
        },
      });
    const { stream } = await withStoreErrors(() => this.#asKnown(settings, parameters, exec, ended));
    const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    try {
      for (;;) {
        const piece = await withStoreErrors(() => pieces.next());
        if (piece.done) return;
        yield piece.value;
      }
    } finally {
      stream.destroy();
    }
  }

  /**
   * Runs a statement that makes, changes or drops tables, on replicas in their form (`replication.ts`). An unavailable
   * replica follows when it is back.
   */
  async define(sql: string, settings: StoreSettings = {}): Promise<void> {
    const { definitionSettings } = this.#replication;
    await this.command(this.#replication.definition(sql), {}, { ...definitionSettings, ...settings });
  }

  /** Makes an empty table with the columns, the order and the settings of another one. */
  async defineLike(table: string, like: string, settings: StoreSettings): Promise<void> {
    const [found] = await this.query<{ engineFull: string }>(
      'SELECT engine_full AS engineFull FROM system.tables WHERE database = currentDatabase() AND name = {like:String}',
      { like },
    );
    const { engineFull } = must(found, `${like} exists`);
    const sql = this.#replication.likeDefinition(table, like, engineFull);
    await this.command(sql, {}, { ...this.#replication.definitionSettings, ...settings });
  }

  /**
   * Resolves when every replica has everything that this table has by now. Call it before a statement that reads the
   * table on each replica, or on one without asking the others. On a single server it resolves immediately.
   * @throws {StoreError} retryable: a replica is unavailable or behind
   */
  async settle(table: string): Promise<void> {
    const settling = this.#replication.settling?.(table);
    if (settling !== undefined) await this.command(settling.sql, {}, settling.settings);
  }

  /**
   * Runs statements that delete or change rows of one table; complete on every replica when it returns. The server
   * merges waiting ones, so it rewrites a file once. None may hold a subquery: each replica would answer it by itself.
   */
  async mutate(...statements: readonly StoreStatement[]): Promise<void> {
    // They happen in their order, so the last is complete once all are.
    for (const [index, { sql, parameters }] of statements.entries())
      await this.command(sql, parameters, { mutations_sync: index === statements.length - 1 ? 2 : 0 });
  }

  /** Runs a statement whose result is not needed. */
  async command(sql: string, parameters?: StoreParameters, settings?: StoreSettings): Promise<void> {
    const command = (known: StoreSettings) =>
      this.#client.command({
        query: sql,
        ...(parameters === undefined ? {} : { query_params: { ...parameters } }),
        clickhouse_settings: {
          ...this.#replication.writeSettings,
          ...known,
          wait_end_of_query: 1,
          max_query_size: String(QUERY_TEXT_MAX_BYTES),
        },
      });
    await withStoreErrors(() => this.#asKnown(settings, parameters, command));
  }

  /** Creates the database if it does not exist. Every other call needs it. */
  async createDatabase(): Promise<void> {
    const client = connect({ ...this.#options, database: 'default' });
    const sql = `CREATE DATABASE IF NOT EXISTS \`${this.database}\``;
    try {
      await withStoreErrors(() =>
        client.command({
          query: this.#replication.definition(sql),
          clickhouse_settings: { ...this.#replication.definitionSettings },
        }),
      );
    } finally {
      await client.close();
    }
  }

  /** True if the store answers and accepts the credentials. */
  async ping(): Promise<boolean> {
    return (await this.#client.ping({ select: true })).success;
  }

  /** True if the store answers at all. It needs no statement for this, so a store full of statements answers, too. */
  async responds(): Promise<boolean> {
    return (await this.#client.ping()).success;
  }

  /**
   * True if the store answers that these credentials or this database cannot be used, or that the server cannot be the store. False when it
   * does not answer.
   */
  async rejectsUs(): Promise<boolean> {
    const ping = await this.#client.ping({ select: true });
    if (!ping.success) return storeError(ping.error).kind === 'fatal';
    return this.features().then(
      ({ problem }) => problem !== undefined,
      () => false,
    );
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** With 2, and not with 1, settings of the same request apply. */
  #rights(): StoreSettings {
    return this.#options.isReadonly === true ? { readonly: '2' } : {};
  }

  #ask(
    sql: string,
    parameters: StoreParameters | undefined,
    settings: StoreSettings | undefined,
    ended?: AbortSignal,
  ) {
    const ask = (known: StoreSettings) =>
      this.#client.query({
        query: sql,
        format: 'JSONEachRow',
        ...(parameters === undefined ? {} : { query_params: { ...parameters } }),
        ...(ended === undefined ? {} : { abort_signal: ended }),
        clickhouse_settings: {
          max_query_size: String(QUERY_TEXT_MAX_BYTES),
          output_format_json_quote_64bit_integers: 0,
          ...this.#replication.readSettings,
          ...known,
          ...this.#rights(),
        },
      });
    return this.#asKnown(settings, parameters, ask, ended);
  }
}

/** The content of a quoted text in SQL. */
function quoted(text: string): string {
  return text.replace(/[\\']/g, '\\$&');
}
