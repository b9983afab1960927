import type * as UWebSockets from 'uWebSockets.js';
import { createRequire } from 'node:module';
import { setEnvironment } from '../config.ts';

/**
 * Maximum size of a request line and headers together, for a request in several packets; the library answers a longer
 * one by itself. Twice our own limit, so nearly every request over our limit gets our answer. The library reads the
 * variable once, when it is loaded. So it is loaded here and not by an `import`, which would come first.
 */
const LIBRARY_HEAD_MAX_BYTES = 131_072;

setEnvironment('UWS_HTTP_MAX_HEADERS_SIZE', String(LIBRARY_HEAD_MAX_BYTES));

/** The HTTP library. */
export const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof UWebSockets;

export type HttpRequest = UWebSockets.HttpRequest;
export type HttpResponse = UWebSockets.HttpResponse;
export type ListenSocket = UWebSockets.us_listen_socket;
export type SocketHandle<Data> = UWebSockets.WebSocket<Data>;
export type SocketContext = UWebSockets.us_socket_context_t;
export type SocketBehavior<Data> = UWebSockets.WebSocketBehavior<Data> & {
  /** Called with a message that is not sent because of `maxBackpressure`; the library's types leave it out. */
  readonly dropped: (socket: SocketHandle<Data>) => void;
};
