import uws from 'uWebSockets.js';

/** Status lines that the service uses. */
const STATUS_LINES: Readonly<Record<number, string>> = {
  200: '200 OK',
  202: '202 Accepted',
  204: '204 No Content',
  304: '304 Not Modified',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  412: '412 Precondition Failed',
  413: '413 Payload Too Large',
  415: '415 Unsupported Media Type',
  429: '429 Too Many Requests',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};

export type HeaderList = readonly (readonly [name: string, value: string])[];

const JSON_HEADERS: HeaderList = [['content-type', 'application/json; charset=utf-8']];

/** The head of a request. Readable only while `readHead` runs; afterwards its memory is gone. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** The first line of a header by its lower-case name; empty when absent. */
  header(name: string): string;
  /** All lines of a header by its lower-case name, joined by commas; reads every header of the request. */
  headerLines(name: string): string;
  /** A `:name` of the route's pattern, by position, percent-decoded; malformed escapes stay as they are. */
  parameter(index: number): string;
  /** The text after `?`, not decoded. */
  readonly query: string;
  /** The address of the connection's peer as text; forwarding headers do not change it. */
  remoteAddress(): string;
}

/** Answers one request, once. After the peer has gone, calls have no effect. */
export interface Reply {
  /** False once the peer has gone or the answer was given. */
  readonly open: boolean;
  /** Sends `text` as JSON. */
  json(status: number, text: string, headers?: HeaderList): void;
  /** Sends any body with exactly these headers. */
  send(status: number, body: string | Uint8Array, headers: HeaderList): void;
  /**
   * Sends a body as it comes, at the pace of the peer, and takes no more of `chunks` than the peer takes. Nothing is
   * sent before the first chunk: an error until then is thrown, and another answer can be given. After a later error
   * the connection is cut, so that the peer does not take the part for the whole, and the error is thrown. `chunks` is
   * ended when the peer goes away, or takes nothing for a minute.
   */
  stream(status: number, headers: HeaderList, chunks: AsyncIterable<Uint8Array>): Promise<void>;
}

/** One route. `readHead` runs at once, `answer` when the body is complete (at once without one). */
export interface Route<Head> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A path with `:name` segments. */
  readonly pattern: string;
  /** The most bytes of a body; 0: no body is read. A larger one is answered 413. */
  readonly bodyMaxBytes: number;
  /** Headers of preflights, and of the answers of this path that `answer` does not give (413, 405). */
  readonly cors: HeaderList | undefined;
  readHead(head: RequestHead): Head;
  answer(head: Head, body: Uint8Array, reply: Reply): void | Promise<void>;
}

const EMPTY_BODY = new Uint8Array(0);
/** A peer that takes nothing of a body for this long is disconnected. */
const STALL_MAX_MS = 60_000;
const TRICKLE_EVERY_MS = 4_000;
const RETAINED_BYTES = STALL_MAX_MS / TRICKLE_EVERY_MS;

/** The HTTP server of a process. Every service in the process adds its routes before `listen`. */
export class HttpServer {
  readonly #app = uws.App();
  readonly #methodsByPattern = new Map<string, { methods: string[]; cors: HeaderList | undefined }>();
  readonly #onFailure: (error: unknown) => void;
  #socket: uws.us_listen_socket | undefined;
  #inFlight = 0;

  /** `onFailure` is called with an exception of a route; the peer gets a 500 without details. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure;
  }

  /** Requests that were received and not yet answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Every added route, by pattern in the order of their first routes. The built-in 404, 405 and preflight answers are not included.
   */
  routes(): { readonly method: string; readonly pattern: string }[] {
    return [...this.#methodsByPattern].flatMap(([pattern, { methods }]) =>
      methods.map((method) => ({ method, pattern })),
    );
  }

  route<Head>(route: Route<Head>): void {
    const known = this.#methodsByPattern.get(route.pattern);
    if (known === undefined) {
      this.#methodsByPattern.set(route.pattern, { methods: [route.method], cors: route.cors });
    } else known.methods.push(route.method);
    const method = route.method === 'delete' ? 'del' : route.method;
    this.#app[method](route.pattern, (response, request) => this.#serve(route, response, request));
  }

  /** Starts to listen; returns the port. Rejects when the port is not available. */
  listen(host: string, port: number): Promise<number> {
    for (const [pattern, { methods, cors }] of this.#methodsByPattern)
      this.#answerOtherMethods(pattern, methods, cors);
    this.#app.any('/*', (response, request) => {
      const text = errorText(404, `no such path: ${request.getUrl()}`);
      end(response, 404, text, JSON_HEADERS, isHead(request));
    });
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, (socket) => {
        if (socket === false) return reject(new Error(`cannot listen on ${host}:${port}`));
        this.#socket = socket;
        resolve(uws.us_socket_local_port(socket));
      });
    });
  }

  /** Accepts no new connection; open requests continue. */
  stopListening(): void {
    if (this.#socket !== undefined) uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  /** Closes every connection. */
  close(): void {
    this.stopListening();
    this.#app.close();
  }

  #answerOtherMethods(pattern: string, methods: readonly string[], cors: HeaderList | undefined): void {
    const allowed = [...methods.map((method) => method.toUpperCase()), 'OPTIONS'].join(', ');
    this.#app.options(pattern, (response) => {
      end(response, 204, '', cors === undefined ? [['allow', allowed]] : cors);
    });
    this.#app.any(pattern, (response, request) => {
      const text = errorText(405, `${request.getCaseSensitiveMethod()} is not allowed here; use ${allowed}`);
      const headers: HeaderList = [...JSON_HEADERS, ['allow', allowed], ...(cors ?? [])];
      end(response, 405, text, headers, isHead(request));
    });
  }

  #serve<Head>(route: Route<Head>, response: uws.HttpResponse, request: uws.HttpRequest): void {
    const reply = new OpenReply(response, () => {
      this.#inFlight -= 1;
    });
    this.#inFlight += 1;
    response.onAborted(() => reply.abort());
    let head: Head;
    try {
      head = route.readHead(new UwsHead(request, response));
    } catch (error) {
      this.#fail(error, reply);
      return;
    }
    if (route.bodyMaxBytes === 0) {
      this.#answer(route, head, EMPTY_BODY, reply);
      return;
    }
    const announcedBytes = Number(request.getHeader('content-length'));
    readBody(response, route.bodyMaxBytes, (body) => {
      if (!reply.open) return;
      if (body === undefined) tooLarge(route, reply);
      else this.#answer(route, head, body, reply);
    });
    // Only after the reader is set up: an answered response accepts no reader.
    if (announcedBytes > route.bodyMaxBytes) tooLarge(route, reply);
  }

  #answer<Head>(route: Route<Head>, head: Head, body: Uint8Array, reply: OpenReply): void {
    try {
      const pending = route.answer(head, body, reply);
      if (pending !== undefined) void pending.catch((error: unknown) => this.#fail(error, reply));
    } catch (error) {
      this.#fail(error, reply);
    }
  }

  #fail(error: unknown, reply: OpenReply): void {
    this.#onFailure(error);
    reply.json(500, errorText(500, 'the service failed; the error has been logged'));
  }
}

/** The body of every error answer. */
export function errorText(status: number, message: string): string {
  const line = STATUS_LINES[status] ?? '';
  return JSON.stringify({ status, error: line.slice(4), message });
}

class UwsHead implements RequestHead {
  readonly #request: uws.HttpRequest;
  readonly #response: uws.HttpResponse;

  constructor(request: uws.HttpRequest, response: uws.HttpResponse) {
    this.#request = request;
    this.#response = response;
  }

  get method(): string {
    return this.#request.getCaseSensitiveMethod();
  }
  get path(): string {
    return this.#request.getUrl();
  }
  get query(): string {
    return this.#request.getQuery();
  }
  header(name: string): string {
    return this.#request.getHeader(name);
  }
  headerLines(name: string): string {
    const lines: string[] = [];
    this.#request.forEach((key, value) => void (key === name && lines.push(value)));
    return lines.join(',');
  }
  parameter(index: number): string {
    const text = this.#request.getParameter(index);
    try {
      return decodeURIComponent(text);
    } catch {
      return text; // Not an escape after all; the text stays as it is.
    }
  }
  remoteAddress(): string {
    // A Buffer around these few bytes costs more than reading them one by one.
    const bytes = new Uint8Array(this.#response.getRemoteAddressAsText());
    let text = '';
    for (let index = 0; index < bytes.length; index += 1) text += String.fromCharCode(bytes[index] ?? 0);
    return text;
  }
}

const headerBlocks = new WeakMap<HeaderList, string>();

/**
 * The value of `content-type: application/json`, with all further headers behind it in one text: crossing into the
 * library costs half a microsecond a header, and an answer of the hot path has three. A list is joined once, so lists
 * that do not change cost nothing.
 */
function jsonHeaderBlock(headers: HeaderList): string {
  const known = headerBlocks.get(headers);
  if (known !== undefined) return known;
  const lines = headers.map(([name, value]) => `\r\n${name}: ${oneLine(value)}`);
  const block = `application/json; charset=utf-8${lines.join('')}`;
  headerBlocks.set(headers, block);
  return block;
}

/** Keeps a header's value from beginning another header. */
function oneLine(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}

const NO_HEADERS: HeaderList = [];

class OpenReply implements Reply {
  readonly #response: uws.HttpResponse;
  readonly #settled: () => void;
  #aborted: (() => void) | undefined;
  open = true;

  constructor(response: uws.HttpResponse, settled: () => void) {
    this.#response = response;
    this.#settled = settled;
  }

  json(status: number, text: string, headers: HeaderList = NO_HEADERS): void {
    if (!this.open) return;
    this.open = false;
    this.#settled();
    this.#response.cork(() => {
      // The library writes 200 by itself.
      if (status !== 200) this.#response.writeStatus(STATUS_LINES[status] ?? String(status));
      this.#response.writeHeader('content-type', jsonHeaderBlock(headers));
      this.#response.end(text);
    });
  }

  send(status: number, body: string | Uint8Array, headers: HeaderList): void {
    if (!this.open) return;
    this.open = false;
    this.#settled();
    this.#response.cork(() => end(this.#response, status, body, headers));
  }

  async stream(status: number, headers: HeaderList, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    const pieces = chunks[Symbol.asyncIterator]();
    let isBegun = false;
    // The last bytes that came, held back so that there is something to send while the peer is slow.
    let held: Uint8Array = EMPTY_BODY;
    try {
      for (let next = await pieces.next(); this.open; next = await pieces.next()) {
        if (!isBegun) begin(this.#response, status, headers);
        isBegun = true;
        if (next.done) {
          this.#close(() => {
            writeParts(this.#response, [held]);
            this.#response.end();
          });
          return;
        }
        const cut = Math.max(0, next.value.length - RETAINED_BYTES);
        const isTaken = this.#write([held, next.value.subarray(0, cut)]);
        held = next.value.subarray(cut);
        if (!isTaken) held = await this.#drained(held);
      }
    } catch (error) {
      if (isBegun) this.#close(() => this.#response.close());
      throw error;
    } finally {
      await pieces.return?.();
    }
  }

  /** Whether the peer takes more at once. */
  #write(parts: readonly Uint8Array[]): boolean {
    let isTaken = true;
    this.#response.cork(() => {
      isTaken = writeParts(this.#response, parts);
    });
    return isTaken;
  }

  /**
   * Resolves with what is left of `held` once the peer took what was written, went away, or is given up. The library
   * disconnects a peer that takes nothing for ten seconds after the last write, so a byte is written now and then.
   */
  #drained(held: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve) => {
      let left = held;
      const trickle = setInterval(() => {
        if (left.length === 0) return;
        const isTaken = this.#write([left.subarray(0, 1)]);
        left = left.subarray(1);
        // The write was taken, so nothing else reports that there is room.
        if (isTaken) over();
      }, TRICKLE_EVERY_MS);
      const over = () => {
        clearTimeout(patience);
        clearInterval(trickle);
        resolve(left);
      };
      const patience = setTimeout(() => this.#close(() => this.#response.close()), STALL_MAX_MS);
      this.#aborted = over;
      this.#response.onWritable(() => {
        // Deferred until this listener has returned: a listener that is set before that would be replaced by this one.
        setImmediate(over);
        return true;
      });
    });
  }

  #close(act: () => void): void {
    if (!this.open) return;
    this.open = false;
    this.#settled();
    this.#response.cork(act);
    this.#aborted?.();
  }

  abort(): void {
    if (!this.open) return;
    this.open = false;
    this.#settled();
    this.#aborted?.();
  }
}

/** A body after the head of a HEAD answer would be read as the beginning of the next answer. */
function isHead(request: uws.HttpRequest): boolean {
  return request.getMethod() === 'head';
}

/** Whether the peer takes more at once. */
function writeParts(response: uws.HttpResponse, parts: readonly Uint8Array[]): boolean {
  return parts.reduce((isTaken, part) => (part.length === 0 ? isTaken : response.write(part)), true);
}

function begin(response: uws.HttpResponse, status: number, headers: HeaderList): void {
  response.cork(() => {
    response.writeStatus(STATUS_LINES[status] ?? String(status));
    for (const [name, value] of headers) response.writeHeader(name, oneLine(value));
  });
}

/** `headOnly` leaves the body out and gives its length. */
function end(
  response: uws.HttpResponse,
  status: number,
  body: string | Uint8Array,
  headers: HeaderList,
  headOnly = false,
): void {
  response.writeStatus(STATUS_LINES[status] ?? String(status));
  for (const [name, value] of headers) response.writeHeader(name, value);
  if (status === 204 || status === 304) response.endWithoutBody();
  else if (headOnly) {
    response.writeHeader('content-length', String(Buffer.byteLength(body)));
    response.endWithoutBody();
  } else response.end(body);
}

/**
 * Reads a body. `done` gets undefined as soon as the body exceeds `maxBytes`; a single chunk is passed on without a
 * copy.
 */
function readBody(
  response: uws.HttpResponse,
  maxBytes: number,
  done: (body: Uint8Array | undefined) => void,
): void {
  let parts: Buffer[] | undefined;
  let bytes = 0;
  let over = false;
  response.onData((chunk, isLast) => {
    if (over) return;
    bytes += chunk.byteLength;
    over = bytes > maxBytes;
    if (over) parts = undefined;
    if (over || (isLast && parts === undefined)) {
      done(over ? undefined : new Uint8Array(chunk));
      return;
    }
    // The memory of a chunk is valid only during this call, so it is copied.
    parts ??= [];
    parts.push(Buffer.from(new Uint8Array(chunk)));
    if (isLast) done(Buffer.concat(parts, bytes));
  });
}

/** Answers 413 at once. The rest of the body is read and dropped, so that the peer gets to see the answer. */
function tooLarge<Head>(route: Route<Head>, reply: OpenReply): void {
  const text = errorText(413, `the body is larger than ${route.bodyMaxBytes} bytes`);
  reply.json(413, text, route.cors);
}
