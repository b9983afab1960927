import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { BucketAddress } from './bucket-address.ts';
import { BucketError } from './bucket-error.ts';

/** A request that is signed and only has to be sent. */
export interface SignedRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Path and query, encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** How a request is sent, and how much of an answer is waited for. */
export interface Sending {
  readonly place: BucketAddress;
  readonly agent: http.Agent;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
  /** Of a success; what is longer is cut off there. */
  readonly answerMaxBytes: number;
}

/** A whole answer, or as much of it as was wanted. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** There was more. */
  readonly isCut: boolean;
}

/** Errors say what they have to say in a few hundred bytes. */
const REFUSAL_MAX_BYTES = 65_536;
/** Longest time in which no byte goes either way. */
const IDLE_MAX_MS = 30_000;
/** A body is passed on in pieces, so that encrypting it does not hold the event loop. */
const PIECE_BYTES = 262_144;
/** A body of more waits until the storage has seen the head: who denies us does not want the body, and hangs up on it. */
const ASKS_FIRST_BYTES = 1_048_576;
/** Who does not know that question answers nothing: then the body goes anyway. */
const ASKS_FIRST_MS = 1000;

/**
 * Sends one request and takes its answer, of whatever status. Redirects are answers. `stale`: a connection that was kept
 * from an earlier request ended before any byte of an answer, which is what happens when the other side closes it just
 * then; nothing is known to be wrong.
 * @throws {BucketError} slow, unreachable, address-refused
 */
export function exchange(request: SignedRequest, sending: Sending): Promise<Answer | 'stale'> {
  const { place, agent, lookup, timeoutMs } = sending;
  const asksFirst = (request.body?.length ?? 0) > ASKS_FIRST_BYTES;
  return new Promise((resolve, reject) => {
    const options = {
      agent,
      lookup,
      host: place.hostname,
      port: place.port,
      method: request.method,
      path: request.path,
      headers: { ...request.headers, host: place.host, ...(asksFirst ? { expect: '100-continue' } : {}) },
      timeout: Math.min(timeoutMs, IDLE_MAX_MS),
    };
    const outgoing = place.protocol === 'https:' ? https.request(options) : http.request(options);
    const connection = watchConnection(outgoing);
    let hasAnswer = false;
    const end = () => {
      clearTimeout(deadline);
      // A connection on which a request is only half said cannot carry another one.
      if (!outgoing.writableFinished) outgoing.destroy();
    };
    const fail = (error: Error) => {
      end();
      reject(connectionError(place.host, error));
    };
    const late = () => {
      const error = tooLate(place.host, connection.isOpen);
      outgoing.destroy(error);
      fail(error);
    };
    const deadline = setTimeout(late, timeoutMs);
    outgoing.on('timeout', late);
    outgoing.on('error', (error) => {
      if (isBroken(error) && connection.wasKeptAndSilent) resolve('stale');
      fail(error);
    });
    // A few ends come without an error, such as that of a connection which is to speak another protocol.
    outgoing.on('close', () => {
      if (!hasAnswer) fail(new Error('closed without an answer'));
    });
    outgoing.on('response', (incoming) => {
      hasAnswer = true;
      const maxBytes = isSuccessful(incoming.statusCode ?? 0) ? sending.answerMaxBytes : REFUSAL_MAX_BYTES;
      takeAnswer(incoming, maxBytes).then((answer) => {
        end();
        resolve(answer);
      }, fail);
    });
    sendBody(outgoing, request.body, asksFirst);
  });
}

export function isSuccessful(status: number): boolean {
  return status >= 200 && status < 300;
}

function sendBody(outgoing: ClientRequest, body: Uint8Array | undefined, asksFirst: boolean): void {
  if (body === undefined) {
    outgoing.end();
    return;
  }
  let sent = 0;
  const sendMore = () => {
    while (sent < body.length) {
      if (outgoing.destroyed) return;
      const piece = body.subarray(sent, sent + PIECE_BYTES);
      sent += piece.length;
      if (!outgoing.write(piece)) {
        outgoing.once('drain', sendMore);
        return;
      }
    }
    outgoing.end();
  };
  if (!asksFirst) {
    sendMore();
    return;
  }
  let hasBegun = false;
  const begin = () => {
    clearTimeout(patience);
    if (!hasBegun && !outgoing.destroyed) sendMore();
    hasBegun = true;
  };
  const patience = setTimeout(begin, ASKS_FIRST_MS);
  outgoing.once('continue', begin);
  // An answer ends the question: what refuses the request has no use for its body.
  outgoing.once('response', () => {
    clearTimeout(patience);
    hasBegun = true;
  });
  outgoing.once('close', () => clearTimeout(patience));
  outgoing.flushHeaders();
}

async function takeAnswer(incoming: IncomingMessage, maxBytes: number): Promise<Answer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isCut = false;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    isCut = bytes > maxBytes;
    // Leaving the loop destroys the connection: nobody reads what else there is.
    if (isCut) break;
  }
  const body = Buffer.concat(pieces).subarray(0, maxBytes);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body, isCut };
}

/** What an error cannot tell by itself: how far the connection was when it happened. */
function watchConnection(outgoing: ClientRequest): {
  readonly isOpen: boolean;
  readonly wasKeptAndSilent: boolean;
} {
  let socket: Socket | undefined;
  let bytesBefore = 0;
  let isOpen = false;
  outgoing.once('socket', (given) => {
    socket = given;
    bytesBefore = given.bytesRead;
    isOpen = outgoing.reusedSocket;
    given.once('encrypted' in given ? 'secureConnect' : 'connect', () => {
      isOpen = true;
    });
  });
  return {
    get isOpen() {
      return isOpen;
    },
    get wasKeptAndSilent() {
      return outgoing.reusedSocket && socket !== undefined && socket.bytesRead === bytesBefore;
    },
  };
}

function tooLate(host: string, isOpen: boolean): BucketError {
  // Where packets are swallowed no connection ever comes about: that is no slowness.
  if (!isOpen) return new BucketError('unreachable', `${host} does not take a connection`);
  return new BucketError('slow', `${host} did not answer in time`);
}

function isBroken(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function connectionError(host: string, error: NodeJS.ErrnoException): BucketError {
  if (error instanceof BucketError) return error;
  const { code } = error;
  const words = code === undefined ? '' : ` (${code})`;
  return new BucketError('unreachable', `no connection to ${host}, or a broken one${words}`, {
    cause: error,
    code,
  });
}
