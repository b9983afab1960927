import { z } from 'zod';
import type { BucketOptions } from '../../infra/bus/bus.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';

/** The KV bucket that has one record for each partition. */
export const LANES_BUCKET = 'lanes';
/** The records name no person and no secret, and are written several times a second. */
export const LANES_BUCKET_OPTIONS: BucketOptions = { storage: 'file', erases: false };

export function laneKeyOf(partition: number): string {
  return `partition-${partition}`;
}

/** How far a partition is: everything up to `sequence` is in the store, in flushes up to `flushNumber`. */
export interface Checkpoint {
  readonly flushNumber: number;
  readonly sequence: number;
  /** The partition's clock at `sequence`. */
  readonly clockMs: number;
  /** The last message of each publisher up to `sequence`: its number, and the clock when it was folded. */
  readonly publishers: readonly (readonly [publisher: string, sequence: number, atMs: number])[];
  /**
   * The last erase commands, each with the last flush that can hold rows from before it. Later flushes hold nothing of
   * what was erased.
   */
  readonly forgettings: readonly (readonly [id: string, flushNumber: number])[];
}

/**
 * What a partition's owner has promised. Written with compare-and-set only, so that a fenced owner learns of it before
 * it writes anything else.
 */
export interface LaneRecord {
  readonly version: 1;
  readonly owner: string;
  /** Random, new with each take-over: distinguishes a process from an earlier one of the same name. */
  readonly incarnation: string;
  /** Until then no other process may take the partition over, in milliseconds since 1970. */
  readonly leaseUntilMs: number;
  readonly checkpoint: Checkpoint;
  /** The flush that was begun and is not known to be complete, as the checkpoint that it leads to. */
  readonly intent: Checkpoint | null;
}

const checkpoint = z.strictObject({
  flushNumber: z.int().min(0),
  sequence: z.int().min(0),
  clockMs: z.number().min(0),
  publishers: z.array(z.tuple([z.string(), z.number(), z.number()]).readonly()).readonly(),
  forgettings: z
    .array(z.tuple([z.string(), z.number()]).readonly())
    .readonly()
    .default([]),
});
const laneRecord = z.strictObject({
  version: z.literal(1),
  owner: z.string(),
  incarnation: z.string(),
  leaseUntilMs: z.number(),
  checkpoint,
  intent: checkpoint.nullable(),
});

export const FIRST_CHECKPOINT: Checkpoint = {
  flushNumber: 0,
  sequence: 0,
  clockMs: 0,
  publishers: [],
  forgettings: [],
};

export function encodeLaneRecord(record: LaneRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

/** @throws {DecodeError} */
export function decodeLaneRecord(bytes: Uint8Array): LaneRecord {
  return decodeJsonContract(bytes, { name: 'lane record', versions: [1], schema: laneRecord });
}
