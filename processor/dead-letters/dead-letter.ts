import { z } from 'zod';
import type { Bus } from '../../infra/bus/bus.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import type { Logger } from '../../infra/log.ts';

/** Messages that could not be read or stored, retained for an operator or a later program. */
export const DEAD_LETTERS_STREAM = 'dead-letters';
const PUBLISH_TIMEOUT_MS = 10_000;

/** A message, or one site's part of it, that could not be read or stored: its origin, the reason, and its bytes. */
export interface DeadLetter {
  /** The lane's stream. */
  readonly stream: 'events' | 'records';
  /** The lane. */
  readonly partition: number;
  readonly sequence: number;
  readonly reason: string;
  readonly bytes: Uint8Array;
}

export function deadLetterSubjectOf(lane: number): string {
  return `dead-letters.${lane}`;
}

/** Origin of a message. */
export interface DeadLetterOrigin extends Pick<DeadLetter, 'stream'> {
  readonly bus: Bus;
  readonly log: Logger;
  readonly lane: number;
}

/** Moves a message, or a part of it, to the dead letters; the lane continues only when it is durably there. */
export async function publishDeadLetter(
  { bus, log, lane, stream }: DeadLetterOrigin,
  { sequence, bytes }: Pick<StreamMessage, 'sequence' | 'bytes'>,
  reason: string,
): Promise<void> {
  log.error({ stream, lane, sequence, reason }, 'a message cannot be stored, moved to the dead letters');
  const letter = encodeDeadLetter({ stream, partition: lane, sequence, reason, bytes });
  await bus.publish(deadLetterSubjectOf(lane), letter, PUBLISH_TIMEOUT_MS);
}

const LETTER_VERSION = 1;
const headSchema = z.object({
  stream: z.enum(['events', 'records']),
  partition: z.int().min(0),
  sequence: z.int().min(0),
  reason: z.string(),
});

/** `u32 headBytes │ head (JSON with a version) │ message`. */
export function encodeDeadLetter({ bytes, ...origin }: DeadLetter): Uint8Array {
  const head = Buffer.from(JSON.stringify({ version: LETTER_VERSION, ...origin }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length, 0);
  return Buffer.concat([length, head, bytes]);
}

/** @throws {DecodeError} */
export function decodeDeadLetter(letter: Uint8Array): DeadLetter {
  const buffer = Buffer.from(letter.buffer, letter.byteOffset, letter.byteLength);
  const end = buffer.length < 4 ? 4 : 4 + buffer.readUInt32LE(0);
  if (end > buffer.length) throw new DecodeError('dead letter is cut off');
  const contract = { name: 'dead letter', versions: [LETTER_VERSION], schema: headSchema };
  return { ...decodeJsonContract(buffer.subarray(4, end), contract), bytes: buffer.subarray(end) };
}
