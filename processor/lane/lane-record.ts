import { z } from 'zod';
import { storedIdSchema } from '../../infra/accounts/ids.ts';
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

/** Division of a lane's state: the number of slices, and the number of device partitions dealt to them. */
export interface Division {
  readonly slices: number;
  readonly partitions: number;
}

/** Progress of a lane: everything up to `sequence` is in the store, in flushes up to `flushNumber`. */
export interface Checkpoint {
  readonly flushNumber: number;
  readonly sequence: number;
  /** The lane's clock at `sequence`. */
  readonly clockMs: number;
  /** The last message of each publisher up to `sequence`: its number, and the clock when it was folded. */
  readonly publishers: readonly (readonly [publisher: string, sequence: number, atMs: number])[];
  /** The last erase commands, each with the last flush that can hold rows from before it. Later flushes hold no erased data. */
  readonly forgettings: readonly (readonly [id: string, flushNumber: number])[];
}

/** Promises of a lane's owner. Written only with compare-and-set, so that a fenced owner learns of it before it writes anything else. */
export interface LaneRecord {
  readonly version: 1;
  readonly owner: string;
  /** Random, new with each take-over: distinguishes a process from an earlier one of the same name. */
  readonly incarnation: string;
  /**
   * End of the lease by the owner's own clock, in milliseconds since 1970; 0: it gave the lane up. Other processors rely only on the
   * revisions of the record (`infra/bus/lease-watch.ts`).
   */
  readonly leaseUntilMs: number;
  readonly checkpoint: Checkpoint;
  /** The flush that was begun and is not known to be complete, as the checkpoint that it leads to. */
  readonly intent: Checkpoint | null;
  /**
   * Division of the state when the flush began. A repeated flush needs the same division to write its rows in the same order, on which the
   * feeds depend.
   */
  readonly division: Division;
  /** Nothing is published to the lane any more, and everything of it is in the store. */
  readonly isClosed: boolean;
  /** Events that are not folded but kept as dead letters; undefined while there are none. */
  readonly setAside?: readonly SetAside[] | undefined;
  /** The store refuses the declared flush: before anything else it is completed without rows (`refused-flush.ts`). */
  readonly isRefused?: true | undefined;
  /**
   * Set while the declared flush repeats the messages of refused flushes: the first of these. The feeds may have events of them, which
   * count as this flush's.
   */
  readonly fedFrom?: number | undefined;
  /** A restore that was begun: rows that are put under the lane before anything else happens to it. */
  readonly restore?: BegunRestore | undefined;
  /** The backup whose rows the lane has adopted, as long as its control records may be missing. */
  readonly restored?: string | undefined;
  /** Set when the service has grown since its first start. */
  readonly grown?: GrownLane | undefined;
  /** The processor for which the last owner gave the lane up: the others wait for a moment before they take it. */
  readonly offeredTo?: string | undefined;
}

/** A lane's place in a service that has grown. */
export interface GrownLane {
  /** Number of lanes now. A processor that counts another number does not take the lane. */
  readonly lanes: number;
  /**
   * The lanes that had its devices before, each with its last flush of that time. A continuing lane is one of them: it has lost some of its
   * devices to other lanes.
   */
  readonly before: readonly (readonly [lane: number, flushNumber: number])[];
}

/** Rows of a backup that replace the store's, and the position from which the lane continues then. */
export interface BegunRestore {
  /** Names the tables that hold the rows. */
  readonly attempt: string;
  readonly backupId: string;
  readonly flushNumber: number;
  readonly clockMs: number;
  /**
   * Number of lanes that adopt the rows together (`joint-restore.ts`); undefined: only this one.
   */
  readonly lanes?: number | undefined;
  /** See `BackedLane`. */
  readonly before?: GrownLane['before'] | undefined;
}

const VERSION = 1;
/** The state in one piece. */
export const UNDIVIDED: Division = { slices: 1, partitions: 1 };

const checkpoint = z.strictObject({
  flushNumber: z.int().min(0),
  sequence: z.int().min(0),
  clockMs: z.number().min(0),
  publishers: z.array(z.tuple([z.string(), z.number(), z.number()]).readonly()).readonly(),
  forgettings: z.array(z.tuple([z.string(), z.number()]).readonly()).readonly(),
});
const before = z.array(z.tuple([z.int().min(0), z.int().min(0)]).readonly()).readonly();
const laneRecord = z.strictObject({
  version: z.literal(VERSION),
  owner: z.string(),
  incarnation: z.string(),
  leaseUntilMs: z.number(),
  checkpoint,
  intent: checkpoint.nullable(),
  division: z.strictObject({ slices: z.int().min(1), partitions: z.int().min(1) }),
  isClosed: z.boolean(),
  setAside: z
    .array(
      z.strictObject({
        projectId: storedIdSchema,
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

/** The record of a lane without an owner, whose rows up to this checkpoint are in the store. */
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
  return decodeJsonContract(bytes, { name: 'lane record', versions: [VERSION], schema: laneRecord });
}
