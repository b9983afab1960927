import { z } from 'zod';
import { type StoredId, storedIdSchema } from '../../infra/accounts/ids.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import { publisherKeyOf } from '../../infra/process/lane-ends.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, endMessage, MESSAGE_HEADER_BYTES } from '../../ingest/event.ts';

/**
 * CONTRACT of the message that makes a lane erase: the same in the streams of events and of entities. It is in the stream like everything
 * else that changes memory, so a replay erases at the same point.
 *
 *     head of a message of no events │ JSON: { version, commands }
 *
 * A message of no events without JSON is a tick.
 */
const ERASE_VERSION = 1;

const commandSchema = z.strictObject({
  projectId: storedIdSchema.min(1),
  profileId: z.string().nullable(),
  beforeMs: z.number().nullable(),
});
const schema = z
  .strictObject({ version: z.literal(ERASE_VERSION), commands: z.array(commandSchema) })
  .transform(({ commands }) => commands);

/** The data of a site to erase: everything, the data of one person, or sessions that ended before a time. */
export interface EraseCommand {
  /** The id that the site is stored under. */
  readonly projectId: StoredId;
  /** Null: every person. */
  readonly profileId: string | null;
  /** Sessions that ended before it, in milliseconds since 1970, and no entities; null: sessions of any time. */
  readonly beforeMs: number | null;
}

/** Identifies a message: no two have the same publisher. */
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
  return Buffer.concat([
    writer.bytes(),
    Buffer.from(JSON.stringify({ version: ERASE_VERSION, commands: all })),
  ]);
}

/** The id of this publisher's message in checkpoints. */
export function eraseCommandIdOf(publisherId: bigint): string {
  return publisherKeyOf(publisherId);
}

/**
 * The erase commands of a message of no events; undefined for a tick.
 * @throws {DecodeError} for anything else
 */
export function decodeEraseCommands(bytes: Uint8Array): readonly EraseCommand[] | undefined {
  if (bytes.length < MESSAGE_HEADER_BYTES) throw new DecodeError('message is shorter than its head');
  if (bytes.length === MESSAGE_HEADER_BYTES) return undefined;
  const json = bytes.subarray(MESSAGE_HEADER_BYTES);
  return decodeJsonContract(json, { name: 'erase command', versions: [ERASE_VERSION], schema });
}
