import { z } from 'zod';
import type { Bus } from '../../infra/bus/bus.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import type { StreamMessage } from '../../infra/bus/stream-reader.ts';
import type { Logger } from '../../infra/log.ts';

/** Messages that could not be read, kept for a human or a later program. */
export const DEAD_LETTERS_STREAM = 'dead-letters';
const PUBLISH_TIMEOUT_MS = 10_000;

/** A message that could not be read: where it stood, why, and its bytes. */
export interface DeadLetter {
  /** Which of the partition's streams. */
  readonly stream: 'events' | 'records';
  readonly partition: number;
  readonly sequence: number;
  readonly reason: string;
  readonly bytes: Uint8Array;
}

export function deadLetterSubjectOf(partition: number): string {
  return `dead-letters.${partition}`;
}

/** Puts a message among the dead letters; the lane goes on only when it is durably there. */
export async function publishDeadLetter(
  { bus, log, partition, stream }: Pick<DeadLetter, 'partition' | 'stream'> & { bus: Bus; log: Logger },
  { sequence, bytes }: StreamMessage,
  reason: string,
): Promise<void> {
  log.error(
    { stream, partition, sequence, reason },
    'lane: a message cannot be read; it is among the dead letters',
  );
  const letter = encodeDeadLetter({ stream, partition, sequence, reason, bytes });
  await bus.publish(deadLetterSubjectOf(partition), letter, PUBLISH_TIMEOUT_MS);
}

const LETTER_VERSION = 1;
const headSchema = z.object({
  stream: z.enum(['events', 'records']),
  partition: z.int().min(0),
  sequence: z.int().min(0),
  reason: z.string(),
});

/** `u32 headBytes │ head (JSON with a version; without one it is version 0, which is otherwise the same) │ message`. */
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
  const contract = { name: 'dead letter', versions: [0, LETTER_VERSION], schema: headSchema };
  return { ...decodeJsonContract(buffer.subarray(4, end), contract), bytes: buffer.subarray(end) };
}
