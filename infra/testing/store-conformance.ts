import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client';
import { expect } from 'vitest';
import { must } from '../assert.ts';
import { readConfig } from '../config.ts';
import { type StoreServer, startStoreServer } from './store-server.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
  /** False when the connection broke before the end of the answer. */
  readonly isWhole: boolean;
}

export interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly url?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Sends the body in pieces of this many bytes. */
  readonly pieceBytes?: number;
  readonly isAnonymous?: boolean;
}

/** The server under test: an embedded store, or the server that CLICKHOUSE_URL names. */
export class ConformanceTarget {
  readonly isOutside: boolean;
  readonly database: string = `conformance_${process.pid}`;
  readonly address: URL;
  readonly user: string;
  readonly password: string;
  readonly #dataDir = mkdtempSync(join(tmpdir(), 'footfall-conformance-'));
  #server: StoreServer | undefined;
  #client: ClickHouseClient | undefined;
  #tables = 0;

  constructor() {
    const { CLICKHOUSE_URL: outside } = readConfig();
    this.isOutside = outside !== '';
    this.address = new URL(outside || 'http://default:pass-w0rd@127.0.0.1:1');
    this.user = decodeURIComponent(this.address.username) || 'default';
    this.password = decodeURIComponent(this.address.password);
    this.address.username = '';
    this.address.password = '';
  }

  async start(): Promise<void> {
    if (this.isOutside) {
      process.stdout.write(
        'conformance: testing CLICKHOUSE_URL; tests of the embedded process are skipped\n',
      );
    } else {
      this.#server = await startStoreServer({ dataDir: this.#dataDir, password: this.password });
      this.address.port = new URL(this.#server.url).port;
    }
    const first = this.connect({ database: 'default' });
    await first.command({ query: `CREATE DATABASE IF NOT EXISTS ${this.database}` });
    await first.close();
    this.#client = this.connect({});
  }

  async stop(): Promise<void> {
    await this.#client?.command({ query: `DROP DATABASE IF EXISTS ${this.database}` });
    await this.#client?.close();
    await this.#server?.stop();
    rmSync(this.#dataDir, { recursive: true, force: true });
  }

  get client(): ClickHouseClient {
    return must(this.#client, 'the target is not started');
  }

  get authorization(): string {
    return `Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`;
  }

  /** Creates another client of the same server. */
  readonly connect = (options: Parameters<typeof createClient>[0]): ClickHouseClient =>
    createClient({
      url: this.address,
      username: this.user,
      password: this.password,
      database: this.database,
      log: { level: ClickHouseLogLevel.OFF },
      ...options,
    });

  /** Sends a request without the official client. */
  readonly ask = (wanted: RawRequest): Promise<RawAnswer> => {
    const { method = 'POST', path = '/', url = {}, headers = {}, body = '', pieceBytes } = wanted;
    const target = new URL(path, this.address);
    for (const [name, value] of Object.entries(url)) target.searchParams.set(name, value);
    const own = { authorization: this.authorization, 'x-clickhouse-database': this.database };
    return new Promise((resolve, reject) => {
      const request = httpRequest(target, {
        method,
        headers: { ...(wanted.isAnonymous ? {} : own), ...headers },
      });
      request.on('error', reject);
      request.on('response', (response) => {
        const chunks: Buffer[] = [];
        const finish = (isWhole: boolean) => {
          const bytes = Buffer.concat(chunks);
          const status = response.statusCode ?? 0;
          resolve({ status, headers: response.headers, body: bytes, text: bytes.toString(), isWhole });
        };
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => finish(true));
        response.on('error', () => finish(false));
      });
      const bytes = Buffer.from(body);
      if (pieceBytes === undefined) request.end(bytes);
      else Readable.from(pieces(bytes, pieceBytes), { objectMode: false }).pipe(request);
    });
  };

  readonly rowsOf = async <Row>(query: string, params: Record<string, unknown> = {}): Promise<Row[]> =>
    (await this.client.query({ query, query_params: params, format: 'JSONEachRow' })).json<Row>();

  /** Creates a table and returns its name. `deduplicated` is the number of blocks in its deduplication window. */
  readonly freshTable = async (columns = 'n UInt32, s String', deduplicated = 0): Promise<string> => {
    this.#tables += 1;
    const name = `t${this.#tables}`;
    await this.client.command({
      query: `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple()
        SETTINGS non_replicated_deduplication_window = ${deduplicated}`,
    });
    return name;
  };
}

export function* pieces(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A RowBinary row of (UInt32, String). */
export function binaryRow(n: number, text: string | Buffer): Buffer {
  const bytes = Buffer.from(text);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(n);
  const length: number[] = [];
  let rest = bytes.length;
  for (; rest > 127; rest >>>= 7) length.push((rest & 127) | 128);
  return Buffer.concat([head, Buffer.from([...length, rest]), bytes]);
}

/** Returns the error with which a call of the client must fail. */
export async function errorOf(call: Promise<unknown>): Promise<ClickHouseError> {
  const error = await call.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(ClickHouseError);
  return error as ClickHouseError;
}
