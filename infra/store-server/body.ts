import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ClickHouseException, exception } from './exceptions.ts';
import { findInsertHead, type InsertHead } from './insert-head.ts';
import { formBoundary, formFields } from './multipart.ts';
import { addField, type QueryRequest } from './query-request.ts';
import type { Spool, SpoolFile } from './spool.ts';

/** Longest text of one statement; the engine's `max_query_size` holds it to less unless the client asks. */
const TEXT_MAX_BYTES = 67_108_864;
/** An insert shows what it is within its first bytes. */
const HEAD_BYTES = 65_536;
const HEAD_MAX_BYTES = 1_048_576;

/** What a request asks for: a whole statement, or an insert whose rows wait in a file. */
export type Asked =
  | { readonly kind: 'statement'; readonly text: string }
  | { readonly kind: 'rows'; readonly head: InsertHead; readonly rows: SpoolFile };

/** Counts the bytes of statements that are held in memory, over all requests. */
export class TextBudget {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  hold(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax)
      throw exception(
        'TOO_MANY_SIMULTANEOUS_QUERIES',
        'Too many simultaneous queries: their texts fill the memory.',
      );
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Reads a body to its end. The bytes it takes from the budget are returned to it by `release`. */
export class BodyReader {
  readonly #spool: Spool;
  readonly #budget: TextBudget;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(spool: Spool, budget: TextBudget) {
    this.#spool = spool;
    this.#budget = budget;
  }

  /** May be called again, also when `read` failed. */
  release(): void {
    this.#budget.release(this.#length);
    this.#chunks = [];
    this.#length = 0;
  }

  async read(request: IncomingMessage, query: QueryRequest): Promise<Asked> {
    const boundary = formBoundary(request.headers['content-type']);
    if (boundary !== undefined) return this.#readForm(decoded(request), query, boundary);
    if (query.urlQuery !== '') this.#keep(Buffer.from(`${query.urlQuery}\n`));
    const source = decoded(request)[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    let wanted = query.urlQuery === '' ? HEAD_BYTES : 0;
    for (;;) {
      const isAll = await this.#fill(source, wanted);
      const head = findInsertHead(this.#bytes().toString('latin1'), isAll);
      if (typeof head === 'object') return this.#spoolRows(head, source);
      if (isAll || head !== 'incomplete' || wanted > HEAD_MAX_BYTES) {
        if (!isAll) await this.#fill(source, Number.POSITIVE_INFINITY);
        return { kind: 'statement', text: this.#text() };
      }
      wanted = Math.max(HEAD_BYTES, this.#length) * 2;
    }
  }

  async #spoolRows(head: InsertHead, source: AsyncIterator<Buffer>): Promise<Asked> {
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
      throw readable(error);
    }
    return { kind: 'rows', head, rows };
  }

  async #readForm(source: Readable, query: QueryRequest, boundary: string): Promise<Asked> {
    await this.#fill(source[Symbol.asyncIterator]() as AsyncIterator<Buffer>, Number.POSITIVE_INFINITY);
    let text = query.urlQuery;
    for (const [name, value] of formFields(this.#bytes(), boundary)) {
      if (name === 'query') text += value;
      else addField(query.fields, name, value);
    }
    return { kind: 'statement', text };
  }

  /** Reads until so many bytes are there; true when the source has ended. */
  async #fill(source: AsyncIterator<Buffer>, bytes: number): Promise<boolean> {
    while (this.#length < bytes) {
      let next: IteratorResult<Buffer>;
      try {
        next = await source.next();
      } catch (error) {
        throw readable(error);
      }
      if (next.done) return true;
      this.#keep(next.value);
    }
    return false;
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#budget.hold(chunk.length);
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
  // Who reads the decoder sees the error of either; there is nothing left to do here.
  return pipeline(request, decoder, () => {});
}

function readable(error: unknown): unknown {
  if (error instanceof ClickHouseException) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (code.startsWith('Z_') || code.startsWith('ERR__ERROR_FORMAT'))
    return exception('ZLIB_INFLATE_FAILED', `The body cannot be decompressed: ${code}.`);
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
    return exception('NETWORK_ERROR', 'The request ended before its body did.');
  return error;
}
