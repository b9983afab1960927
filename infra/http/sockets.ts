import type { HttpRequest, HttpResponse, SocketBehavior, SocketContext, SocketHandle } from './library.ts';
import { OpenReply, type Reply } from './open-reply.ts';
import { ReadHead } from './read-head.ts';
import type { RejectionPace } from './rejection-pace.ts';
import { errorText } from './status.ts';

/** One open WebSocket. Not to be used once `closed` of its route was called. */
export interface Socket {
  /** From now on it gets the texts that are published under `topic`, see `HttpServer.publish`. */
  subscribe(topic: string): void;
  /** Sends a text, unless the peer is slow: then the text is skipped, and `caughtUp` follows. */
  send(text: string): void;
  /** Closes it with a code of the protocol, such as 1001, or one from 4000 on. */
  end(code: number, reason: string): void;
}

/**
 * A path that accepts WebSockets. Other requests to it go to its routes. Peers only listen: their messages are dropped, and a message
 * longer than `MESSAGE_MAX_BYTES` ends the connection.
 */
export interface SocketRoute<Head, Held> {
  /** A path with `:name` segments. */
  readonly pattern: string;
  readHead(head: ReadHead): Head;
  /** Resolves with the route's state for the connection, or with undefined once it has given `reply` an answer. */
  admit(head: Head, reply: Reply): Held | undefined | Promise<Held | undefined>;
  opened(socket: Socket, held: Held): void;
  /** A text was skipped because the peer is slow. */
  skipped(held: Held): void;
  /** The peer took everything that waited for it, and texts may have been skipped. */
  caughtUp(socket: Socket, held: Held): void;
  /** Called once for everything that `admit` resolved with, also where the peer left before it was opened. */
  closed(held: Held): void;
}

/** The parts of its server that a socket route uses. */
export interface SocketHost {
  /** True if another route answers this path. */
  isOthers(path: string): boolean;
  onFailure(error: unknown, reply: OpenReply): void;
  onAmbiguity(response: HttpResponse, ambiguity: string): void;
  readonly pace: RejectionPace;
  /** A request has arrived; the returned function is called when it has its answer. */
  begin(): () => void;
}

/** The longest message of a peer. */
export const MESSAGE_MAX_BYTES = 1_024;
/** A peer that does not answer pings, which the library sends, is disconnected after this time. */
const SILENCE_MAX_S = 60;
/** While more than this waits for a peer, it is sent nothing: it gets the newest text once it has caught up. */
const WAITING_MAX_BYTES = 1;

interface SocketData {
  readonly held: unknown;
  readonly socket: Socket;
}

/** The library's settings of a route. */
export function socketBehavior<Head, Kept>(
  route: SocketRoute<Head, Kept>,
  host: SocketHost,
): SocketBehavior<SocketData> {
  const ofRoute = (handle: SocketHandle<SocketData>) => handle.getUserData().held as Kept;
  return {
    maxPayloadLength: MESSAGE_MAX_BYTES,
    idleTimeout: SILENCE_MAX_S,
    sendPingsAutomatically: true,
    maxBackpressure: WAITING_MAX_BYTES,
    upgrade: (response, request, context) => {
      if (host.isOthers(request.getUrl())) request.setYield(true);
      else upgrade(route, host, { response, request, context });
    },
    open: (handle) => {
      const data = handle.getUserData();
      const socket: Socket = {
        subscribe: (topic) => void handle.subscribe(topic),
        send: (text) => void handle.send(text),
        end: (code, reason) => handle.end(code, reason),
      };
      Object.assign(data, { socket });
      route.opened(socket, ofRoute(handle));
    },
    dropped: (handle) => route.skipped(ofRoute(handle)),
    drain: (handle) => {
      if (handle.getBufferedAmount() === 0) route.caughtUp(handle.getUserData().socket, ofRoute(handle));
    },
    close: (handle) => route.closed(ofRoute(handle)),
  };
}

interface Upgrade {
  readonly response: HttpResponse;
  readonly request: HttpRequest;
  readonly context: SocketContext;
}

function upgrade<Head, Kept>(
  route: SocketRoute<Head, Kept>,
  host: SocketHost,
  { response, request, context }: Upgrade,
): void {
  const read = new ReadHead(request, response);
  const ambiguity = read.ambiguity();
  if (ambiguity !== undefined) {
    host.onAmbiguity(response, ambiguity);
    return;
  }
  const reply = new OpenReply(response, { isHead: false, acceptEncoding: '' }, host.pace, host.begin());
  response.onAborted(() => reply.abort());
  const excess = read.excess();
  if (excess !== undefined) {
    reply.json(excess.status, errorText(excess.status, excess.problem));
    return;
  }
  const key = read.header('sec-websocket-key');
  const extensions = read.header('sec-websocket-extensions');
  const admitted = async () => {
    const held = await route.admit(route.readHead(read), reply);
    if (held === undefined) return;
    // The library calls `open` within `upgrade`.
    const isOpened = reply.handOver(() => response.upgrade({ held }, key, '', extensions, context));
    if (!isOpened) route.closed(held);
  };
  admitted().catch((error: unknown) => host.onFailure(error, reply));
}
