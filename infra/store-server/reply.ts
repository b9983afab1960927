import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { createGzip, type Gzip } from 'node:zlib';
import { EMBEDDED_STORE } from '../store/server-features.ts';
import { type ClickHouseException, httpStatus } from './exceptions.ts';
import { contentType, resultRows } from './formats.ts';

/** Like the real server, this retains the first bytes, so that an early error still has its own status. */
const RETAINED_MAX_BYTES = 1_048_576;
const CLIENT_STALL_MAX_MS = 300_000;
const GZIP_LEVEL = 3;

/** The counts of a finished query. */
export interface Summary {
  readonly readRows: number;
  readonly readBytes: number;
  readonly writtenRows: number;
  readonly writtenBytes: number;
}

export const NO_SUMMARY: Summary = { readRows: 0, readBytes: 0, writtenRows: 0, writtenBytes: 0 };

export interface ReplyOptions {
  readonly queryId: string;
  readonly format: string;
  readonly timezone: string;
  readonly version: string;
  readonly isGzip: boolean;
  /** Arrival time of the request, by `process.hrtime`. */
  readonly startedAtNs: bigint;
}

/** One answer, from its first byte to its end or its error. */
export class Reply {
  readonly #response: ServerResponse;
  readonly #options: ReplyOptions;
  readonly #exceptionTag = randomBytes(8).toString('hex');
  #retained: Buffer[] = [];
  #retainedBytes = 0;
  #gzip: Gzip | undefined;

  constructor(response: ServerResponse, options: ReplyOptions) {
    this.#response = response;
    this.#options = options;
  }

  /** Sends a piece of the result at the client's pace. Without a client the piece is dropped. */
  async write(chunk: Buffer): Promise<void> {
    if (this.#response.headersSent) return this.#send(chunk);
    this.#retained.push(chunk);
    this.#retainedBytes += chunk.length;
    if (this.#retainedBytes > RETAINED_MAX_BYTES) await this.#start(NO_SUMMARY);
  }

  async finish(summary: Summary): Promise<void> {
    if (!this.#response.headersSent) await this.#start(summary);
    const response = this.#response;
    if (response.destroyed) return;
    await new Promise<void>((resolve) => {
      response.once('finish', resolve).once('close', resolve);
      this.#sink.end();
    });
  }

  /**
   * Ends with an error: as a complete answer if nothing was sent yet, otherwise as a marked error that ends a truncated
   * answer.
   */
  fail(error: ClickHouseException): void {
    const text = error.text(this.#options.version);
    if (!this.#response.headersSent) {
      this.#retained = [];
      this.#headers(NO_SUMMARY);
      this.#response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
      this.#response.setHeader('X-ClickHouse-Exception-Code', error.code);
      this.#response.writeHead(httpStatus(error.code)).end(text);
      return;
    }
    const tag = this.#exceptionTag;
    const size = Buffer.byteLength(text);
    const block = Buffer.from(`\r\n__exception__\r\n${tag}\r\n${text}${size} ${tag}\r\n__exception__\r\n`);
    // Without the last chunk every HTTP client notices that the answer is incomplete, whether or not it parses the
    // text.
    const cut = () => this.#response.socket?.end();
    if (this.#gzip === undefined) this.#response.write(block, cut);
    else this.#gzip.once('end', () => setImmediate(cut)).end(block);
  }

  get #sink(): Writable {
    return this.#gzip ?? this.#response;
  }

  async #start(summary: Summary): Promise<void> {
    const retained = Buffer.concat(this.#retained);
    this.#retained = [];
    this.#headers(summary, resultRows(this.#options.format, retained));
    this.#response.setHeader('Content-Type', contentType(this.#options.format));
    this.#response.setHeader('X-ClickHouse-Exception-Tag', this.#exceptionTag);
    if (this.#options.isGzip) {
      this.#response.setHeader('Content-Encoding', 'gzip');
      this.#gzip = createGzip({ level: GZIP_LEVEL });
      const gzip = this.#gzip;
      gzip.pipe(this.#response, { end: false });
      gzip.once('end', () => setImmediate(() => this.#response.end()));
    }
    this.#response.writeHead(200);
    if (retained.length > 0) await this.#send(retained);
  }

  async #send(chunk: Buffer): Promise<void> {
    if (this.#response.destroyed) return;
    if (this.#sink.write(chunk)) return;
    const stallTimer = setTimeout(() => this.#response.destroy(), CLIENT_STALL_MAX_MS);
    const gone = new AbortController();
    const onClose = () => gone.abort();
    this.#response.once('close', onClose);
    try {
      await once(this.#sink, 'drain', { signal: gone.signal });
    } catch {
      // The client has disconnected; the owner of the query notices that by itself.
    } finally {
      clearTimeout(stallTimer);
      this.#response.off('close', onClose);
    }
  }

  #headers(summary: Summary, rows = 0): void {
    const { queryId, format, timezone, startedAtNs } = this.#options;
    const elapsedNs = process.hrtime.bigint() - startedAtNs;
    const response = this.#response;
    response.setHeader('X-ClickHouse-Server-Display-Name', EMBEDDED_STORE);
    response.setHeader('X-ClickHouse-Query-Id', queryId);
    response.setHeader('X-ClickHouse-Format', format);
    response.setHeader('X-ClickHouse-Timezone', timezone);
    response.setHeader(
      'X-ClickHouse-Summary',
      JSON.stringify({
        read_rows: String(summary.readRows),
        read_bytes: String(summary.readBytes),
        written_rows: String(summary.writtenRows),
        written_bytes: String(summary.writtenBytes),
        total_rows_to_read: '0',
        result_rows: String(summary.writtenRows > 0 ? summary.writtenRows : rows),
        result_bytes: String(summary.writtenRows > 0 ? summary.writtenBytes : 0),
        elapsed_ns: String(elapsedNs),
      }),
    );
  }
}
