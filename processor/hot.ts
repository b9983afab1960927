import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../infra/accounts/ids.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../infra/bus/json-contract.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';
import { TIME_MAX_MS } from '../ingest/event.ts';

/**
 * CONTRACT between a lane's owner and the query nodes: the data in memory and the way to ask for it.
 *
 * A question is JSON on the core NATS subject of the lane; the answer is
 *
 *     u32 headBytes │ head (JSON, one of the *Head types) │ events (RowBinary) │ sessions (RowBinary)
 *
 * Question and head have a `version`. A question says in `reads` which answers the asker reads, and the owner answers in that version, or in
 * the newest that it writes. So processes of two releases can be mixed: a further version of answers needs no further version of questions.
 *
 * The rows belong to one site, are acknowledged and not known to be in the store, and have the columns of `rows.ts`. Each has the number of
 * the flush that will insert it, always above `flushNumber`, the last flush known to be complete. So rows of the store up to `flushNumber`
 * and these rows together are every event once, whatever happens in between; for sessions, which the store merges, see the marker in
 * `rows.ts`. An asker with `held` may get the answer as of an earlier flush, with the rows since.
 */
export const HOT_VERSION = 1;
const ANSWER_VERSIONS = [HOT_VERSION];
const QUESTION_VERSION = 1;

export function hotSubjectOf(lane: LaneName): string {
  return `hot.${lane}`;
}

interface AskedSite {
  readonly projectId: StoredId;
  /** The newest version of answers that the asker reads, if this release writes it; in a question to encode, the newest by default. */
  readonly reads?: number;
}

export type HotQuestion =
  /** Number of visitors with an event in a session in the five minutes before `nowMs`. */
  | (AskedSite & { readonly kind: 'live'; readonly nowMs: number })
  /** The same by page, country and referrer. */
  | (AskedSite & { readonly kind: 'live-details'; readonly nowMs: number })
  /**
   * The unflushed rows. The owner first folds everything that the bus has for the lane. `held`: by lane, the last flush in the memory of the
   * asker. If the owner still has the rows of all later flushes, it answers as of this flush, with these rows among the others.
   */
  | (AskedSite & { readonly kind: 'rows'; readonly held?: readonly number[] | undefined })
  /** Counts of each minute from `fromMs` on, only from memory. */
  | (AskedSite & { readonly kind: 'minutes'; readonly fromMs: number });

/** Live visitors on one lane. */
export interface LivePart {
  /** Visitors without a profile: devices, which are live on one lane only. */
  readonly visitors: number;
  /** The other visitors, as 52-bit hashes of their profiles: one may be live on several lanes. */
  readonly profiles: readonly number[];
}

export interface LiveHead extends LivePart {
  readonly kind: 'live';
}

/** Visitors by a name, counted as in `LivePart`. */
export type LiveCount = readonly [name: string, visitors: number, profiles: readonly number[]];

export interface LiveDetailsHead extends LivePart {
  readonly kind: 'live-details';
  /** By path, country and name of the referrer. A profile with several sessions may be in several. */
  readonly pages: readonly LiveCount[];
  readonly countries: readonly LiveCount[];
  readonly referrers: readonly LiveCount[];
}

export interface RowsHead {
  readonly kind: 'rows';
  /** The lane's number. */
  readonly partition: number;
  /** The last flush whose rows are not in the answer. */
  readonly flushNumber: number;
  /** The last flush known to be complete, if it is a later one than `flushNumber`. */
  readonly storedFlush?: number | undefined;
  readonly eventBytes: number;
  readonly sessionBytes: number;
  readonly eventRows: number;
  readonly sessionRows: number;
  /**
   * The hours that the rows change: the hours of events, the hours in which sessions began, and every hour of a session whose entry or
   * visitor has changed; ms since 1970, in no order.
   */
  readonly hours: readonly number[];
}

/** One minute of one site on one lane. Sessions count in the minute in which they began. */
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
  /** Distinct visitors with an event in the minute (profile of its session, own profile, or device), as 52-bit hashes. */
  readonly visitors: readonly number[];
}

export interface MinutesHead {
  readonly kind: 'minutes';
  /** The lane's number. */
  readonly partition: number;
  readonly minutes: readonly HotMinute[];
}

const UNAVAILABLE_REASONS = ['lagging', 'too-large', 'starting', 'not-held', 'unreadable', 'failed'] as const;

/**
 * The owner cannot answer. `lagging`: it is behind the bus. `too-large`: the rows exceed one message. `not-held`: the
 * minutes are no longer in memory. `unreadable`: it cannot read the question. `failed`: making the answer failed.
 */
export interface UnavailableHead {
  readonly kind: 'unavailable';
  readonly reason: (typeof UNAVAILABLE_REASONS)[number];
}

export type HotHead = LiveHead | LiveDetailsHead | RowsHead | MinutesHead | UnavailableHead;

export interface HotAnswer {
  readonly head: HotHead;
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
}

const EMPTY = new Uint8Array(0);

/** `version` is the one to write the answer in: the newest that the asker reads. */
export function encodeHotAnswer(
  head: HotHead,
  events: Uint8Array = EMPTY,
  sessions: Uint8Array = EMPTY,
  version = HOT_VERSION,
): Uint8Array {
  // It is alike in all versions, and may be the answer to a question that cannot be read.
  return encodeAnswer(head, events, sessions, head.kind === 'unavailable' ? 1 : version);
}

function encodeAnswer(head: object, events: Uint8Array, sessions: Uint8Array, version: number): Uint8Array {
  const text = Buffer.from(JSON.stringify({ version, ...head }));
  const bytes = Buffer.allocUnsafe(4 + text.length + events.length + sessions.length);
  bytes.writeUInt32LE(text.length, 0);
  bytes.set(text, 4);
  bytes.set(events, 4 + text.length);
  bytes.set(sessions, 4 + text.length + events.length);
  return bytes;
}

/** @throws {DecodeError} */
export function decodeHotAnswer(bytes: Uint8Array): HotAnswer {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = buffer.length < 4 ? 4 : 4 + buffer.readUInt32LE(0);
  if (end > buffer.length) throw new DecodeError('hot answer is cut off');
  const contract = { name: 'hot answer', versions: ANSWER_VERSIONS, schema: headSchema };
  const head = decodeJsonContract(buffer.subarray(4, end), contract);
  const { eventBytes, sessionBytes } = head.kind === 'rows' ? head : NO_ROWS;
  if (end + eventBytes + sessionBytes !== buffer.length)
    throw new DecodeError('hot answer has more or fewer rows than it says');
  const sessionStart = end + eventBytes;
  return { head, events: bytes.subarray(end, sessionStart), sessions: bytes.subarray(sessionStart) };
}

export function encodeHotQuestion(question: HotQuestion): Uint8Array {
  return Buffer.from(JSON.stringify({ version: QUESTION_VERSION, reads: HOT_VERSION, ...question }));
}

/** @throws {DecodeError} */
export function decodeHotQuestion(bytes: Uint8Array): HotQuestion {
  return decodeJsonContract(bytes, {
    name: 'hot question',
    versions: [QUESTION_VERSION],
    schema: questionSchema,
  });
}

const NO_ROWS = { eventBytes: 0, sessionBytes: 0 };

const text = z.string();
const count = z.int().min(0);
// A time beyond these would empty the owner's counters of recent minutes.
const nowMs = z.number().min(0).max(TIME_MAX_MS);
// An asker that reads later versions gets the newest one known here.
const reads = z
  .int()
  .min(1)
  .transform((version) => Math.min(version, HOT_VERSION));
const questionSchema: z.ZodType<HotQuestion> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('live'), projectId: storedIdSchema, reads, nowMs }),
  z.object({ kind: z.literal('live-details'), projectId: storedIdSchema, reads, nowMs }),
  z.object({ kind: z.literal('rows'), projectId: storedIdSchema, reads, held: z.array(count).optional() }),
  z.object({ kind: z.literal('minutes'), projectId: storedIdSchema, reads, fromMs: z.number() }),
]);

// Lists of an answer may have hundreds of thousands of entries: a plain loop takes a fraction of a schema's time.
const numbers = z.custom<readonly number[]>(
  (value) => Array.isArray(value) && value.every((entry) => typeof entry === 'number'),
);
const counts = z.custom<readonly LiveCount[]>((value) => Array.isArray(value) && value.every(isCount));

function isCount(entry: unknown): boolean {
  if (!Array.isArray(entry) || entry.length !== 3) return false;
  const [name, visitors, profiles] = entry;
  return typeof name === 'string' && typeof visitors === 'number' && numbers.safeParse(profiles).success;
}

const minute = z.object({
  minuteMs: z.number(),
  screenViews: z.number(),
  otherEvents: z.number(),
  sessions: z.number(),
  bounces: z.number(),
  durationMs: z.number(),
  revenue: z.record(text, text.regex(/^-?\d+$/)),
  visitors: numbers,
});
const headSchema: z.ZodType<HotHead> = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('live'), visitors: count, profiles: numbers }),
  z.object({
    kind: z.literal('live-details'),
    visitors: count,
    profiles: numbers,
    pages: counts,
    countries: counts,
    referrers: counts,
  }),
  z.object({
    kind: z.literal('rows'),
    partition: count,
    flushNumber: count,
    storedFlush: count.optional(),
    eventBytes: count,
    sessionBytes: count,
    eventRows: count,
    sessionRows: count,
    hours: numbers,
  }),
  z.object({ kind: z.literal('minutes'), partition: count, minutes: z.array(minute) }),
  z.object({ kind: z.literal('unavailable'), reason: z.enum(UNAVAILABLE_REASONS) }),
]);
