import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { formOf, type StatementTable } from './statement-form.ts';

const CONNECTIONS_MAX = 32;
// Shorter than the time after which either end closes idle connections: ClickHouse 10 s, the embedded store 30 s.
const IDLE_SOCKET_MS = 5000;
/** Queries contain long lists of values; the engine's default limit is 256 KiB. */
const QUERY_TEXT_MAX_BYTES = 67_108_864;

/** More rows than any insert has. */
const ONE_BLOCK_ROWS = '16777216';
/** Limit for inserts whose keys were recorded by a store that was killed before it had the rows. */
const INSERTS_MAX = 20;

export interface StoreOptions {
  /** May contain user and password. */
  readonly url: string;
  readonly database: string;
  readonly requestTimeoutMs: number;
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
  /** Whether the insert may have been tried before, by any process. */
  readonly isRepeat: boolean;
  /** Called before rows are sent; throws where they must not be any more. */
  readonly confirm?: () => Promise<void>;
}

export type StoreSettings = Readonly<Record<string, string | number>>;
export type StoreParameters = Readonly<Record<string, unknown>>;

/**
 * What to do about an error. `retryable`: the same request may succeed later. `poison`: these values can never be
 * stored or queried. `fatal`: the configuration is wrong, whatever the values are.
 */
export type StoreErrorKind = 'retryable' | 'poison' | 'fatal';

/**
 * Where a call failed. `server`: the store answered with an error. `timeout`: no bytes came within `requestTimeoutMs`,
 * though the connection stood. `unreachable`: no connection, a lost connection, or an answer that is not the store's.
 */
export type StoreFailure = 'server' | 'timeout' | 'unreachable';

/** Which limit a statement exceeded: its own, that of its user, or that of the whole server. */
export type MemoryLimit = 'query' | 'user' | 'total';

/** The facts about a failed call. */
export interface StoreErrorFacts {
  readonly kind: StoreErrorKind;
  readonly failure: StoreFailure;
  readonly code?: number;
  readonly memoryLimit?: MemoryLimit | undefined;
}

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: StoreErrorKind;
  readonly failure: StoreFailure;
  /** ClickHouse's number of the error; undefined unless the store answered with one. */
  readonly code: number | undefined;
  /** Set with MEMORY_LIMIT_EXCEEDED only, and undefined there when the store does not say which limit it was. */
  readonly memoryLimit: MemoryLimit | undefined;

  constructor(
    message: string,
    { kind, failure, code, memoryLimit }: StoreErrorFacts,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.kind = kind;
    this.failure = failure;
    this.code = code;
    this.memoryLimit = memoryLimit;
  }

  /** Whether the same call may succeed later. */
  get retryable(): boolean {
    return this.kind === 'retryable';
  }
}

/**
 * ClickHouse as footfall uses it. 64-bit integers are returned as JSON numbers, exact up to 2⁵³, which counts,
 * milliseconds and sequences do not reach. Select a column that can exceed it, such as a hash, as `toString(column)`.
 */
export class Store {
  readonly #client: ClickHouseClient;
  readonly #options: StoreOptions;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#client = connect(options);
  }

  get database(): string {
    return this.#options.database;
  }

  /**
   * Stores rows exactly once, however often it is called. The store recognizes an insert by its key, but it records the
   * key before it has the rows, and does not sync that record: if it is killed in between, it drops a repeated insert
   * whose rows it does not have, and after a power failure it may not recognize one whose rows it has. So a repeated
   * insert checks for the rows themselves. An insert is one block, which is stored completely or not at all.
   * @throws {StoreError} as `insertRowBinary`; fatal when the rows are not visible after repeated inserts
   */
  async insertOnce(insert: KeyedInsert): Promise<void> {
    const { table, columns, chunks, key, structure, confirm } = insert;
    const send = async (token: string) => {
      await confirm?.();
      await this.insertRowBinary(table, columns, chunks, token, structure);
    };
    if (!insert.isRepeat) return send(key);
    for (let attempt = 0; attempt < INSERTS_MAX; attempt += 1) {
      if (await this.#hasRows(insert)) return;
      // A first attempt that still runs in the store has the first of these keys, so one of the two is dropped.
      await send(attempt === 0 ? key : `${key}:${attempt}`);
    }
    if (await this.#hasRows(insert)) return;
    throw new StoreError(`${table}: rows of ${key} are not visible after ${INSERTS_MAX} inserts`, {
      kind: 'fatal',
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
          ...(key === undefined ? {} : { insert_deduplication_token: key }),
        },
      });
      for await (const _ of stream) {
        // The answer has no body; reading to its end releases the connection.
      }
    });
  }

  /**
   * Runs an insert whose rows are the bytes of a stream, in the format that the statement names last. Resolves when they are on
   * disk. It is as many blocks as the settings say, so one that fails may have stored a part of them.
   */
  async insertBytes(sql: string, bytes: Readable, settings: StoreSettings): Promise<void> {
    await withStoreErrors(async () => {
      const { stream } = await this.#client.exec({
        query: sql,
        values: bytes,
        clickhouse_settings: { async_insert: 0, wait_end_of_query: 1, ...settings },
      });
      for await (const _ of stream) {
        // The answer has no body.
      }
    });
  }

  /** All rows of a result. When `ended` aborts before the answer begins, the statement ends as with a lost connection. */
  async query<Row>(
    sql: string,
    parameters?: StoreParameters,
    settings?: StoreSettings,
    ended?: AbortSignal,
    tables: readonly StatementTable[] = [],
  ): Promise<Row[]> {
    // Threads that write pieces of a result in parallel take longer to start than to write a small one.
    const small = { output_format_parallel_formatting: 0, ...settings };
    if (tables.length === 0)
      return withStoreErrors(async () => (await this.#ask(sql, parameters, small, ended)).json<Row>());
    const pieces: Buffer[] = [];
    const json = { ...small, output_format_json_quote_64bit_integers: 0 };
    for await (const piece of this.bytes(`${sql}\nFORMAT JSONEachRow`, parameters, json, ended, tables))
      pieces.push(piece);
    const lines = Buffer.concat(pieces).toString().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Row);
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
    const { stream } = await withStoreErrors(() =>
      this.#client.exec({
        query: sql,
        ...(tables.length > 0 ? formOf(parameters, tables) : { query_params: { ...parameters } }),
        ...(ended === undefined ? {} : { abort_signal: ended }),
        clickhouse_settings: {
          max_query_size: String(QUERY_TEXT_MAX_BYTES),
          ...settings,
          ...this.#rights(),
        },
      }),
    );
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

  /** Runs a statement whose result is not needed. */
  async command(sql: string, parameters?: StoreParameters, settings?: StoreSettings): Promise<void> {
    await withStoreErrors(() =>
      this.#client.command({
        query: sql,
        ...(parameters === undefined ? {} : { query_params: { ...parameters } }),
        clickhouse_settings: {
          ...settings,
          wait_end_of_query: 1,
          max_query_size: String(QUERY_TEXT_MAX_BYTES),
        },
      }),
    );
  }

  /** Creates the database if it does not exist. Every other call needs it. */
  async createDatabase(): Promise<void> {
    const client = connect({ ...this.#options, database: 'default' });
    try {
      await withStoreErrors(() =>
        client.command({ query: `CREATE DATABASE IF NOT EXISTS \`${this.database}\`` }),
      );
    } finally {
      await client.close();
    }
  }

  /** Whether the store answers and accepts the credentials. */
  async ping(): Promise<boolean> {
    return (await this.#client.ping({ select: true })).success;
  }

  /** Whether the store answers at all. It needs no statement for this, so a store full of statements answers, too. */
  async responds(): Promise<boolean> {
    return (await this.#client.ping()).success;
  }

  /** Whether the store answers that these credentials or this database cannot be used. False when it does not answer. */
  async rejectsUs(): Promise<boolean> {
    const ping = await this.#client.ping({ select: true });
    return !ping.success && storeError(ping.error).kind === 'fatal';
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
    return this.#client.query({
      query: sql,
      format: 'JSONEachRow',
      ...(parameters === undefined ? {} : { query_params: { ...parameters } }),
      ...(ended === undefined ? {} : { abort_signal: ended }),
      clickhouse_settings: {
        max_query_size: String(QUERY_TEXT_MAX_BYTES),
        output_format_json_quote_64bit_integers: 0,
        ...settings,
        ...this.#rights(),
      },
    });
  }
}

// Timeouts, lost connections, full queues, memory, disks that are full or fail, read-only replicas, too many parts,
// shutdown, and the coordination service: the data is valid, and the store will recover.
const RETRYABLE = new Set([
  75, 76, 159, 198, 201, 202, 203, 204, 209, 210, 225, 236, 241, 242, 243, 252, 279, 285, 286, 290, 319, 364,
  394, 425, 439, 473, 499, 999, 1001,
]);
// The bytes cannot be read as rows of the table.
const POISON = new Set([
  6, 25, 26, 27, 33, 34, 38, 41, 43, 53, 69, 70, 72, 117, 131, 190, 321, 349, 376, 407, 441, 467, 469, 675,
  676,
]);

function kindOf(code: number): StoreErrorKind {
  if (RETRYABLE.has(code)) return 'retryable';
  return POISON.has(code) ? 'poison' : 'fatal';
}

/** The content of a quoted text in SQL. */
function quoted(text: string): string {
  return text.replace(/[\\']/g, '\\$&');
}

/** Runs a call of the client and converts its errors to `StoreError`. */
async function withStoreErrors<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw storeError(error);
  }
}

const MEMORY_LIMIT_EXCEEDED = 241;

/** An error of the client as ours. Anything but an error answer of the store is a failure of the connection. */
export function storeError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const cause = error instanceof Error ? error : new Error(String(error));
  if (!(cause instanceof ClickHouseError)) {
    const failure = isRequestTimeout(cause) ? 'timeout' : 'unreachable';
    return new StoreError(cause.message, { kind: 'retryable', failure }, { cause });
  }
  const code = Number(cause.code);
  const memoryLimit = code === MEMORY_LIMIT_EXCEEDED ? memoryLimitOf(cause.message) : undefined;
  const facts = { kind: kindOf(code), failure: 'server', code, memoryLimit } as const;
  return new StoreError(`${cause.type ?? 'ERROR'} (${code}): ${cause.message}`, facts, { cause });
}

// Two facts that neither the client nor the server states other than in words. They are read here and nowhere else;
// store.clickhouse.test.ts checks both against the real client and the real engine.

/** The client gives up a request with this text and no code. */
function isRequestTimeout(error: Error): boolean {
  return error.message === 'Timeout error.';
}

/**
 * ClickHouse's MemoryTracker writes `(total) memory limit exceeded: would use …`, `User memory limit exceeded: …` or
 * `Query memory limit exceeded: …`; older servers `Memory limit (total) exceeded`, `(for user)`, `(for query)`.
 */
const MEMORY_LIMIT_TEXT =
  /(?:\((total)\)|\b(User|Query)) memory limit exceeded|Memory limit \((total|for user|for query)\) exceeded/;

function memoryLimitOf(message: string): MemoryLimit | undefined {
  const found = MEMORY_LIMIT_TEXT.exec(message);
  switch (found?.[1] ?? found?.[2] ?? found?.[3]) {
    case 'total':
      return 'total';
    case 'User':
    case 'for user':
      return 'user';
    case 'Query':
    case 'for query':
      return 'query';
    default:
      return undefined;
  }
}

function connect({ url, database, requestTimeoutMs }: StoreOptions): ClickHouseClient {
  const { address, username, password } = parts(url);
  return createClient({
    url: address,
    username,
    password,
    database,
    application: 'footfall',
    request_timeout: requestTimeoutMs,
    max_open_connections: CONNECTIONS_MAX,
    keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_MS },
    use_multipart_params_auto: true,
    log: { level: ClickHouseLogLevel.OFF },
  });
}

function parts(url: string) {
  const parsed = new URL(url);
  const username = decodeURIComponent(parsed.username) || 'default';
  const password = decodeURIComponent(parsed.password);
  parsed.username = '';
  parsed.password = '';
  return { address: parsed, username, password };
}
