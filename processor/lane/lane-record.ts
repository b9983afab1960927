import { z } from 'zod';
import type { BucketOptions } from '../../infra/bus/bus.ts';
import { decodeJsonContract } from '../../infra/bus/json-contract.ts';
import type { SetAside } from '../fold/set-aside.ts';

/** The KV bucket that has one record for each lane. */
export const LANES_BUCKET = 'lanes';
/** The records name no person and no secret, and are written several times a second. */
export const LANES_BUCKET_OPTIONS: BucketOptions = { storage: 'file', erases: false };

export function laneKeyOf(lane: number): string {
  return `lane-${lane}`;
}

/** How a lane's state is divided: into so many shards, to which the partitions of its devices are dealt. */
export interface Division {
  readonly shards: number;
  readonly partitions: number;
}

/** How far a lane is: everything up to `sequence` is in the store, in flushes up to `flushNumber`. */
export interface Checkpoint {
  readonly flushNumber: number;
  readonly sequence: number;
  /** The lane's clock at `sequence`. */
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
 * What a lane's owner has promised. Written with compare-and-set only, so that a fenced owner learns of it before
 * it writes anything else.
 */
export interface LaneRecord {
  readonly version: 2;
  readonly owner: string;
  /** Random, new with each take-over: distinguishes a process from an earlier one of the same name. */
  readonly incarnation: string;
  /**
   * Until when the owner means to keep the lane, by its own clock, in milliseconds since 1970; 0: it gave the lane up. Others go by
   * the revisions of the record alone (`infra/bus/lease-watch.ts`).
   */
  readonly leaseUntilMs: number;
  readonly checkpoint: Checkpoint;
  /** The flush that was begun and is not known to be complete, as the checkpoint that it leads to. */
  readonly intent: Checkpoint | null;
  /**
   * How the state was divided when the flush began. A repeated flush writes its rows in the same order, which the feeds go
   * by, so it needs the same division.
   */
  readonly division: Division;
  /** Nothing is published to the lane any more, and everything of it is in the store. */
  readonly isClosed: boolean;
  /** Events that are not folded but kept as dead letters; undefined while there are none. */
  readonly setAside?: readonly SetAside[] | undefined;
  /** The store refuses the declared flush: before anything else it is completed without rows (`refused-flush.ts`). */
  readonly isRefused?: true | undefined;
  /**
   * Set while the declared flush repeats the messages of refused ones: the first of these. What a feed has of them it has of this flush. A
   * release that does not know refused flushes cannot read either, and so does not take the lane meanwhile.
   */
  readonly fedFrom?: number | undefined;
  /** A restore that was begun: rows that are put under the lane before anything else happens to it. */
  readonly restore?: BegunRestore | undefined;
  /** The backup whose rows the lane has adopted, as long as its control records may be missing. */
  readonly restored?: string | undefined;
  /** Set when the service has grown since its first start. */
  readonly grown?: GrownLane | undefined;
  /** The processor for which the last owner gave the lane up: others leave it alone for a moment. */
  readonly offeredTo?: string | undefined;
}

/** What a lane is in a service that has grown. */
export interface GrownLane {
  /** How many lanes there are now. Who counts otherwise does not take the lane. */
  readonly lanes: number;
  /**
   * The lanes that had its devices before, each with its last flush of that time. A lane that goes on is one of them: it had devices that
   * go to others now.
   */
  readonly before: readonly (readonly [lane: number, flushNumber: number])[];
}

/** Rows of a backup that take the place of the store's, and where the lane goes on then. */
export interface BegunRestore {
  /** Names the tables that hold the rows. */
  readonly attempt: string;
  readonly backupId: string;
  readonly flushNumber: number;
  readonly clockMs: number;
  /**
   * How many lanes adopt the rows together (`joint-restore.ts`); undefined: this one alone. A release that knows one lane alone cannot read it,
   * and so does not take the lane meanwhile.
   */
  readonly lanes?: number | undefined;
  /** See `BackedLane`. */
  readonly before?: GrownLane['before'] | undefined;
}

const VERSION = 2;
/** The state in one piece, as it always was in version 1. */
export const UNDIVIDED: Division = { shards: 1, partitions: 1 };

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
const before = z.array(z.tuple([z.int().min(0), z.int().min(0)]).readonly()).readonly();
const laneRecord = z.strictObject({
  version: z.union([z.literal(1), z.literal(VERSION)]).transform((): 2 => VERSION),
  owner: z.string(),
  incarnation: z.string(),
  leaseUntilMs: z.number(),
  checkpoint,
  intent: checkpoint.nullable(),
  division: z.strictObject({ shards: z.int().min(1), partitions: z.int().min(1) }).default(UNDIVIDED),
  isClosed: z.boolean().default(false),
  setAside: z
    .array(
      z.strictObject({
        projectId: z.string(),
        first: z.int().min(0),
        last: z.int().min(0),
        reason: z.string(),
        atMs: z.number(),
        withoutEnds: z.literal(true).optional(),
      }),
    )
    .readonly()
    .optional(),
  isRefused: z.literal(true).optional(),
  fedFrom: z.int().min(1).optional(),
  restore: z
    .strictObject({
      attempt: z.string(),
      backupId: z.string(),
      flushNumber: z.int().min(0),
      clockMs: z.number().min(0),
      lanes: z.int().min(2).optional(),
      before: before.optional(),
    })
    .optional(),
  restored: z.string().optional(),
  grown: z.strictObject({ lanes: z.int().min(1), before }).optional(),
  offeredTo: z.string().optional(),
});

export const FIRST_CHECKPOINT: Checkpoint = {
  flushNumber: 0,
  sequence: 0,
  clockMs: 0,
  publishers: [],
  forgettings: [],
};

/** The record of a lane that nobody owns, whose rows up to this checkpoint are in the store. */
export function freeLaneRecord(checkpoint: Checkpoint, grown?: GrownLane): LaneRecord {
  const owner = { owner: '', incarnation: '', leaseUntilMs: 0 };
  return {
    version: VERSION,
    ...owner,
    checkpoint,
    intent: null,
    division: UNDIVIDED,
    isClosed: false,
    grown,
  };
}

export function encodeLaneRecord(record: LaneRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

/** @throws {DecodeError} */
export function decodeLaneRecord(bytes: Uint8Array): LaneRecord {
  return decodeJsonContract(bytes, { name: 'lane record', versions: [1, VERSION], schema: laneRecord });
}
