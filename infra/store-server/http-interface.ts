import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { authenticate, type Passwords } from './authentication.ts';
import { BodyReader, type ReceivedQuery, removeRows, TextBudget } from './body.ts';
import type { BrokenParts } from './broken-parts.ts';
import type { DiskSpace } from './disk-space.ts';
import type { Engine } from './engine.ts';
import { CODES, engineException, exception } from './exceptions.ts';
import { Executor } from './execute.ts';
import { readQueryRequest } from './query-request.ts';
import { Reply } from './reply.ts';
import type { Spool } from './spool.ts';
import { StoreMetrics } from './store-metrics.ts';
import type { WriteWatch } from './write-watch.ts';

const HEAD_MAX_BYTES = 1_048_576;
const CONNECTIONS_MAX = 1024;
const KEEP_ALIVE_MS = 30_000;
const TEXTS_MAX_BYTES = 268_435_456;

export interface HttpInterfaceOptions extends Passwords {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly disk: DiskSpace;
  readonly writes: WriteWatch;
  readonly brokenParts: BrokenParts;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** ClickHouse's HTTP interface in front of the engine. */
export class HttpInterface {
  readonly #options: HttpInterfaceOptions;
  readonly #server: Server;
  readonly #executor: Executor;
  readonly #budget = new TextBudget(TEXTS_MAX_BYTES);
  readonly #metrics: StoreMetrics;
  readonly #runningIds = new Set<string>();
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: HttpInterfaceOptions) {
    this.#options = options;
    this.#executor = new Executor(options);
    this.#metrics = new StoreMetrics({ ...options, executor: this.#executor });
    this.#server = createServer({ maxHeaderSize: HEAD_MAX_BYTES, requestTimeout: 0 }, (request, response) => {
      // `#answer` rejects only because of bugs, which must not end a process that serves other requests.
      this.#answer(request, response).catch((error: unknown) => {
        options.log.error({ err: error }, 'request failed unexpectedly');
        response.destroy();
      });
    });
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** Resolves with the port number. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, host: '127.0.0.1', backlog: 512 }, () => {
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Accepts no new request and resolves when all running requests have been answered. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#server.close(() => {
        // A closed connection ends before its query does.
        if (this.#runningIds.size === 0) resolve();
        else this.#onIdle = resolve;
      });
      this.#server.closeIdleConnections();
    });
  }

  /** Closes every connection, even while a request runs on it. */
  closeConnections(): void {
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://store');
    if (this.#isDraining) response.setHeader('Connection', 'close');
    const plain = this.#plainAnswer(request, url);
    if (plain === undefined) {
      await this.#answerQuery(request, response, url.searchParams);
      return;
    }
    response.writeHead(plain.status, { 'Content-Type': plain.contentType }).end(plain.text);
  }

  /** The answer to requests that need no engine; undefined for queries. */
  #plainAnswer(request: IncomingMessage, url: URL) {
    const contentType = 'text/html; charset=UTF-8';
    if (url.pathname === '/ping' || url.pathname === '/replicas_status')
      return { status: 200, contentType, text: 'Ok.\n' };
    if (url.pathname === '/metrics')
      return {
        status: 200,
        contentType: this.#options.metrics.contentType,
        text: this.#options.metrics.expose(),
      };
    if (url.pathname !== '/') {
      const text = `There is no handle ${url.pathname}\n\nUse / or /ping for health checks.\nOr /replicas_status for more sophisticated health checks.\n\nSend queries from your program with POST method or GET /?query=...\n\n`;
      return { status: 404, contentType: 'text/plain; charset=UTF-8', text };
    }
    const isQuery = request.method === 'POST' || url.searchParams.has('query');
    if (!isQuery && (request.method === 'GET' || request.method === 'HEAD'))
      return { status: 200, contentType, text: 'Ok.\n' };
    if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'POST') return undefined;
    return { status: 405, contentType: 'text/plain; charset=UTF-8', text: 'Use GET or POST.\n' };
  }

  async #answerQuery(
    request: IncomingMessage,
    response: ServerResponse,
    url: URLSearchParams,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => {
      if (!response.writableFinished) gone.abort();
    });
    const { engine, log } = this.#options;
    const startedAtNs = process.hrtime.bigint();
    let queryId = url.get('query_id') ?? '';
    let reply: Reply | undefined;
    const openReply = (format: string, isGzip: boolean) => {
      const { version, timezone } = engine;
      reply = new Reply(response, { queryId, format, timezone, version, isGzip, startedAtNs });
      return reply;
    };
    try {
      const user = authenticate(request.headers, url, this.#options);
      const query = readQueryRequest(request, url, user);
      queryId = query.queryId;
      const outcome = await this.#exclusively(queryId, () =>
        this.#withBody(request, query, async (received) =>
          this.#executor.run({
            received,
            query,
            gone: gone.signal,
            openReply: (format) => openReply(format, query.isGzipWanted),
          }),
        ),
      );
      this.#metrics.succeeded(outcome, Number(process.hrtime.bigint() - startedAtNs) / 1e9);
    } catch (error) {
      const failure = engineException(error);
      this.#metrics.failed(failure.code);
      // Do not log the statement, because it contains values.
      if (failure.code === CODES.STD_EXCEPTION) log.error({ err: error, queryId }, 'query failed');
      (reply ?? openReply('TabSeparated', false)).fail(failure);
    }
  }

  async #exclusively<T>(queryId: string, run: () => Promise<T>): Promise<T> {
    if (this.#runningIds.has(queryId))
      throw exception(
        'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING',
        `Query with id = ${queryId} is already running.`,
      );
    this.#runningIds.add(queryId);
    try {
      return await run();
    } finally {
      this.#runningIds.delete(queryId);
      if (this.#runningIds.size === 0) this.#onIdle?.();
    }
  }

  async #withBody<T>(
    request: IncomingMessage,
    query: ReturnType<typeof readQueryRequest>,
    run: (received: ReceivedQuery) => Promise<T>,
  ): Promise<T> {
    const body = new BodyReader(this.#options.spool, this.#options.disk, this.#budget);
    let received: ReceivedQuery | undefined;
    try {
      received = await body.read(request, query);
      return await run(received);
    } finally {
      body.release();
      if (received !== undefined) await removeRows(received);
    }
  }
}
