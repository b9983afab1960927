import type { DecodeFailure } from '../../infra/bus/decode-error.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { SiteHour } from '../fold/finalized.ts';
import type { PartitionLimits } from '../fold/partition.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { EndedByPlace, EndedQuestion } from '../fold/session-answers.ts';
import type { HotQuestion } from '../hot.ts';
import type { Checkpoint } from './lane-record.ts';

/** Opens a partition at a checkpoint, without sessions yet. */
export interface OpenTask {
  readonly kind: 'open';
  readonly partition: number;
  readonly checkpoint: Checkpoint;
  readonly limits: PartitionLimits;
  readonly messageMaxBytes: number;
}

/** Asks which session events will have. */
export interface SessionsTask {
  readonly kind: 'sessions';
  readonly partition: number;
  readonly questions: Uint8Array;
  readonly nowMs: number;
  /** Everything that the bus had when the question came is folded. */
  readonly caughtUp: boolean;
  /** Ended sessions, from the store and the partition together; undefined when the store was not asked. */
  readonly ended: EndedByPlace | undefined;
}

/** A task of a thread, for one of its partitions. */
export type WorkerTask =
  | OpenTask
  | {
      /** Rows of the store, in pieces of any length; no bytes end a part. */
      readonly kind: 'restore';
      readonly partition: number;
      readonly part: RestoredPart;
      readonly bytes: Uint8Array;
    }
  | {
      readonly kind: 'restore-minutes';
      readonly partition: number;
      readonly minutes: readonly StoredMinute[];
    }
  | { readonly kind: 'restore-seen'; readonly partition: number; readonly seen: readonly StoredSeen[] }
  | {
      /** The stored states of sessions that a fold stopped for. */
      readonly kind: 'ended';
      readonly partition: number;
      readonly named: readonly NamedSession[];
      readonly rows: Uint8Array;
    }
  | {
      readonly kind: 'fold';
      readonly partition: number;
      /** Messages in a row, without anything between them. */
      readonly bytes: Uint8Array;
      /** Sequence and length of each. */
      readonly messages: readonly (readonly [sequence: number, bytes: number])[];
    }
  | { readonly kind: 'cut'; readonly partition: number }
  | { readonly kind: 'flushed'; readonly partition: number }
  | { readonly kind: 'hot'; readonly partition: number; readonly question: HotQuestion }
  | SessionsTask
  | { readonly kind: 'close'; readonly partition: number };

/** Result of `sessions`: the answers, or what is to be done first. */
export type SessionsReport =
  /** The questions cannot be read. As a value, since an error of the thread would arrive without its class. */
  | { readonly kind: 'unreadable'; readonly message: string; readonly reason: DecodeFailure }
  | { readonly kind: 'answers'; readonly answers: Uint8Array }
  /** They depend on what is not folded yet. */
  | { readonly kind: 'behind' }
  /** They depend on evicted sessions; `unflushed`: some of them were evicted in a batch that is not in the store. */
  | { readonly kind: 'ended'; readonly questions: readonly EndedQuestion[]; readonly unflushed: boolean };

/** Result of a `fold`: what happened, and how full the open batch is. */
export interface FoldReport {
  /** Messages that are folded; fewer than were given when sessions are `missing`. */
  readonly messages: number;
  /** Sessions to load before the next message can be folded, and some that later ones will name. */
  readonly missing: readonly NamedSession[];
  /** The next message names a device with an evicted session that is not in the store yet: a flush comes first. */
  readonly unflushed: boolean;
  /** The last folded message was an erase command: a flush ends behind it, before the next message is folded. */
  readonly isErasing: boolean;
  readonly events: number;
  readonly repeats: number;
  /** Messages that could not be read. */
  readonly rejected: readonly { readonly sequence: number; readonly reason: string }[];
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
  /** Hours that it changes although they may be finalized. */
  readonly lateHours: readonly SiteHour[];
}
