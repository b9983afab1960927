import { createReadStream } from 'node:fs';
import { Semaphore, SemaphoreError } from '../concurrency/semaphore.ts';
import type { ExternalTable, ReceivedQuery } from './body.ts';
import type { DiskSpace } from './disk-space.ts';
import type { Engine, EngineConnection } from './engine.ts';
import { exception } from './exceptions.ts';
import type { InsertHead } from './insert-head.ts';
import { preparation, type QueryRequest } from './query-request.ts';
import { ReaderRules } from './reader.ts';
import { NO_SUMMARY, type Reply, type Summary } from './reply.ts';
import { ResultPipe } from './result-pipe.ts';
import type { Spool, SpoolFile } from './spool.ts';
import { intoFile, type ReadStatement, readStatement, sqlName, sqlString } from './statement.ts';
import type { WriteWatch } from './write-watch.ts';

/** Queries that run at the same time. Each takes one libuv thread and at least one thread of the engine. */
export const QUERIES_MAX = 8;
/** Inserts that run at the same time. They have their own permits, so that queries never block them. */
export const INSERTS_MAX = 4;
const WAITING_MAX = 128;

/** The outcome of a request, for the metrics. */
export interface Outcome {
  readonly kind: 'query' | 'insert';
  readonly summary: Summary;
}

export interface ExecutorOptions {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly disk: DiskSpace;
  readonly writes: WriteWatch;
}

/** One statement to run for one client. */
export interface Task {
  readonly received: ReceivedQuery;
  readonly query: QueryRequest;
  /** Called when the format of the answer is known. */
  readonly openReply: (format: string) => Reply;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
}

/** Runs statements, each on its own connection. */
export class Executor {
  readonly queries: Semaphore = new Semaphore(QUERIES_MAX, WAITING_MAX);
  readonly inserts: Semaphore = new Semaphore(INSERTS_MAX, WAITING_MAX);
  readonly #engine: Engine;
  readonly #spool: Spool;
  readonly #disk: DiskSpace;
  readonly #writes: WriteWatch;
  readonly #freePipes: string[];
  readonly #readerRules: ReaderRules;
  #marks = 0;

  constructor({ engine, spool, disk, writes }: ExecutorOptions) {
    this.#engine = engine;
    this.#spool = spool;
    this.#disk = disk;
    this.#writes = writes;
    this.#freePipes = [...spool.pipes(QUERIES_MAX)];
    this.#readerRules = new ReaderRules(engine.tableFunctions);
  }

  async run(task: Task): Promise<Outcome> {
    try {
      return await this.#run(task);
    } catch (error) {
      // The statement may have failed because of files that are incomplete, and would succeed once they are repaired.
      await this.#writes.check();
      throw error;
    }
  }

  async #run(task: Task): Promise<Outcome> {
    const { received, query } = task;
    if (received.kind === 'rows') {
      if (query.isReadonly) throw readonlyException();
      const summary = await this.#insertRows(task, received.head, received.rows);
      return { kind: 'insert', summary };
    }
    if (query.isReader) this.#readerRules.check(received, query);
    const statement = readStatement(received.text);
    if (statement.kind === 'write' && query.isReadonly) throw readonlyException();
    return { kind: 'query', summary: await this.#runStatement(task, statement, received.tables) };
  }

  async #insertRows({ query, openReply, gone }: Task, head: InsertHead, rows: SpoolFile): Promise<Summary> {
    const release = await permit(this.inserts, INSERTS_MAX, gone);
    try {
      const summary = await this.#connected(query, [], (connection) =>
        writeRows(connection, fromFile(head, rows.path)),
      );
      await this.#writes.check();
      await openReply(query.defaultFormat).finish(summary);
      return summary;
    } finally {
      release();
    }
  }

  async #runStatement(
    task: Task,
    statement: ReadStatement,
    tables: readonly ExternalTable[],
  ): Promise<Summary> {
    const { query, gone } = task;
    const release = await permit(this.queries, QUERIES_MAX, gone);
    try {
      return await this.#connected(query, tables, (connection, mark) => {
        switch (statement.kind) {
          case 'read':
            return query.waitsForEnd
              ? this.#readWhole(task, statement, connection, mark)
              : this.#readStreamed(task, statement, connection, mark);
          case 'write':
            return this.#writeSelected(task, statement, connection);
          default:
            return this.#command(task, statement, connection);
        }
      });
    } finally {
      release();
    }
  }

  async #connected<T>(
    query: QueryRequest,
    tables: readonly ExternalTable[],
    use: (connection: EngineConnection, mark: string) => Promise<T>,
  ): Promise<T> {
    this.#marks += 1;
    const mark = `footfall-${this.#marks}-`;
    const connection = this.#engine.connect();
    try {
      // First, because a read-only connection may not change its database.
      if (query.database !== undefined) await connection.query(`USE ${sqlName(query.database)}`, 'Null');
      // Before the request's own settings, which may forbid to write.
      for (const table of tables) await connection.query(creationOf(table), 'Null');
      await connection.query(preparation(query, mark), 'Null');
      return await use(connection, mark);
    } finally {
      connection.close();
    }
  }

  async #readStreamed(task: Task, statement: ReadStatement, connection: EngineConnection, mark: string) {
    const format = statement.format?.name ?? task.query.defaultFormat;
    const reply = task.openReply(format);
    const path = this.#freePipes.pop();
    if (path === undefined) throw exception('STD_EXCEPTION', 'no free pipe');
    const pipe = new ResultPipe(path);
    try {
      const running = connection.query(intoFile(statement, path, format), format).finally(() => pipe.end());
      const killing = this.#killWhenGone(task.gone, mark, running);
      // The engine must be able to write until it has stopped, even when the client has disconnected.
      const passing = passOn(pipe.chunks, reply);
      const [result] = await Promise.allSettled([running, passing]);
      await killing;
      if (result.status === 'rejected') throw result.reason;
      await passing;
      const summary = { ...NO_SUMMARY, readRows: result.value.rowsRead, readBytes: result.value.bytesRead };
      await reply.finish(summary);
      return summary;
    } finally {
      pipe.close();
      this.#freePipes.push(path);
    }
  }

  /** With `wait_end_of_query` nothing is sent before the end: the result goes to a file first. */
  async #readWhole(task: Task, statement: ReadStatement, connection: EngineConnection, mark: string) {
    const format = statement.format?.name ?? task.query.defaultFormat;
    const file = await this.#spool.create();
    await file.close();
    try {
      const running = connection.query(intoFile(statement, file.path, format), format);
      const killing = this.#killWhenGone(task.gone, mark, running);
      const [result] = await Promise.allSettled([running]);
      await killing;
      if (result.status === 'rejected') throw result.reason;
      await this.#writes.check();
      const reply = task.openReply(format);
      await passOn(createReadStream(file.path) as AsyncIterable<Buffer>, reply);
      const summary = { ...NO_SUMMARY, readRows: result.value.rowsRead, readBytes: result.value.bytesRead };
      await reply.finish(summary);
      return summary;
    } finally {
      await file.remove();
    }
  }

  async #writeSelected(task: Task, statement: ReadStatement, connection: EngineConnection): Promise<Summary> {
    await this.#disk.requireRoom();
    const summary = await writeRows(connection, statement.text);
    await this.#writes.check();
    await task.openReply(task.query.defaultFormat).finish(summary);
    return summary;
  }

  async #command({ query, openReply }: Task, statement: ReadStatement, connection: EngineConnection) {
    const format = statement.format?.name ?? query.defaultFormat;
    if (statement.needsRoom) await this.#disk.requireRoom();
    const { bytes, rowsRead, bytesRead } = await connection.query(statement.text, format);
    await this.#writes.check();
    const reply = openReply(format);
    if (bytes.length > 0) await reply.write(bytes);
    const summary = { ...NO_SUMMARY, readRows: rowsRead, readBytes: bytesRead };
    await reply.finish(summary);
    return summary;
  }

  /** Resolves when the query has ended, by itself or because it was killed for a client that disconnected. */
  async #killWhenGone(gone: AbortSignal, mark: string, running: Promise<unknown>): Promise<void> {
    const ended = running.then(
      () => {},
      () => {},
    );
    await endedOrGone(ended, gone);
    if (gone.aborted) await this.#engine.kill(mark, ended);
  }
}

/** Makes an external table, which ends with its connection. */
function creationOf({ name, format, structure, rows }: ExternalTable): string {
  const file = `file(${sqlString(rows.path)}, ${sqlString(format)}, ${sqlString(structure)})`;
  return `CREATE TEMPORARY TABLE ${sqlName(name)} ENGINE = Memory AS SELECT * FROM ${file}`;
}

/** The insert with the rows in a file. */
function fromFile({ before, after, structure, format }: InsertHead, path: string): string {
  return structure === undefined
    ? `${before} FROM INFILE ${sqlString(path)} COMPRESSION 'none' ${after} FORMAT ${format}`
    : `${before} file(${sqlString(path)}, ${sqlString(format)}, ${structure}) ${after}`;
}

async function writeRows(connection: EngineConnection, sql: string): Promise<Summary> {
  const { rowsWritten, bytesWritten } = await connection.write(sql);
  return {
    readRows: rowsWritten,
    readBytes: bytesWritten,
    writtenRows: rowsWritten,
    writtenBytes: bytesWritten,
  };
}

function endedOrGone(ended: Promise<void>, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      gone.removeEventListener('abort', done);
      resolve();
    };
    if (gone.aborted) done();
    else gone.addEventListener('abort', done);
    void ended.then(done);
  });
}

async function passOn(chunks: AsyncIterable<Buffer>, reply: Reply): Promise<void> {
  for await (const chunk of chunks) await reply.write(chunk);
}

function readonlyException() {
  return exception('READONLY', 'default: Cannot execute query in readonly mode.');
}

/** Waits for a permit to run; errors are ClickHouse's exceptions. */
async function permit(semaphore: Semaphore, runningMax: number, gone: AbortSignal): Promise<() => void> {
  try {
    return await semaphore.acquire(gone);
  } catch (error) {
    if (!(error instanceof SemaphoreError)) throw error;
    if (error.reason === 'aborted')
      throw exception('QUERY_WAS_CANCELLED', 'Query was cancelled: the client went away.');
    const text = `Too many simultaneous queries. Maximum: ${runningMax}, and ${WAITING_MAX} waiting.`;
    throw exception('TOO_MANY_SIMULTANEOUS_QUERIES', text);
  }
}
