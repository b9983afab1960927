import type { StoredId } from '../infra/accounts/ids.ts';
import { DecodeError } from '../infra/bus/decode-error.ts';
import type { LaneName } from '../infra/process/service-lanes.ts';
import { RowBinaryWriter } from '../infra/store/row-binary.ts';
import type { DeviceId } from './event.ts';
import { isTime } from './event.ts';

/**
 * CONTRACT between a collector that does not know a device's open session and the lane's owner, who does.
 * One question holds many devices of one lane, and the answer has one entry for each, in the same order.
 *
 *     question:    u8 version │ u32 count │ count × (string projectId, string deviceId, f64 occurredAtMs,
 *                                                    string eventId, u8 credit)
 *     answer:      u8 version │ u32 count │ count × (u8 kind, 16 bytes sessionId, f64 firstMs, f64 lastMs)
 *     unavailable: u8 version
 *
 * The owner answers in the version of the question. `unavailable` has the newest version; a collector treats an unreadable answer like
 * silence.
 */
export const SESSION_LOOKUP_VERSION = 1;
/** The oldest version of questions and answers that is read. */
const SESSION_LOOKUP_VERSION_FIRST = 1;
const BYTES_MAX = 4_194_304;
/** Most devices in one question. */
export const SESSION_LOOKUP_MAX = 2_000;

const KINDS = ['open', 'granted', 'repeat', 'ended', 'unknown'] as const;

/** One device, and the time of the event that wants to know; `eventId` is empty when the event has none. */
export interface SessionQuestion {
  readonly projectId: StoredId;
  readonly deviceId: DeviceId;
  readonly occurredAtMs: number;
  readonly eventId: string;
  /** A session that has ended is acceptable too: a late payment is credited to it. */
  readonly credit: boolean;
}

/**
 * `open`: a session that the event joins, with the times of its first and last event. `ended`: only for `credit`; no
 * session reaches the event, and this is the device's latest (`latestOf`). `granted`: no such session; the device's
 * next event opens one with this id. `repeat`: an event with this id was recorded, in this session (empty: in none).
 * `unknown`: the owner is far behind the bus, and what it has not folded may decide; a collector that does not know this
 * kind takes it for an unreadable answer, and derives the session's id as for `unknown`.
 */
export interface SessionAnswer {
  readonly kind: (typeof KINDS)[number];
  readonly sessionId: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

const NONE = '0'.repeat(32);

/** A session and the times of its first and last event. */
export interface SessionSpan {
  readonly sessionId: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * Returns the session to which a payment at `occurredAtMs` is credited: the last one to begin before it; if neither had begun by then, the
 * last one to begin.
 */
export function latestOf<Span extends SessionSpan>(
  one: Span | undefined,
  other: Span | undefined,
  occurredAtMs: number,
): Span | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const oneHadBegun = one.firstMs <= occurredAtMs;
  if (oneHadBegun !== other.firstMs <= occurredAtMs) return oneHadBegun ? one : other;
  return one.firstMs >= other.firstMs ? one : other;
}

/** The core NATS subject that a lane's owner answers these questions on. */
export function sessionLookupSubjectOf(lane: LaneName): string {
  return `sessions.${lane}`;
}

export function encodeSessionQuestions(questions: readonly SessionQuestion[]): Uint8Array {
  const writer = new RowBinaryWriter(BYTES_MAX);
  writer.u8(SESSION_LOOKUP_VERSION);
  writer.u32(questions.length);
  for (const { projectId, deviceId, occurredAtMs, eventId, credit } of questions) {
    writer.string(projectId);
    writer.string(deviceId);
    writer.f64(occurredAtMs);
    writer.string(eventId);
    writer.u8(credit ? 1 : 0);
  }
  return writer.take();
}

/** @throws {DecodeError} */
export function decodeSessionQuestions(bytes: Uint8Array): SessionQuestion[] {
  const reader = new Reader(bytes);
  const count = reader.head();
  const questions: SessionQuestion[] = [];
  for (let index = 0; index < count; index += 1) {
    const projectId = reader.string() as StoredId;
    const deviceId = reader.string();
    const occurredAtMs = reader.time();
    const eventId = reader.string();
    questions.push({ projectId, deviceId, occurredAtMs, eventId, credit: reader.u8() !== 0 });
  }
  reader.end();
  return questions;
}

/** The version of a decoded question; the answer must have the same. */
export function sessionLookupVersionOf(questions: Uint8Array): number {
  return questions[0] ?? SESSION_LOOKUP_VERSION;
}

/** The owner cannot answer now. */
export function encodeSessionsUnavailable(): Uint8Array {
  return Uint8Array.of(SESSION_LOOKUP_VERSION);
}

export function encodeSessionAnswers(
  answers: readonly SessionAnswer[],
  version: number = SESSION_LOOKUP_VERSION,
): Uint8Array {
  const writer = new RowBinaryWriter(BYTES_MAX);
  writer.u8(version);
  writer.u32(answers.length);
  for (const { kind, sessionId, firstMs, lastMs } of answers) {
    writer.u8(KINDS.indexOf(kind));
    writer.hex(sessionId === '' ? NONE : sessionId);
    writer.f64(firstMs);
    writer.f64(lastMs);
  }
  return writer.take();
}

/**
 * Returns undefined when the owner says that it is unavailable.
 * @throws {DecodeError}
 */
export function decodeSessionAnswers(bytes: Uint8Array): SessionAnswer[] | undefined {
  if (bytes.length === 1 && bytes[0] === SESSION_LOOKUP_VERSION) return undefined;
  const reader = new Reader(bytes);
  const count = reader.head();
  const answers: SessionAnswer[] = [];
  for (let index = 0; index < count; index += 1) {
    const kind = KINDS[reader.u8()];
    if (kind === undefined) throw new DecodeError('session look-up has an unknown kind of answer');
    const sessionId = reader.hex(16);
    const firstMs = reader.time();
    answers.push({ kind, sessionId: sessionId === NONE ? '' : sessionId, firstMs, lastMs: reader.time() });
  }
  reader.end();
  return answers;
}

/** Reads from the front to the end; every method throws a `DecodeError` instead of reading beyond the end. */
class Reader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Reads the version and returns the count. */
  head(): number {
    const version = this.u8();
    if (version < SESSION_LOOKUP_VERSION_FIRST || version > SESSION_LOOKUP_VERSION)
      throw new DecodeError(`session look-up has version ${version}`, 'version');
    const count = this.#bytes.readUInt32LE(this.#take(4));
    if (count > SESSION_LOOKUP_MAX) throw new DecodeError(`session look-up has ${count} entries`);
    return count;
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#take(1));
  }

  time(): number {
    const ms = this.#bytes.readDoubleLE(this.#take(8));
    if (!isTime(ms)) throw new DecodeError('session look-up has an entry without a time');
    return ms;
  }

  hex(length: number): string {
    const start = this.#take(length);
    return this.#bytes.toString('hex', start, start + length);
  }

  string(): string {
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.u8();
      length |= (byte & 0x7f) << shift;
      if (byte < 0x80) break;
      if (shift === 21) throw new DecodeError('session look-up has a text that is too long');
    }
    const start = this.#take(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  end(): void {
    if (this.#offset !== this.#bytes.length)
      throw new DecodeError('session look-up has bytes behind its end');
  }

  #take(length: number): number {
    const start = this.#offset;
    this.#offset += length;
    if (this.#offset > this.#bytes.length) throw new DecodeError('session look-up is cut off');
    return start;
  }
}
