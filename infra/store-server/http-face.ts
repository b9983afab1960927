import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { authenticate } from './authentication.ts';
import { type Asked, BodyReader, TextBudget } from './body.ts';
import type { Engine } from './engine.ts';
import { CODES, engineException, exception } from './exceptions.ts';
import { Executor } from './execute.ts';
import { readQueryRequest } from './query-request.ts';
import { Reply } from './reply.ts';
import type { Spool } from './spool.ts';
import { StoreMetrics } from './store-metrics.ts';

const HEAD_MAX_BYTES = 1_048_576;
const CONNECTIONS_MAX = 1024;
const KEEP_ALIVE_MS = 30_000;
const TEXTS_MAX_BYTES = 268_435_456;

export interface HttpFaceOptions {
  readonly engine: Engine;
  readonly spool: Spool;
  readonly password: string;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** ClickHouse's HTTP interface in front of the engine. */
export class HttpFace {
  readonly #options: HttpFaceOptions;
  readonly #server: Server;
  readonly #executor: Executor;
  readonly #budget = new TextBudget(TEXTS_MAX_BYTES);
  readonly #metrics: StoreMetrics;
  readonly #runningIds = new Set<string>();
  #isDraining = false;
  #onIdle: (() => void) | undefined;

  constructor(options: HttpFaceOptions) {
    this.#options = options;
    this.#executor = new Executor(options);
    this.#metrics = new StoreMetrics(options.metrics, this.#executor);
    this.#server = createServer({ maxHeaderSize: HEAD_MAX_BYTES, requestTimeout: 0 }, (request, response) => {
      // `#answer` rejects for our own mistakes only; they must not end the process, which others use.
      this.#answer(request, response).catch((error: unknown) => {
        options.log.error({ err: error }, 'a request failed for a reason of our own');
        response.destroy();
      });
    });
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    this.#server.maxConnections = CONNECTIONS_MAX;
  }

  /** Resolves with the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ port, host: '127.0.0.1', backlog: 512 }, () => {
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Takes nothing new and resolves when what runs has been answered. */
  drain(): Promise<void> {
    this.#isDraining = true;
    return new Promise((resolve) => {
      this.#server.close(() => {
        // A cut connection is gone before its query is.
        if (this.#runningIds.size === 0) resolve();
        else this.#onIdle = resolve;
      });
      this.#server.closeIdleConnections();
    });
  }

  /** Ends every connection, whatever runs on it. */
  cut(): void {
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

  /** What is answered without asking the engine. */
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
    const isQuestion = request.method === 'POST' || url.searchParams.has('query');
    if (!isQuestion && (request.method === 'GET' || request.method === 'HEAD'))
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
      authenticate(request.headers, url, this.#options.password);
      const query = readQueryRequest(request, url);
      queryId = query.queryId;
      const outcome = await this.#exclusively(queryId, () =>
        this.#withBody(request, query, async (asked) =>
          this.#executor.run({
            asked,
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
      // Never the statement: it holds values.
      if (failure.code === CODES.STD_EXCEPTION) log.error({ err: error, queryId }, 'a query failed');
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
    run: (asked: Asked) => Promise<T>,
  ): Promise<T> {
    const body = new BodyReader(this.#options.spool, this.#budget);
    let asked: Asked | undefined;
    try {
      asked = await body.read(request, query);
      return await run(asked);
    } finally {
      body.release();
      if (asked?.kind === 'rows') await asked.rows.remove();
    }
  }
}
