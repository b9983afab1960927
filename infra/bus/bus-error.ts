import { NatsError } from 'nats';

const NO_RESPONDERS = '503';
const TIMEOUT = 'TIMEOUT';
const PAYLOAD_TOO_LARGE = 'MAX_PAYLOAD_EXCEEDED';

// JetStream's error numbers (`err_code`); bus-error.nats.test.ts provokes them on the real server. The `code` beside
// them is an HTTP status and does not distinguish them: a full stream and a request without a responder both have 503.
/** From a single server, and from a cluster. */
const WRONG_LAST_SEQUENCE = new Set([10071, 10164]);
const MESSAGE_TOO_LARGE = 10054;
/** Account limit, server limit, memory store, file store, the stream's own limits, and a stream that asks for too much. */
const FULL = new Set([10002, 10023, 10028, 10047, 10077, 10122]);
const NOT_FOUND = new Set([10037, 10059]);
/** Codes for a stream that does not fit: into the account, the server, its memory or its files. */
const NO_ROOM = new Set([10002, 10023, 10028, 10047]);
/** A cluster knows too few servers that could take a copy. */
const NO_PEERS = 10005;
/** A cluster knows too few of its servers, or has no leader. */
const FORMING = new Set([NO_PEERS, 10008]);
/** A stream that is just being created: its name is in use, it is not found yet, its subjects overlap. */
const BEING_MADE = new Set([10058, 10059, 10065]);
/** nats-server does not say which it is. */
const NO_PEERS_CAUSES =
  'fewer servers of the cluster have found each other than BUS_REPLICAS asks for (if all of them run, restart one after the other), or too few have room left (max_file_store)';

export type BusErrorReason = 'conflict' | 'no-responders' | 'timeout' | 'full' | 'too-large' | 'other';

/** The bus cannot do it now, or rejected it. */
export class BusError extends Error {
  override readonly name = 'BusError';
  /** True if the same call may succeed later. */
  readonly retryable: boolean;
  /**
   * `conflict`: another writer was first. `no-responders`: nothing is subscribed to the subject, or no stream stores it. `full`: no room in
   * the stream or in the server. `too-large`: the message exceeds the server's limit.
   */
  readonly reason: BusErrorReason;

  constructor(message: string, reason: BusErrorReason, cause: unknown) {
    super(message, { cause });
    this.reason = reason;
    this.retryable = reason !== 'conflict' && reason !== 'too-large';
  }
}

/**
 * Messages that a reader expects are missing from the stream, although none is removed before every reader has read it. Fatal: reading on
 * would lose them silently.
 */
export class StreamGapError extends Error {
  override readonly name = 'StreamGapError';
  readonly stream: string;
  /** Sequence of the message that the reader expects next. */
  readonly expected: number;
  /** Sequence of the first message that is available instead; below `expected` when the stream ends before it. */
  readonly available: number;

  constructor(stream: string, expected: number, available: number) {
    super(
      available > expected
        ? `stream ${stream}: messages ${expected} to ${available - 1} are missing`
        : `stream ${stream} ends at ${available}; the reader has read up to ${expected - 1}`,
    );
    this.stream = stream;
    this.expected = expected;
    this.available = available;
  }
}

/** Wraps any failure of the client library; our own errors pass unchanged. */
export function busError(what: string, cause: unknown): BusError | StreamGapError {
  if (cause instanceof BusError || cause instanceof StreamGapError) return cause;
  const { api_error: apiError, code } = cause instanceof NatsError ? cause : {};
  // The library replaces the server's description of a 503 by its number.
  const said = apiError?.description ?? (cause instanceof Error ? cause.message : String(cause));
  const text = apiError?.err_code === NO_PEERS ? `${said}: ${NO_PEERS_CAUSES}` : said;
  return new BusError(`bus: ${what}: ${text}`, reasonOf(code, apiError?.err_code), cause);
}

/** The error of a message that JetStream rejected instead of returning its sequence. */
export function rejection(
  what: string,
  error: { readonly err_code: number; readonly description: string },
): BusError {
  return new BusError(`bus: ${what}: ${error.description}`, reasonOf(undefined, error.err_code), undefined);
}

/** True if there is no such stream, or no such message in it. */
export function isAbsent(error: unknown): boolean {
  return error instanceof NatsError && NOT_FOUND.has(error.api_error?.err_code ?? 0);
}

/** True if a cluster may still be forming: it has no leader, knows too few of its servers, or does not answer. */
export function isForming(error: unknown): boolean {
  if (!(error instanceof BusError)) return false;
  const { cause, reason } = error;
  const isSilent = reason === 'no-responders' || reason === 'timeout';
  return isSilent || (cause instanceof NatsError && FORMING.has(cause.api_error?.err_code ?? 0));
}

/** True if another process is creating the same stream now, so that a second attempt finds it. */
export function isBeingMade(error: unknown): boolean {
  const cause = error instanceof BusError ? error.cause : undefined;
  return cause instanceof NatsError && BEING_MADE.has(cause.api_error?.err_code ?? 0);
}

/** True if no server has room for a stream's reservation. */
export function lacksRoom(error: unknown): boolean {
  return error instanceof NatsError && NO_ROOM.has(error.api_error?.err_code ?? 0);
}

function reasonOf(code: string | undefined, apiCode: number | undefined): BusErrorReason {
  if (apiCode !== undefined) {
    if (WRONG_LAST_SEQUENCE.has(apiCode)) return 'conflict';
    if (apiCode === MESSAGE_TOO_LARGE) return 'too-large';
    return FULL.has(apiCode) ? 'full' : 'other';
  }
  if (code === NO_RESPONDERS) return 'no-responders';
  if (code === TIMEOUT) return 'timeout';
  return code === PAYLOAD_TOO_LARGE ? 'too-large' : 'other';
}
