import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import {
  beginMessage,
  EVENT_MAX_BYTES,
  endMessage,
  FLAG_IN_SESSION,
  type LaneSpread,
} from '../../ingest/event.ts';
import { EventView, laneOfView } from '../fold/event-view.ts';
import type { OrderAnswer, RecordedRevenue } from './order.ts';

/** Maximum bytes of a message; refunds that waited for one order are split into several. */
const PIECE_BYTES = 524_288;
/** Messages that a lane may get from one message of updates; its number has room for this many. */
const PIECES_MAX = 64;
const CURRENCY_BYTES_MAX = 16;

/** A message for a lane's stream of events. */
export interface RevenueMessage {
  readonly subject: string;
  readonly bytes: Uint8Array;
}

/** The origin of the events: the same each time a message of updates is applied. */
export interface RevenueOrigin {
  readonly publisherId: bigint;
  /** Sequence of the message of updates in its stream. */
  readonly sequence: number;
  readonly sentAtMs: number;
}

/**
 * The messages of recorded revenue for the subjects of its lanes. Their numbers follow from the sequence of the message of updates, by
 * which the fold recognises a repeat after a crash.
 */
export function revenueMessages(
  recorded: readonly RecordedRevenue[],
  origin: RevenueOrigin,
  subjectOf: (lane: number, event: Uint8Array) => string,
): RevenueMessage[] {
  const bySubject = new Map<string, RecordedRevenue[]>();
  for (const revenue of recorded) {
    const subject = subjectOf(revenue.lane, revenue.event);
    const known = bySubject.get(subject);
    if (known === undefined) bySubject.set(subject, [revenue]);
    else known.push(revenue);
  }
  return [...bySubject].flatMap(([subject, revenues]) => piecesOf(subject, revenues, origin));
}

function piecesOf(
  subject: string,
  revenues: readonly RecordedRevenue[],
  { publisherId, sequence, sentAtMs }: RevenueOrigin,
): RevenueMessage[] {
  const messages: RevenueMessage[] = [];
  const writer = new RowBinaryWriter(2 * PIECE_BYTES + EVENT_MAX_BYTES);
  for (let index = 0; index < revenues.length; ) {
    const publisherSequence = sequence * PIECES_MAX + Math.min(messages.length, PIECES_MAX - 1);
    beginMessage(writer, { publisherId, publisherSequence, sentAtMs });
    let count = 0;
    const isLast = messages.length === PIECES_MAX - 1;
    while (index < revenues.length && (count === 0 || isLast || writer.length < PIECE_BYTES)) {
      const revenue = revenues[index];
      if (revenue !== undefined) writeWithRevenue(writer, revenue);
      count += 1;
      index += 1;
    }
    endMessage(writer, count);
    messages.push({ subject, bytes: writer.take() });
  }
  return messages;
}

/** The lane that a recorded event goes to. */
export function laneOfEvent(event: Uint8Array, spread: LaneSpread): number {
  if (spread.lanes === 1) return 0;
  const bytes = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  const view = new EventView();
  view.read(bytes, 0);
  return laneOfView(view, spread);
}

/**
 * The ids that the sender of an event was answered.
 * @throws {DecodeError} for an event that cannot be recorded
 */
export function answerOf(event: Uint8Array): OrderAnswer {
  const bytes = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  const view = new EventView();
  view.read(bytes, 0);
  const isInSession = (view.flags & FLAG_IN_SESSION) !== 0;
  return {
    deviceId: bytes.toString('utf8', view.deviceStart, view.deviceEnd),
    sessionId: isInSession ? bytes.toString('hex', view.hintStart, view.hintStart + 16) : '',
  };
}

/** The event with the amount and the currency that its order allows, instead of its own. */
function writeWithRevenue(writer: RowBinaryWriter, { event, minorUnits, currency }: RecordedRevenue): void {
  const bytes = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  const view = new EventView();
  view.read(bytes, 0);
  const start = writer.length;
  const text = new RowBinaryWriter(CURRENCY_BYTES_MAX);
  text.string(currency);
  writer.u32(0);
  writer.raw(bytes, 4, view.revenueStart);
  writer.i64(minorUnits);
  writer.raw(text.bytes(), 0, text.length);
  writer.raw(bytes, view.currencyEnd, bytes.length);
  writer.patchU32(start, writer.length - start - 4);
}
