import http, { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { BucketAddress } from './bucket-address.ts';
import { BucketError } from './bucket-error.ts';

/** A signed request, ready to be sent. */
export interface SignedRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Path and query, URL-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** Options for sending a request, and limits for reading its answer. */
export interface ExchangeOptions {
  readonly address: BucketAddress;
  readonly agent: http.Agent;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
  /** For a successful answer; a longer one is cut off there. */
  readonly answerMaxBytes: number;
}

/** A whole answer, or its first bytes up to the limit. */
export interface BucketAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The answer was longer than the limit. */
  readonly isCut: boolean;
}

/** An error document is a few hundred bytes long. */
const ERROR_MAX_BYTES = 65_536;
/** Longest time without a byte in either direction. */
const IDLE_MAX_MS = 30_000;
/** A body is written in pieces, so that encrypting it does not block the event loop. */
const PIECE_BYTES = 262_144;
/**
 * A larger body waits for the storage's reaction to the request head: a storage that denies the request does not want
 * the body, and closes the connection while it is being sent.
 */
const EXPECT_CONTINUE_BYTES = 1_048_576;
/** A storage that does not know `Expect: 100-continue` does not react; then the body is sent anyway. */
const CONTINUE_WAIT_MS = 1000;

/**
 * Sends one request and reads its answer, whatever the status; redirects are answers. Returns `stale` when a reused
 * connection ended before any byte of an answer, as happens when the other side closes it at that moment: then the
 * request can be sent again.
 *
 * undici 6.29 is rejected: it throws on `Expect: 100-continue`, so a storage that denies a request would be sent the body
 * all the same (object-store-faults.test.ts), and it takes every `100 Continue` for a broken answer.
 * @throws {BucketError} slow, unreachable, address-refused
 */
export function exchange(request: SignedRequest, how: ExchangeOptions): Promise<BucketAnswer | 'stale'> {
  const { address, agent, lookup, timeoutMs } = how;
  const expectsContinue = (request.body?.length ?? 0) > EXPECT_CONTINUE_BYTES;
  const expect = expectsContinue ? { expect: '100-continue' } : {};
  return new Promise((resolve, reject) => {
    const options = {
      agent,
      lookup,
      host: address.hostname,
      port: address.port,
      method: request.method,
      path: request.path,
      headers: { ...request.headers, host: address.host, ...expect },
      timeout: Math.min(timeoutMs, IDLE_MAX_MS),
    };
    const outgoing = address.protocol === 'https:' ? https.request(options) : http.request(options);
    const connection = watchConnection(outgoing);
    let hasAnswer = false;
    const end = () => {
      clearTimeout(deadline);
      // A connection with a half-sent request cannot carry another one.
      if (!outgoing.writableFinished) outgoing.destroy();
    };
    const fail = (error: Error) => {
      end();
      reject(connectionError(address.host, error));
    };
    const late = () => {
      const error = tooLate(address.host, connection.isOpen);
      outgoing.destroy(error);
      fail(error);
    };
    const deadline = setTimeout(late, timeoutMs);
    outgoing.on('timeout', late);
    outgoing.on('error', (error) => {
      if (isBroken(error) && connection.wasReusedAndSilent) resolve('stale');
      fail(error);
    });
    // Some connections end without an error, for example after a switch of protocols.
    outgoing.on('close', () => {
      if (!hasAnswer) fail(new Error('the connection closed without an answer'));
    });
    outgoing.on('response', (incoming) => {
      hasAnswer = true;
      const maxBytes = isSuccessful(incoming.statusCode ?? 0) ? how.answerMaxBytes : ERROR_MAX_BYTES;
      takeAnswer(incoming, maxBytes).then((answer) => {
        end();
        resolve(answer);
      }, fail);
    });
    sendBody(outgoing, request.body, expectsContinue);
  });
}

export function isSuccessful(status: number): boolean {
  return status >= 200 && status < 300;
}

function sendBody(outgoing: ClientRequest, body: Uint8Array | undefined, expectsContinue: boolean): void {
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
  if (!expectsContinue) {
    sendMore();
    return;
  }
  let hasBegun = false;
  const begin = () => {
    clearTimeout(continueTimer);
    if (!hasBegun && !outgoing.destroyed) sendMore();
    hasBegun = true;
  };
  const continueTimer = setTimeout(begin, CONTINUE_WAIT_MS);
  outgoing.once('continue', begin);
  // An answer that comes first makes the body useless.
  outgoing.once('response', () => {
    clearTimeout(continueTimer);
    hasBegun = true;
  });
  outgoing.once('close', () => clearTimeout(continueTimer));
  outgoing.flushHeaders();
}

async function takeAnswer(incoming: IncomingMessage, maxBytes: number): Promise<BucketAnswer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let isCut = false;
  for await (const piece of incoming as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    isCut = bytes > maxBytes;
    // Leaving the loop destroys the connection, so the rest is never read.
    if (isCut) break;
  }
  const body = Buffer.concat(pieces).subarray(0, maxBytes);
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body, isCut };
}

/** Watches the state of the connection, which an error itself does not contain. */
function watchConnection(outgoing: ClientRequest): {
  readonly isOpen: boolean;
  readonly wasReusedAndSilent: boolean;
} {
  let socket: Socket | undefined;
  let bytesBefore = 0;
  let isOpen = false;
  outgoing.once('socket', (given) => {
    socket = given;
    bytesBefore = given.bytesRead;
    isOpen = outgoing.reusedSocket;
    // A socket that is used again is connected, so the listeners of its requests would gather.
    if (isOpen) return;
    given.once('encrypted' in given ? 'secureConnect' : 'connect', () => {
      isOpen = true;
    });
  });
  return {
    get isOpen() {
      return isOpen;
    },
    get wasReusedAndSilent() {
      return outgoing.reusedSocket && socket !== undefined && socket.bytesRead === bytesBefore;
    },
  };
}

function tooLate(host: string, isOpen: boolean): BucketError {
  // No connection at all, for example because packets are dropped: the storage is unreachable rather than slow.
  if (!isOpen) return new BucketError('unreachable', `${host} did not accept a connection in time`);
  return new BucketError('slow', `${host} did not answer in time`);
}

function isBroken(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function connectionError(host: string, error: NodeJS.ErrnoException): BucketError {
  if (error instanceof BucketError) return error;
  const { code } = error;
  const words = code === undefined ? '' : ` (${code})`;
  return new BucketError('unreachable', `cannot connect to ${host}, or the connection broke${words}`, {
    cause: error,
    code,
  });
}
