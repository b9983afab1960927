/**
 * CONTRACT between a partition's owner and the query nodes: what is in memory and how to ask for it.
 *
 * A question is JSON on the core NATS subject of the partition; the answer is
 *
 *     u32 headBytes │ head (JSON, one of the *Head types) │ events (RowBinary) │ sessions (RowBinary)
 *
 * The rows are those of one site that are acknowledged and not known to be in the store, with the columns of `rows.ts`.
 * Each carries the number of the flush that will bring it, which is always above `flushNumber`, the last flush that is
 * known to be complete. So rows of the store up to `flushNumber` and these rows together are every event once,
 * whatever happens in between; for sessions, which the store merges, see the marker in `rows.ts`.
 */
export function hotSubjectOf(partition: number): string {
  return `hot.${partition}`;
}

export type HotQuestion =
  /** How many devices have an event in the five minutes before `nowMs`. */
  | { readonly kind: 'live'; readonly projectId: string; readonly nowMs: number }
  /** The same by page, country and referrer. */
  | { readonly kind: 'live-details'; readonly projectId: string; readonly nowMs: number }
  /** The unflushed rows. The owner first folds everything that the bus has for the partition. */
  | { readonly kind: 'rows'; readonly projectId: string }
  /** Counts of each minute from `fromMs` on, from memory alone. */
  | { readonly kind: 'minutes'; readonly projectId: string; readonly fromMs: number };

export interface LiveHead {
  readonly kind: 'live';
  readonly visitors: number;
}

export interface LiveDetailsHead {
  readonly kind: 'live-details';
  readonly visitors: number;
  readonly pages: readonly (readonly [path: string, visitors: number])[];
  readonly countries: readonly (readonly [country: string, visitors: number])[];
  readonly referrers: readonly (readonly [referrerName: string, visitors: number])[];
}

export interface RowsHead {
  readonly kind: 'rows';
  readonly partition: number;
  readonly flushNumber: number;
  readonly eventBytes: number;
  readonly sessionBytes: number;
  readonly eventRows: number;
  readonly sessionRows: number;
  /** The hours that the rows lie in, events by their times and sessions by their beginnings; ms since 1970, in no order. */
  readonly hours: readonly number[];
}

/** One minute of one site on one partition. Sessions count in the minute in which they began. */
export interface HotMinute {
  readonly minuteMs: number;
  readonly screenViews: number;
  readonly otherEvents: number;
  readonly sessions: number;
  readonly bounces: number;
  /** Sum over the sessions that began in the minute. */
  readonly durationMs: number;
  /** Minor units of the events of this minute, as decimal text, by currency. */
  readonly revenue: Readonly<Record<string, string>>;
  /** Distinct visitors (profile, else device) with an event in the minute, as 52-bit hashes. */
  readonly visitors: readonly number[];
}

export interface MinutesHead {
  readonly kind: 'minutes';
  readonly partition: number;
  readonly minutes: readonly HotMinute[];
}

/** The owner cannot answer now: `lagging` behind the bus, or the rows are too many for one message. */
export interface UnavailableHead {
  readonly kind: 'unavailable';
  readonly reason: 'lagging' | 'too-large' | 'starting' | 'not-held';
}

export type HotHead = LiveHead | LiveDetailsHead | RowsHead | MinutesHead | UnavailableHead;

export interface HotAnswer {
  readonly head: HotHead;
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
}

const EMPTY = new Uint8Array(0);

export function encodeHotAnswer(
  head: HotHead,
  events: Uint8Array = EMPTY,
  sessions: Uint8Array = EMPTY,
): Uint8Array {
  const text = Buffer.from(JSON.stringify(head));
  const bytes = Buffer.allocUnsafe(4 + text.length + events.length + sessions.length);
  bytes.writeUInt32LE(text.length, 0);
  bytes.set(text, 4);
  bytes.set(events, 4 + text.length);
  bytes.set(sessions, 4 + text.length + events.length);
  return bytes;
}

/** Throws when `bytes` are no answer. */
export function decodeHotAnswer(bytes: Uint8Array): HotAnswer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = 4 + buffer.readUInt32LE(0);
  const head = JSON.parse(buffer.toString('utf8', 4, end)) as HotHead;
  if (head.kind !== 'rows') return { head, events: EMPTY, sessions: EMPTY };
  const sessions = end + head.eventBytes;
  return {
    head,
    events: bytes.subarray(end, sessions),
    sessions: bytes.subarray(sessions, sessions + head.sessionBytes),
  };
}

export function encodeHotQuestion(question: HotQuestion): Uint8Array {
  return Buffer.from(JSON.stringify(question));
}

export function decodeHotQuestion(bytes: Uint8Array): HotQuestion {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as HotQuestion;
}
