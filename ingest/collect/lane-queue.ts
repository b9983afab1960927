import type { LaneName } from '../../infra/process/service-lanes.ts';
import type { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import type { PublishReject } from '../request/reject.ts';

/** A message that was begun this long ago does not wait for the end of a turn of the event loop. */
const DUE_MS = 20;
/** A lane is crowded while this much waits behind its message in flight: some 150 events. */
const CROWDED_BYTES = 65_536;
/** A message of this size holds a part of a large request, or of very many small ones. */
const LARGE_BYTES = CROWDED_BYTES / 2;

/** Waits until a value is durable. */
export interface PublishWaiter {
  /** Called once: with undefined when the value is durable, else with the reason why that is not known. */
  published(reject: PublishReject | undefined): void;
}

/** Values that go to the bus together. */
export interface Message {
  readonly writer: RowBinaryWriter;
  /** Its number in its lane. */
  readonly sequence: number;
  readonly waiters: PublishWaiter[];
  /** The hash that decides the lane of each value (`laneHashOf`), in the order of `waiters`. */
  readonly hashes: number[];
  /** By `performance.now()`: a clock that is set back prolongs no wait. */
  readonly begunMs: number;
}

/** The messages of one lane. */
export interface LaneQueue {
  readonly lane: LaneName;
  readonly subject: string;
  readonly spareWriters: RowBinaryWriter[];
  /** Full messages that wait to be sent. */
  readonly full: Message[];
  /** The message that values are added to. */
  open: Message | undefined;
  sending: boolean;
  /** A message that was sent, and that may have been stored: only the end of the lane shows it. */
  unsettled: Message | undefined;
  /** Send time of its last message. */
  sentMs: number;
  /** The last place in which the bus has stored a message of it. */
  storedAt: number;
  /** Numbers the lane's messages. It never goes back. */
  sequence: number;
}

/** True if a message has waited long enough to leave before the end of the turn. */
export function isDue(message: Message | undefined): boolean {
  return message !== undefined && performance.now() - message.begunMs >= DUE_MS;
}

/** True if the backlog of a lane is so large that more of a large request would delay all others for long. */
export function isCrowded({ full, open }: LaneQueue): boolean {
  return full.length > 0 || (open?.writer.length ?? 0) >= CROWDED_BYTES;
}

/** True if large requests rest behind the message; see `Room`. */
export function isLarge({ writer }: Message): boolean {
  return writer.length >= LARGE_BYTES;
}
