import { type HeaderList, JSON_TYPE } from './headers.ts';
import { type HttpResponse, type ListenSocket, uws } from './library.ts';
import { type BodySender, OpenBodies } from './open-bodies.ts';
import { endLast, endWith, OpenReply, type Reply } from './open-reply.ts';
import { ReadHead } from './read-head.ts';
import { RejectionPace } from './rejection-pace.ts';
import { RequestBody } from './request-body.ts';
import { RouteBody } from './route-body.ts';
import { SocketWait } from './socket-wait.ts';
import { type SocketRoute, socketBehavior } from './sockets.ts';
import { errorText } from './status.ts';

/** The head of a request. Readable only while `readHead` runs; afterwards its memory is invalid. */
export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** The first line of a header by its lower-case name; empty when absent. */
  header(name: string): string;
  /** All lines of a header by its lower-case name, joined by commas. */
  headerLines(name: string): string;
  /** A `:name` of the route's pattern, by position, percent-decoded; malformed escapes stay as they are. */
  parameter(index: number): string;
  /** The text after `?`, not decoded. */
  readonly query: string;
  /**
   * The address of the connection's peer as text; forwarding headers do not change it. Readable until the request is answered, while its
   * connection is open.
   */
  remoteAddress(): string;
}

/** The sender of a request, by its head: `answered` if its head was enough to answer it. */
export type Admission = BodySender | 'answered';

/** One route. `readHead` and `admit` run when the head has come, `answer` when the body is complete (or immediately without one). */
export interface Route<Head> {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** A path with `:name` segments. A single one at the end may have an ending, as `/:name.json` has, which is no part of the parameter. */
  readonly pattern: string;
  /** The most bytes of a body; 0: no body is read. A larger one is answered 413. */
  readonly bodyMaxBytes: number;
  /** Headers of preflights, and of the answers of this path that `answer` does not give (413, 405). */
  readonly cors: HeaderList | undefined;
  /** For a hot path whose answers fit a packet: they are not compressed. */
  readonly isHot?: boolean;
  readHead(head: RequestHead): Head;
  /**
   * Decides by the head, before any byte of the body is kept, who sends it; or answers, and the body is dropped. Without it, senders are
   * strangers. While a promise is pending, the body has the room of a stranger's.
   */
  admit?(head: Head, reply: Reply): Admission | Promise<Admission>;
  /** The owner of this body's memory: a client, or the network of an address; the peer's if absent. Called while the connection is open. */
  ownerOf?(head: Head): string;
  /** If `isHot` is set, the memory of the body is valid only during the call. */
  answer(head: Head, body: Uint8Array, reply: Reply): void | Promise<void>;
}

/** Something to open in a browser, as the start page lists it. */
export interface Announcement {
  readonly path: string;
  readonly title: string;
  /** One sentence. */
  readonly about: string;
}

const EMPTY_BODY = new Uint8Array(0);
const PATH_SHOWN_MAX = 200;

/**
 * The HTTP server of a process. Every service in the process adds its routes before `listen`.
 *
 * HEAD is answered as GET without the body. Every answer has the headers `service-version` and `x-content-type-options: nosniff`; one over
 * 1 KB and a stream are compressed if the request accepts it. README.md lists the answers that the library gives by itself, before a route
 * is found.
 */
export class HttpServer {
  readonly #app = uws.App();
  readonly #methodsByPattern = new Map<string, { methods: string[]; cors: HeaderList | undefined }>();
  /** The endings that routes have, by their patterns without them. */
  readonly #endings = new Map<string, string[]>();
  readonly #announced: Announcement[] = [];
  readonly #onFailure: (error: unknown) => void;
  readonly #bodies: OpenBodies;
  readonly #pace = new RejectionPace();
  #socketWait: SocketWait | undefined;
  #socket: ListenSocket | undefined;
  #inFlight = 0;
  readonly #settled = (): void => {
    this.#inFlight -= 1;
  };

  /** `onFailure` is called with an exception of a route; the peer gets a 500 without details. */
  constructor(onFailure: (error: unknown) => void, bodies = new OpenBodies()) {
    this.#onFailure = onFailure;
    this.#bodies = bodies;
  }

  /** Requests that were received and not yet answered. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Measures how long requests wait until they are read. One for all services of the process, because it works by a signal. */
  get socketWait(): SocketWait {
    this.#socketWait ??= new SocketWait();
    return this.#socketWait;
  }

  /**
   * Every added route, by pattern in the order of their first routes. The built-in 404, 405 and preflight answers are not included.
   */
  routes(): { readonly method: string; readonly pattern: string }[] {
    return [...this.#methodsByPattern].flatMap(([pattern, { methods }]) =>
      methods.map((method) => ({ method, pattern })),
    );
  }

  /** Lists a path on the start page, see `start-page.ts`. */
  announce(announcement: Announcement): void {
    this.#announced.push(announcement);
  }

  /** Announcements in the order in which they were made. */
  get announced(): readonly Announcement[] {
    return this.#announced;
  }

  route<Head>(route: Route<Head>): void {
    const known = this.#methodsByPattern.get(route.pattern);
    if (known === undefined) {
      this.#methodsByPattern.set(route.pattern, { methods: [route.method], cors: route.cors });
    } else known.methods.push(route.method);
    const [base, ending] = endingOf(route.pattern);
    if (ending !== '' && known === undefined) this.#endingsOf(base).push(ending);
    const method = route.method === 'delete' ? 'del' : route.method;
    this.#answerOn(method, route.pattern, (exchange) => this.#serve(route, exchange));
    if (route.method === 'get')
      this.#answerOn('head', route.pattern, (exchange) => this.#serve(route, exchange));
  }

  /** Accepts WebSockets on a path, beside the routes that the path has. */
  socket<Head, Held>(route: SocketRoute<Head, Held>): void {
    const behavior = socketBehavior(route, {
      isOthers: this.#othersOf(route.pattern),
      onFailure: (error, reply) => this.#fail(error, reply),
      onAmbiguity: (response, ambiguity) => rejectAmbiguous(response, { isHead: false, ambiguity }),
      pace: this.#pace,
      begin: () => {
        this.#inFlight += 1;
        return this.#settled;
      },
    });
    this.#app.ws(route.pattern, behavior);
  }

  /** Sends a text to every socket that subscribed to `topic` and is not slow. Returns how many subscribed. */
  publish(topic: string, text: string): number {
    const subscribers = this.#app.numSubscribers(topic);
    if (subscribers > 0) this.#app.publish(topic, text);
    return subscribers;
  }

  /** Starts to listen; returns the port. Rejects when the port is not available. */
  listen(host: string, port: number): Promise<number> {
    for (const [pattern, { methods, cors }] of this.#methodsByPattern)
      this.#answerOtherMethods(pattern, methods, cors);
    this.#answerOn('any', '/*', ({ response, head, isHead }) => {
      const body = errorText(404, `no such path: ${head.path.slice(0, PATH_SHOWN_MAX)}`);
      endWith(response, { status: 404, body, headers: JSON_HEADERS, isHead });
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
    this.#socketWait?.stop();
    this.#app.close();
  }

  #answerOtherMethods(pattern: string, methods: readonly string[], cors: HeaderList | undefined): void {
    const allowed = [...methods.flatMap(methodsOf), 'OPTIONS'].join(', ');
    this.#answerOn('options', pattern, ({ response }) => {
      const headers: HeaderList = cors ?? [['allow', allowed]];
      endWith(response, { status: 204, body: '', headers, isHead: false });
    });
    this.#answerOn('any', pattern, ({ response, head, isHead }) => {
      const body = errorText(405, `${head.method} is not allowed here; use ${allowed}`);
      const headers: HeaderList = [...JSON_HEADERS, ['allow', allowed], ...(cors ?? [])];
      endWith(response, { status: 405, body, headers, isHead });
    });
  }

  /** Every request comes through here, so that an ambiguous one reaches no route. */
  #answerOn(
    method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'del' | 'options' | 'any',
    pattern: string,
    answer: (exchange: Exchange) => void,
  ): void {
    const [, ending] = endingOf(pattern);
    const isOthers = this.#othersOf(pattern);
    this.#app[method](pattern, (response, request) => {
      if (isOthers(request.getUrl())) {
        request.setYield(true);
        return;
      }
      const head = new ReadHead(request, response, ending);
      const isHead = method === 'head' || (method === 'any' && request.getMethod() === 'head');
      const ambiguity = head.ambiguity();
      if (ambiguity === undefined) answer({ response, head, isHead });
      else rejectAmbiguous(response, { isHead, ambiguity });
    });
  }

  /** Returns a predicate for paths that match a pattern without its ending: true if the path belongs to a pattern with another ending. */
  #othersOf(pattern: string): (path: string) => boolean {
    const [base, ending] = endingOf(pattern);
    const endings = this.#endingsOf(base);
    if (ending !== '') return (path) => !path.endsWith(ending);
    return (path) => endings.length > 0 && endings.some((other) => path.endsWith(other));
  }

  /** The endings of the patterns that are `base` without them; routes that are added later add theirs. */
  #endingsOf(base: string): string[] {
    const endings = this.#endings.get(base) ?? [];
    this.#endings.set(base, endings);
    return endings;
  }

  #serve<Head>(route: Route<Head>, { response, head: read, isHead }: Exchange): void {
    const acceptEncoding = route.isHot === true ? '' : read.header('accept-encoding');
    const reply = new OpenReply(response, { isHead, acceptEncoding }, this.#pace, this.#settled);
    this.#inFlight += 1;
    response.onAborted(() => reply.abort());
    const excess = read.excess();
    if (excess !== undefined) {
      reply.json(excess.status, errorText(excess.status, excess.problem), route.cors);
      return;
    }
    let head: Head;
    try {
      head = route.readHead(read);
    } catch (error) {
      this.#fail(error, reply);
      return;
    }
    if (route.bodyMaxBytes === 0) {
      this.#answer(route, head, EMPTY_BODY, reply);
      return;
    }
    const announcedBytes = Number(read.header('content-length'));
    const complete = (bytes: Uint8Array) => {
      if (reply.open) this.#answer(route, head, bytes, reply);
    };
    const body = new RequestBody(this.#bodies, new RouteBody({ route, head, reply, response, complete }));
    reply.releaseLater(body);
    response.onData((chunk, isLast) => body.add(chunk, isLast));
    // Only after the reader is set up: an answered response accepts no reader.
    if (announcedBytes > route.bodyMaxBytes) this.#bodies.lose(body, 'too-large');
    else this.#admit(route, head, { body, reply });
  }

  /** Answers before the body is read, or lets it be read. */
  #admit<Head>(route: Route<Head>, head: Head, { body, reply }: Admitting): void {
    try {
      const admission = route.admit?.(head, reply) ?? 'stranger';
      if (admission instanceof Promise)
        admission
          .then((known) => admitBody(known, body, reply))
          .catch((error: unknown) => this.#fail(error, reply));
      else admitBody(admission, body, reply);
    } catch (error) {
      this.#fail(error, reply);
    }
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

function admitBody(admission: Admission, body: RequestBody, reply: OpenReply): void {
  if (admission !== 'answered' && reply.open) body.admit(admission);
}

interface Admitting {
  readonly body: RequestBody;
  readonly reply: OpenReply;
}

interface Exchange {
  readonly response: HttpResponse;
  readonly head: ReadHead;
  readonly isHead: boolean;
}

/**
 * Answers 400 and closes the connection, but not immediately: after an answer, the library reads the next request of the same packet, which
 * may be the hidden part of this one. While this request is unanswered, the library closes the connection instead.
 */
function rejectAmbiguous(
  response: HttpResponse,
  { isHead, ambiguity }: { readonly isHead: boolean; readonly ambiguity: string },
): void {
  let isGone = false;
  response.onAborted(() => {
    isGone = true;
  });
  setImmediate(() => {
    if (isGone) return;
    const body = errorText(400, ambiguity);
    response.cork(() => endLast(response, { status: 400, body, headers: JSON_HEADERS, isHead }));
  });
}

/** A pattern without its ending, and the ending: `/a/:b` and `.json` of `/a/:b.json`. */
function endingOf(pattern: string): readonly [base: string, ending: string] {
  const [, base = pattern, ending = ''] = /^([^:]*\/:\w+)(\.\w+)$/.exec(pattern) ?? [];
  return [base, ending];
}

function methodsOf(method: string): string[] {
  return method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
}
