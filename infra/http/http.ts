import { type HeaderList, JSON_TYPE } from './headers.ts';
import { type HttpRequest, type HttpResponse, type ListenSocket, uws } from './library.ts';
import { endWith, OpenReply, type Reply } from './open-reply.ts';
import { errorText } from './status.ts';

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

/** One route. `readHead` runs at once, `answer` when the body is complete (at once without one). */
export interface Route<Head> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A path with `:name` segments. */
  readonly pattern: string;
  /** The most bytes of a body; 0: no body is read. A larger one is answered 413. */
  readonly bodyMaxBytes: number;
  /** Headers of preflights, and of the answers of this path that `answer` does not give (413, 405). */
  readonly cors: HeaderList | undefined;
  /**
   * For a hot path whose answers fit a packet: they are not compressed, and the size of the head is not checked, so that
   * no further headers are read.
   */
  readonly isHot?: boolean;
  readHead(head: RequestHead): Head;
  answer(head: Head, body: Uint8Array, reply: Reply): void | Promise<void>;
}

/** Something to open in a browser, as the page at `/` lists it. */
export interface Announcement {
  readonly path: string;
  readonly title: string;
  /** One sentence. */
  readonly about: string;
}

const EMPTY_BODY = new Uint8Array(0);
const PATH_SHOWN_MAX = 200;
/** The longest path, query and headers, together. Longer ones are answered 431. */
export const HEAD_MAX_BYTES = 65_536;

/**
 * The HTTP server of a process. Every service in the process adds its routes before `listen`.
 *
 * HEAD is answered as GET without the body. Every answer has the headers `service-version` and
 * `x-content-type-options: nosniff`; one over 1 KB and a stream are compressed if the request accepts it. What the library
 * answers by itself, before a route is found, is in README.md.
 */
export class HttpServer {
  readonly #app = uws.App();
  readonly #methodsByPattern = new Map<string, { methods: string[]; cors: HeaderList | undefined }>();
  readonly #announced: Announcement[] = [];
  readonly #onFailure: (error: unknown) => void;
  #socket: ListenSocket | undefined;
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

  /** Lists a path on the page at `/`, see `start-page.ts`. */
  announce(announcement: Announcement): void {
    this.#announced.push(announcement);
  }

  /** What was announced, in that order. */
  get announced(): readonly Announcement[] {
    return this.#announced;
  }

  route<Head>(route: Route<Head>): void {
    const known = this.#methodsByPattern.get(route.pattern);
    if (known === undefined) {
      this.#methodsByPattern.set(route.pattern, { methods: [route.method], cors: route.cors });
    } else known.methods.push(route.method);
    const method = route.method === 'delete' ? 'del' : route.method;
    this.#app[method](route.pattern, (response, request) => this.#serve(route, { response, request }, false));
    if (route.method === 'get')
      this.#app.head(route.pattern, (response, request) => this.#serve(route, { response, request }, true));
  }

  /** Starts to listen; returns the port. Rejects when the port is not available. */
  listen(host: string, port: number): Promise<number> {
    for (const [pattern, { methods, cors }] of this.#methodsByPattern)
      this.#answerOtherMethods(pattern, methods, cors);
    this.#app.any('/*', (response, request) => {
      const body = errorText(404, `no such path: ${request.getUrl().slice(0, PATH_SHOWN_MAX)}`);
      endWith(response, { status: 404, body, headers: JSON_HEADERS, isHead: isHead(request) });
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
    const allowed = [...methods.flatMap(methodsOf), 'OPTIONS'].join(', ');
    this.#app.options(pattern, (response) => {
      const headers: HeaderList = cors ?? [['allow', allowed]];
      endWith(response, { status: 204, body: '', headers, isHead: false });
    });
    this.#app.any(pattern, (response, request) => {
      const body = errorText(405, `${request.getCaseSensitiveMethod()} is not allowed here; use ${allowed}`);
      const headers: HeaderList = [...JSON_HEADERS, ['allow', allowed], ...(cors ?? [])];
      endWith(response, { status: 405, body, headers, isHead: isHead(request) });
    });
  }

  #serve<Head>(route: Route<Head>, { response, request }: Exchange, isHead: boolean): void {
    const acceptEncoding = route.isHot === true ? '' : request.getHeader('accept-encoding');
    const reply = new OpenReply(response, { isHead, acceptEncoding }, () => {
      this.#inFlight -= 1;
    });
    this.#inFlight += 1;
    response.onAborted(() => reply.abort());
    if (route.isHot !== true && headBytes(request) > HEAD_MAX_BYTES) {
      reply.json(431, HEAD_TOO_LARGE, route.cors);
      return;
    }
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

const JSON_HEADERS: HeaderList = [['content-type', JSON_TYPE]];
const HEAD_TOO_LARGE = errorText(431, `path, query and headers are longer than ${HEAD_MAX_BYTES} bytes`);

interface Exchange {
  readonly response: HttpResponse;
  readonly request: HttpRequest;
}

function methodsOf(method: string): string[] {
  return method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
}

function isHead(request: HttpRequest): boolean {
  return request.getMethod() === 'head';
}

/** The library answers undefined where there is no `?`, whatever its types say. */
function queryOf(request: HttpRequest): string {
  return (request.getQuery() as string | undefined) ?? '';
}

function headBytes(request: HttpRequest): number {
  let bytes = request.getUrl().length + queryOf(request).length;
  request.forEach((name, value) => {
    bytes += name.length + value.length;
  });
  return bytes;
}

class UwsHead implements RequestHead {
  readonly #request: HttpRequest;
  readonly #response: HttpResponse;

  constructor(request: HttpRequest, response: HttpResponse) {
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
    return queryOf(this.#request);
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

/**
 * Reads a body. `done` gets undefined as soon as the body exceeds `maxBytes`; a single chunk is passed on without a
 * copy.
 */
function readBody(
  response: HttpResponse,
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
