import type { StoredId } from '../../infra/accounts/ids.ts';
import type { DecodeFailure } from '../../infra/bus/decode-error.ts';
import type { NamedSession } from '../fold/ended-sessions.ts';
import type { SiteHour } from '../fold/finalized.ts';
import type { LiveQuestion } from '../fold/hot-answers.ts';
import type { RestoredPart, StoredMinute, StoredSeen } from '../fold/restore.ts';
import type { RowsBySite } from '../fold/rows-by-site.ts';
import type { EndedByPlace, EndedQuestion } from '../fold/session-answers.ts';
import type { SetAside } from '../fold/set-aside.ts';
import type { Slice } from '../fold/slice.ts';
import type { StateLimits } from '../fold/slice-state.ts';
import type { HotQuestion } from '../hot.ts';
import type { Checkpoint } from './lane-record.ts';

/** Opens a slice of a lane at a checkpoint, without sessions yet. */
export interface OpenTask {
  readonly kind: 'open';
  readonly lane: number;
  readonly slice: Slice;
  readonly checkpoint: Checkpoint;
  readonly setAside: readonly SetAside[];
  /** The caps of this slice's memory. */
  readonly limits: StateLimits;
  readonly messageMaxBytes: number;
}

/** Messages in a row. */
export interface PackedMessages {
  /** One after the other, without anything between them. */
  readonly bytes: Uint8Array;
  /** Sequence and length of each. */
  readonly messages: readonly (readonly [sequence: number, bytes: number])[];
}

/**
 * The lane's lag behind the bus when it answers a question. `short`: the lane folds the rest within the time of a question. `long`: it is
 * more, so no question waits for it.
 */
export type Lag = 'none' | 'short' | 'long';

/** Asks which session events will have. */
export interface SessionsTask {
  readonly kind: 'sessions';
  readonly slice: number;
  readonly questions: Uint8Array;
  readonly nowMs: number;
  readonly lag: Lag;
  /** Ended sessions, from the store and from memory together; undefined when the store was not asked. */
  readonly ended: EndedByPlace | undefined;
}

/** More than the slices that a lane has. */
const SLICES_MAX = 4_096;

/** A thread's key of a slice: a process may own several lanes, whose slices are on the same threads. */
export function placeOf(lane: number, slice: number): number {
  return lane * SLICES_MAX + slice;
}

/** A task of a thread. All but `open` are for the slice of this place. */
export type WorkerTask =
  | OpenTask
  | {
      /** Rows of the store, in pieces of any length; no bytes end a part. */
      readonly kind: 'restore';
      readonly slice: number;
      readonly part: RestoredPart;
      readonly bytes: Uint8Array;
    }
  | { readonly kind: 'restore-minutes'; readonly slice: number; readonly minutes: readonly StoredMinute[] }
  | { readonly kind: 'restore-seen'; readonly slice: number; readonly seen: readonly StoredSeen[] }
  /** Asks which sessions have to be loaded before the first of the messages can be folded. */
  | ({ readonly kind: 'missing'; readonly slice: number } & PackedMessages)
  | {
      /** The stored states of sessions that were missing. */
      readonly kind: 'ended';
      readonly slice: number;
      readonly named: readonly NamedSession[];
      readonly rows: Uint8Array;
    }
  | ({
      readonly kind: 'fold';
      readonly slice: number;
      /** Later messages may name the same ended sessions, so the loaded ones stay in memory. */
      readonly keepsEnded: boolean;
    } & PackedMessages)
  | { readonly kind: 'cut'; readonly slice: number; readonly hasRows: boolean }
  | { readonly kind: 'flushed'; readonly slice: number }
  /** Asks for the rows of the flush that was cut last, by site. */
  | { readonly kind: 'rows-by-site'; readonly slice: number }
  | { readonly kind: 'hot'; readonly slice: number; readonly question: HotQuestion }
  | SessionsTask
  /** Asks how many visitors are live. */
  | ({ readonly kind: 'live'; readonly slice: number } & LiveQuestion)
  /** Asks for changes in the open sessions to send to collectors; without a time, for the whole list. */
  | { readonly kind: 'open-sessions'; readonly slice: number; readonly nowMs: number | undefined }
  | { readonly kind: 'close'; readonly slice: number };

/** Result of `sessions`: the answers, or the work to be done first. */
export type SessionsReport =
  /** The questions cannot be read. As a value, since an error of the thread would arrive without its class. */
  | { readonly kind: 'unreadable'; readonly message: string; readonly reason: DecodeFailure }
  | { readonly kind: 'answers'; readonly answers: Uint8Array }
  /** They depend on events that are not folded yet. */
  | { readonly kind: 'behind' }
  /** They depend on evicted sessions; `unflushed`: some of them were evicted in a batch that is not in the store. */
  | { readonly kind: 'ended'; readonly questions: readonly EndedQuestion[]; readonly unflushed: boolean };

/** Result of `missing`. */
export interface MissingReport {
  /** Sessions to load before the first message can be folded, and some that later ones will name. */
  readonly missing: readonly NamedSession[];
  /** The first message names a device with an evicted session that is not in the store yet: a flush comes first. */
  readonly unflushed: boolean;
}

/** Data of one site cannot be folded or encoded. The slice does nothing more until it is opened again. */
export interface SiteFailure {
  readonly projectId: StoredId;
  /** The message at which it showed, by its sequence. */
  readonly sequence: number;
  /** See `SiteError`. */
  readonly isInSession: boolean;
  readonly reason: string;
}

/** Result of a `fold`: what happened, and how full the open batch is. */
export interface FoldReport {
  /** A value, since an error of the thread would arrive without its class. */
  readonly failure: SiteFailure | undefined;
  /** Messages that are folded; fewer than were given when one was an erase command. */
  readonly messages: number;
  /** The last folded message was an erase command: a flush ends after it, before the next message is folded. */
  readonly isErasing: boolean;
  readonly events: number;
  readonly repeats: number;
  /** Amounts that the sum of their session had no room for. */
  readonly saturatedSums: number;
  /** Messages that could not be read. */
  readonly rejected: readonly { readonly sequence: number; readonly reason: string }[];
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly sessions: number;
  readonly clockMs: number;
}

/** Result of a `cut`: `nothing` when not even a message was folded since the last time. */
export type CutReport =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'rows'; readonly cut: CutSlice }
  | { readonly kind: 'failed'; readonly failure: SiteFailure };

/** Result of `rows-by-site`. */
export interface SiteRowsReport {
  readonly events: RowsBySite;
  readonly sessions: RowsBySite;
}

/** Rows of one slice in a flush, in memory that both threads can read. */
export interface CutSlice {
  readonly checkpoint: Checkpoint;
  readonly events: Uint8Array;
  readonly sessions: Uint8Array;
  readonly eventRows: number;
  readonly sessionRows: number;
  /** Hours that it changes although they may be finalized. */
  readonly lateHours: readonly SiteHour[];
}
