import { randomBytes } from 'node:crypto';
import type { Bus } from '../../infra/bus/bus.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import type { Clock } from '../../infra/clock.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { subjectOf } from '../../ingest/event.ts';
import { decodeEntityCheckpoint, entityCheckpointKeyOf } from '../entities/entity-checkpoint.ts';
import { entityVersionOf } from '../entities/erased.ts';
import { type EraseCommand, encodeEraseCommands, eraseCommandIdOf } from '../fold/erase-command.ts';
import { decodeLaneRecord, laneKeyOf } from '../lane/lane-record.ts';

const PUBLISH_TIMEOUT_MS = 10_000;
const LOOK_EVERY_MS = 100;

/** What forgetting works on. */
export interface EraseEverywhereDeps {
  readonly bus: Bus;
  /** The lanes' records. */
  readonly lanes: KeyedBytes;
  readonly partitions: number;
  readonly clock: Clock;
  /** Throws when it is time to stop. */
  readonly throwIfStopping: () => void;
}

/** How far the rows reach that know of what was forgotten: by partition. */
export interface ErasedUpTo {
  /** The last flush that may hold such rows. */
  readonly flushes: readonly number[];
  /** The version of the last document of a record that may. */
  readonly entityVersions: readonly bigint[];
}

/**
 * Has every partition forget, and brings what it knew before to the store: all rows that are about what was forgotten are
 * in the store then, in flushes up to those that are returned, and no later flush will hold anything about it. Waits for
 * owners that are away.
 */
export async function eraseEverywhere(
  parts: EraseEverywhereDeps,
  all: readonly EraseCommand[],
): Promise<ErasedUpTo> {
  const partitions = Array.from({ length: parts.partitions }, (_, partition) => partition);
  const publisherId = randomBytes(8).readBigUInt64LE();
  const message = encodeEraseCommands({ publisherId, sentAtMs: parts.clock.nowMs() }, all);
  const told = await Promise.all(
    partitions.map(async (partition) => ({
      partition,
      entitySequence: await parts.bus.publish(entitySubjectOf(partition), message, PUBLISH_TIMEOUT_MS),
      eventSequence: await parts.bus.publish(subjectOf(partition), message, PUBLISH_TIMEOUT_MS),
    })),
  );
  const id = eraseCommandIdOf(publisherId);
  const flushes = await Promise.all(told.map(({ partition }) => flushBehind(parts, partition, id)));
  const entityVersions = await Promise.all(
    told.map(({ partition, entitySequence }) => entitiesBehind(parts, partition, entitySequence)),
  );
  return { flushes, entityVersions };
}

/** The last flush of before the message, once that is in the store. */
async function flushBehind(parts: EraseEverywhereDeps, partition: number, id: string): Promise<number> {
  const { lanes } = parts;
  return poll(parts, async () => {
    const stored = await lanes.get(laneKeyOf(partition));
    const checkpoint = stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes).checkpoint;
    return checkpoint?.forgettings.find(([known]) => known === id)?.[1];
  });
}

/** The version that stands for a message of a partition's records, once everything up to it is in the store. */
async function entitiesBehind(
  parts: EraseEverywhereDeps,
  partition: number,
  sequence: number,
): Promise<bigint> {
  const { lanes, bus } = parts;
  await poll(parts, async () => {
    const stored = await lanes.get(entityCheckpointKeyOf(partition));
    const reached = stored?.bytes === undefined ? 0 : decodeEntityCheckpoint(stored.bytes).sequence;
    return reached >= sequence ? true : undefined;
  });
  return entityVersionOf(await bus.streamCreatedMs(entityStreamOf(partition)), sequence);
}

async function poll<Found>(
  { throwIfStopping }: EraseEverywhereDeps,
  look: () => Promise<Found | undefined>,
): Promise<Found> {
  for (;;) {
    throwIfStopping();
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
