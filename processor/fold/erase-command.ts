import { z } from 'zod';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, DecodeError, endMessage, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';

/**
 * CONTRACT of the message that makes a partition erase: the same in the streams of events and of entities. It stands in
 * the stream like everything else that changes what is in memory, so a replay erases at the same point.
 *
 *     head of a message of no events │ JSON: an array of erase commands
 *
 * A message of no events without JSON is a tick.
 */

const commandSchema = z.strictObject({
  projectId: z.string().min(1),
  profileId: z.string().nullable(),
  beforeMs: z.number().nullable(),
});

/** What to erase: everything of a site, what one person did, or what ended before a time. */
export interface EraseCommand {
  /** The site's `storedId`. */
  readonly projectId: string;
  /** Null: every person. */
  readonly profileId: string | null;
  /** Sessions that ended before this time, in milliseconds since 1970, and no entities; null: at any time. */
  readonly beforeMs: number | null;
}

/** Names a message: every message has a publisher of its own. */
export interface EraseCommandHead {
  readonly publisherId: bigint;
  readonly sentAtMs: number;
}

/** Encodes the message. */
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

/**
 * The erase commands of a message of no events; undefined for a tick.
 * @throws {DecodeError} for anything else
 */
export function decodeEraseCommands(bytes: Uint8Array): readonly EraseCommand[] | undefined {
  if (bytes.length === MESSAGE_HEADER_BYTES) return undefined;
  const parsed = z
    .array(commandSchema)
    .safeParse(jsonOf(Buffer.from(bytes.subarray(MESSAGE_HEADER_BYTES)).toString()));
  if (!parsed.success) throw new DecodeError('a message of no events has bytes that say nothing');
  return parsed.data;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // The schema rejects it.
  }
}
