import type { HotQuestion } from './hot.ts';
import type { Checkpoint } from './lane-record.ts';
import type { PartitionLimits } from './partition.ts';
import type { StoredEventId, StoredMinute } from './restore.ts';

/** Opens a partition at a checkpoint, without sessions yet. */
export interface OpenTask {
  readonly kind: 'open';
  readonly partition: number;
  readonly checkpoint: Checkpoint;
  readonly limits: PartitionLimits;
  readonly messageMaxBytes: number;
}

/** What a thread is asked to do with one of its partitions. */
export type WorkerTask =
  | OpenTask
  | { readonly kind: 'restore-sessions'; readonly partition: number; readonly bytes: Uint8Array }
  | { readonly kind: 'restore-event-ids'; readonly partition: number; readonly ids: readonly StoredEventId[] }
  | {
      readonly kind: 'restore-minutes';
      readonly partition: number;
      readonly minutes: readonly StoredMinute[];
    }
  | {
      readonly kind: 'fold';
      readonly partition: number;
      /** Messages one behind the other. */
      readonly bytes: Uint8Array;
      /** Sequence and length of each. */
      readonly messages: readonly (readonly [sequence: number, bytes: number])[];
    }
  | { readonly kind: 'cut'; readonly partition: number }
  | { readonly kind: 'flushed'; readonly partition: number }
  | { readonly kind: 'hot'; readonly partition: number; readonly question: HotQuestion }
  | {
      readonly kind: 'sessions';
      readonly partition: number;
      readonly questions: Uint8Array;
      readonly nowMs: number;
      /** Everything that the bus had when the question came is folded. */
      readonly caughtUp: boolean;
    }
  | { readonly kind: 'close'; readonly partition: number };

/** Result of a `fold`: what happened, and how full the open batch is. */
export interface FoldReport {
  readonly events: number;
  readonly repeats: number;
  /** Messages that could not be read. */
  readonly refused: readonly { readonly sequence: number; readonly reason: string }[];
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly sessions: number;
  readonly clockMs: number;
}

/** Result of a `cut`: the rows of one flush, in memory that both threads can read. */
export interface CutBatch {
  readonly checkpoint: Checkpoint;
  /** False: nothing for the store, only the checkpoint moves on (and `checkpoint.flushNumber` does not). */
  readonly hasRows: boolean;
  readonly events: SharedArrayBuffer;
  readonly sessions: SharedArrayBuffer;
  readonly eventRows: number;
  readonly sessionRows: number;
}
