import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { DiskSpace } from './disk-space.ts';
import { ClickHouseException, exception } from './exceptions.ts';
import { findInsertHead, type InsertHead } from './insert-head.ts';
import { formBoundary, formParts } from './multipart.ts';
import { addField, type QueryRequest, takeTableDefinition } from './query-request.ts';
import type { Spool, SpoolFile } from './spool.ts';

/** Longest text of one statement. The engine's `max_query_size` is lower unless the client raises it. */
const TEXT_MAX_BYTES = 67_108_864;
/** The head of an insert is recognized within this many bytes, or else within `HEAD_MAX_BYTES`. */
const HEAD_BYTES = 65_536;
const HEAD_MAX_BYTES = 1_048_576;

/** Rows that a form brings for its statement, which reads them as a table of this name. */
export interface ExternalTable {
  readonly name: string;
  readonly format: string;
  readonly structure: string;
  readonly rows: SpoolFile;
}

/** The content of a request: a whole statement, or an insert whose rows are in a file. */
export type ReceivedQuery =
  | { readonly kind: 'statement'; readonly text: string; readonly tables: readonly ExternalTable[] }
  | { readonly kind: 'rows'; readonly head: InsertHead; readonly rows: SpoolFile };

/** Counts the bytes of statements in memory over all requests, and rejects those beyond the limit. */
export class TextBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  reserve(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax)
      throw exception(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        'Too many simultaneous queries: the memory for their texts is full.',
      );
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Reads a body to its end. `release` returns the bytes that it has taken from the budget. */
export class BodyReader {
  readonly #spool: Spool;
  readonly #disk: DiskSpace;
  readonly #budget: TextBudget;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(spool: Spool, disk: DiskSpace, budget: TextBudget) {
    this.#spool = spool;
    this.#disk = disk;
    this.#budget = budget;
  }

  /** May be called more than once, also after `read` has failed. */
  release(): void {
    this.#budget.release(this.#length);
    this.#chunks = [];
    this.#length = 0;
  }

  async read(request: IncomingMessage, query: QueryRequest): Promise<ReceivedQuery> {
    const boundary = formBoundary(request.headers['content-type']);
    if (boundary !== undefined) return this.#readForm(decoded(request), query, boundary);
    if (query.urlQuery !== '') this.#append(Buffer.from(`${query.urlQuery}\n`));
    const source = decoded(request)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let wanted = query.urlQuery === '' ? HEAD_BYTES : 0;
    for (;;) {
      const isAll = await this.#fill(source, wanted);
      const head = findInsertHead(this.#bytes().toString('latin1'), isAll);
      if (typeof head === 'object') return this.#spoolRows(head, source);
      if (isAll || head !== 'incomplete' || wanted > HEAD_MAX_BYTES) {
        if (!isAll) await this.#fill(source, Number.POSITIVE_INFINITY);
        return { kind: 'statement', text: this.#text(), tables: [] };
      }
      wanted = Math.max(HEAD_BYTES, this.#length) * 2;
    }
  }

  async #spoolRows(head: InsertHead, source: AsyncIterator<Buffer>): Promise<ReceivedQuery> {
    await this.#disk.requireRoom();
    const rows = await this.#spool.create();
    try {
      await rows.append(this.#bytes().subarray(head.dataStart));
      this.release();
      for (let next = await source.next(); !next.done; next = await source.next())
        await rows.append(next.value);
      await rows.close();
    } catch (error) {
      await rows.close();
      await rows.remove();
      throw requestError(error);
    }
    return { kind: 'rows', head, rows };
  }

  async #readForm(source: Readable, query: QueryRequest, boundary: string): Promise<ReceivedQuery> {
    await this.#fill(source[Symbol.asyncIterator]() as AsyncIterator<Buffer>, Number.POSITIVE_INFINITY);
    const parts = formParts(this.#bytes(), boundary);
    let text = query.urlQuery;
    for (const { name, bytes } of parts.filter(({ isFile }) => !isFile)) {
      if (name === 'query') text += bytes.toString();
      else addField(query.fields, name, bytes.toString());
    }
    const tables: ExternalTable[] = [];
    try {
      for (const part of parts.filter(({ isFile }) => isFile)) {
        const definition = takeTableDefinition(query.fields, part.name);
        const rows = await this.#spool.create();
        tables.push({ ...definition, rows });
        await rows.append(part.bytes);
        await rows.close();
      }
    } catch (error) {
      await removeRows({ kind: 'statement', text, tables });
      throw error;
    }
    return { kind: 'statement', text, tables };
  }

  /** Reads until this many bytes are buffered; true when the source has ended. */
  async #fill(source: AsyncIterator<Buffer>, bytes: number): Promise<boolean> {
    while (this.#length < bytes) {
      let next: IteratorResult<Buffer>;
      try {
        next = await source.next();
      } catch (error) {
        throw requestError(error);
      }
      if (next.done) return true;
      this.#append(next.value);
    }
    return false;
  }

  #append(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#budget.reserve(chunk.length);
    if (this.#length > TEXT_MAX_BYTES)
      throw exception(
        'SYNTAX_ERROR',
        `Max query size exceeded: a statement may have ${TEXT_MAX_BYTES} bytes.`,
      );
  }

  #bytes(): Buffer {
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    if (bytes !== undefined) return bytes;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #text(): string {
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(this.#bytes());
    } catch {
      throw exception('SYNTAX_ERROR', 'Syntax error: the statement is not valid UTF-8.');
    }
  }
}

/** Removes the files of a request. */
export async function removeRows(received: ReceivedQuery): Promise<void> {
  if (received.kind === 'rows') await received.rows.remove();
  else for (const { rows } of received.tables) await rows.remove();
}

function decoded(request: IncomingMessage): Readable {
  const encoding = request.headers['content-encoding'];
  const decoder =
    encoding === 'gzip'
      ? createGunzip()
      : encoding === 'deflate'
        ? createInflate()
        : encoding === 'br'
          ? createBrotliDecompress()
          : undefined;
  if (decoder === undefined) {
    if (encoding === undefined || encoding === 'identity') return request;
    throw exception('NOT_IMPLEMENTED', `Unknown compression method: ${encoding}.`);
  }
  // The reader of the decoder sees the errors of both streams, so nothing is left to do here.
  return pipeline(request, decoder, () => {});
}

function requestError(error: unknown): unknown {
  if (error instanceof ClickHouseException) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT'))
    return exception('ZLIB_INFLATE_FAILED', `The body cannot be decompressed: ${code}.`);
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return exception('NETWORK_ERROR', 'The request ended before its body did.');
  return error;
}
