import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { decodeLaneRecord, type LaneRecord, laneKeyOf } from './lane-record.ts';

/** The progress of all lanes, from their checkpoints. */
export interface LaneProgress {
  /** The last flush that is complete in the store, by lane. */
  readonly flushed: readonly number[];
  /** The smallest clock of a lane, in milliseconds since 1970. */
  readonly clockMs: number;
}

/** Reads how far `lanes` lanes are. */
export async function laneProgress(records: KeyedBytes, lanes: number): Promise<LaneProgress> {
  const flushed: number[] = [];
  let clockMs = Number.POSITIVE_INFINITY;
  for (let lane = 0; lane < lanes; lane += 1) {
    const checkpoint = (await recordAt(records, laneKeyOf(lane)))?.checkpoint;
    flushed.push(checkpoint?.flushNumber ?? 0);
    clockMs = Math.min(clockMs, checkpoint?.clockMs ?? 0);
  }
  return { flushed, clockMs };
}

async function recordAt(records: KeyedBytes, key: string): Promise<LaneRecord | undefined> {
  const stored = await records.get(key);
  return stored?.bytes === undefined ? undefined : decodeLaneRecord(stored.bytes);
}
