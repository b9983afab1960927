import type { StoredId } from '../../infra/accounts/ids.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { type LaneLayout, laneNameOf } from '../../infra/process/service-lanes.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { entityKeyOf } from '../../ingest/entity-lookup.ts';
import {
  ENTITY_UPDATE_MAX_BYTES,
  encodeEntityUpdate,
  entitySubjectOf,
  type TallyUpdate,
} from '../../ingest/entity-update.ts';
import { beginMessage, endMessage, laneOf } from '../../ingest/event.ts';
import { type DeadLetter, type DeadLetterOrigin, publishDeadLetter } from './dead-letter.ts';
import { pieceOf } from './message-piece.ts';

const PUBLISH_TIMEOUT_MS = 10_000;
/** Distinguishes the publisher of these counts from all others; the rest of its id is the stream that they are about. */
const PUBLISHER = 0x5e7an << 48n;

/** One site's part of a message that cannot be stored: the positions of its events or updates, and the reason. */
export interface SiteValues {
  /** Undefined when the values do not say it. */
  readonly projectId: StoredId | undefined;
  readonly indexes: ReadonlySet<number>;
  readonly reason: string;
}

/** A message of a lane, and where its counts go. */
export interface SetAsideOrigin extends DeadLetterOrigin {
  /** The stream's name on the bus. */
  readonly streamName: string;
  readonly layout: LaneLayout;
  readonly nowMs: number;
}

/**
 * Keeps each site's part of a message as a dead letter, and counts it among the unrecorded events that the site can see. The counts are
 * numbered by the message, so a message that is read again counts once.
 */
export async function setAside(
  origin: SetAsideOrigin,
  { sequence, bytes }: Pick<DeadLetter, 'sequence' | 'bytes'>,
  sites: readonly SiteValues[],
): Promise<void> {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (const { indexes, reason } of sites) {
    const piece = pieceOf(message, (index) => indexes.has(index));
    await publishDeadLetter(origin, { sequence, bytes: piece }, reason);
  }
  const { bus, layout, stream, lane, nowMs } = origin;
  for (const [target, tallies] of talliesByLane(sites, { stream, nowMs, layout })) {
    const head = { publisherId: await publisherOf(origin), publisherSequence: sequence, sentAtMs: nowMs };
    const writer = new RowBinaryWriter(ENTITY_UPDATE_MAX_BYTES);
    beginMessage(writer, head);
    for (const tally of tallies) encodeEntityUpdate(writer, tally);
    endMessage(writer, tallies.length);
    const subject = entitySubjectOf(laneNameOf(target, layout));
    try {
      await bus.publish(subject, writer.take(), PUBLISH_TIMEOUT_MS);
    } catch (error) {
      // The letters are safe; a count for the site's owner is not worth a stop of the lane.
      origin.log.warn({ lane, stream, err: error }, 'what was set aside could not be counted for its site');
    }
  }
}

function talliesByLane(
  sites: readonly SiteValues[],
  { stream, nowMs, layout }: { readonly nowMs: number } & Pick<SetAsideOrigin, 'stream' | 'layout'>,
): Map<number, TallyUpdate[]> {
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const reason = `set-aside:${stream}`;
  const id = `${hourMs}:${reason}:`;
  const byLane = new Map<number, TallyUpdate[]>();
  for (const { projectId, indexes } of sites) {
    if (projectId === undefined) continue;
    const lane = laneOf(projectId, entityKeyOf('tally', id), layout);
    const head = { kind: 'tally', projectId, id, updateId: '', atMs: nowMs } as const;
    const tally: TallyUpdate = { ...head, hourMs, reason, name: '', count: indexes.size };
    byLane.set(lane, [...(byLane.get(lane) ?? []), tally]);
  }
  return byLane;
}

/** A stream that is created again numbers its messages from one, so its age is a part of the publisher. */
async function publisherOf({ bus, stream, lane, streamName }: SetAsideOrigin): Promise<bigint> {
  const bornS = BigInt(Math.floor((await bus.streamCreatedMs(streamName)) / 1000));
  return PUBLISHER | (BigInt(stream === 'events' ? 0 : 1) << 47n) | (BigInt(lane) << 32n) | bornS;
}
