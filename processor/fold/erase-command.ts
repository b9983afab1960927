import { z } from 'zod';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, DecodeError, endMessage, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';

/**
 * A message that tells a partition to forget: in the streams of events and of records alike. It stands in the stream
 * like everything else that changes what is in memory, so a replay forgets at the same place.
 *
 *     head of a message of no events │ JSON: an array of what is to be forgotten
 *
 * A message of no events without JSON is a tick.
 */

const forgetting = z.strictObject({
  projectId: z.string().min(1),
  profileId: z.string().nullable(),
  beforeMs: z.number().nullable(),
});

/** What is to be forgotten: of a site, everything, or what one person did, or what was over before a time. */
export interface EraseCommand {
  /** What the site is stored under. */
  readonly projectId: string;
  /** Null: whoever it was. */
  readonly profileId: string | null;
  /** Sessions that ended before it, in milliseconds since 1970, and no records; null: whenever that was. */
  readonly beforeMs: number | null;
}

/** Names a message: no two have the same publisher. */
export interface EraseCommandHead {
  readonly publisherId: bigint;
  readonly sentAtMs: number;
}

/** The message. */
export function encodeEraseCommands(
  { publisherId, sentAtMs }: EraseCommandHead,
  all: readonly EraseCommand[],
): Uint8Array {
  const writer = new RowBinaryWriter(1024);
  beginMessage(writer, { publisherId, publisherSequence: 1, sentAtMs });
  endMessage(writer, 0);
  return Buffer.concat([writer.bytes(), Buffer.from(JSON.stringify(all))]);
}

/** How checkpoints name the message of this publisher. */
export function eraseCommandIdOf(publisherId: bigint): string {
  return publisherId.toString(36);
}

/** What a message of no events tells to forget; undefined for a tick. Throws a `DecodeError` for anything else. */
export function decodeEraseCommands(bytes: Uint8Array): readonly EraseCommand[] | undefined {
  if (bytes.length === MESSAGE_HEADER_BYTES) return undefined;
  const parsed = z
    .array(forgetting)
    .safeParse(jsonOf(Buffer.from(bytes.subarray(MESSAGE_HEADER_BYTES)).toString()));
  if (!parsed.success) throw new DecodeError('a message of no events has bytes that say nothing');
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema refuses it.
  }
}
