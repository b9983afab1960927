import { HashedMap } from '../../infra/cache/hashed-map.ts';
import {
  IN_FLIGHT_MAX_MS,
  MARK_AGE_MAX_MS,
  MARK_AHEAD_MAX_MS,
  type OpenSessionsChanges,
  type OpenSessionsPiece,
  type OpenSessionsQuestion,
  STANDING_DOUBTFUL,
  STANDING_NONE,
  slotOf,
} from '../open-sessions.ts';

/** Changes that wait for the end of a load; with more, the load begins again. */
const WAITING_MAX = 256;

/** The reason why the list does not show the session of a device. */
export type UnknownReason = 'not-loaded' | 'stale' | 'incomplete' | 'doubtful' | 'boundary';

/** A list that is being loaded. */
interface PartialList {
  readonly incarnation: number;
  readonly number: number;
  readonly pieces: number;
  readonly entries: HashedMap;
  nextPiece: number;
  overflowed: boolean;
}

/**
 * The open sessions of one owner, from the messages received. It knows no bus: changes and pieces are passed in, and it
 * decides when to ask for pieces.
 */
export class OpenSessionsReplica {
  readonly #devicesMax: number;
  #entries: HashedMap;
  #incarnation = 0;
  #number = 0;
  #markMs = 0;
  #complete = false;
  #loaded = false;
  /** A device found no room, and stays unknown until the list is loaded again. */
  #overflowed = false;
  #partial: PartialList | undefined;
  #waiting: OpenSessionsChanges[] = [];

  /** @param devicesMax maximum number of devices; further ones stay unknown */
  constructor(devicesMax: number) {
    this.#devicesMax = devicesMax;
    this.#entries = new HashedMap(devicesMax);
  }

  /** The devices that are listed. */
  get size(): number {
    return this.#entries.size;
  }

  /** The owner's time of the newest mark; undefined while the list is not loaded. */
  get markMs(): number | undefined {
    return this.#loaded ? this.#markMs : undefined;
  }

  /**
   * The standing of a device, by its hash, for an event of `nowMs`; or the reason why it is unknown. `boundary`: the
   * device has no session here, but one may be opened elsewhere under the id of the slot before or after.
   */
  find(high: number, low: number, nowMs: number): number | UnknownReason {
    if (!this.#loaded) return 'not-loaded';
    const ageMs = nowMs - this.#markMs;
    if (ageMs > MARK_AGE_MAX_MS || ageMs < -MARK_AHEAD_MAX_MS) return 'stale';
    const standing = this.#entries.get(high, low);
    if (standing === STANDING_DOUBTFUL) return 'doubtful';
    if (standing !== STANDING_NONE) return standing;
    if (!this.#complete || this.#overflowed) return 'incomplete';
    const slot = slotOf(nowMs);
    const isNear =
      slotOf(this.#markMs) !== slot || slotOf(nowMs + IN_FLIGHT_MAX_MS + MARK_AHEAD_MAX_MS) !== slot;
    return isNear ? 'boundary' : STANDING_NONE;
  }

  /** Takes changes. False: the list has to be loaded. */
  take(changes: OpenSessionsChanges): boolean {
    if (this.#loaded && changes.incarnation === this.#incarnation) {
      if (changes.number <= this.#number) return true;
      if (changes.number === this.#number + 1) {
        this.#apply(changes);
        return true;
      }
    }
    if (this.#loaded) this.drop();
    this.#waiting.push(changes);
    if (this.#waiting.length > WAITING_MAX) {
      this.#waiting = [];
      this.#partial = undefined;
    }
    return false;
  }

  /** The piece to ask for next. */
  question(): OpenSessionsQuestion {
    const { incarnation, number, nextPiece } = this.#partial ?? { incarnation: 0, number: 0, nextPiece: 0 };
    return { incarnation, number, piece: nextPiece };
  }

  /**
   * Takes the answer to the question; with the last piece the list is loaded, and changes that came meanwhile are applied. False: the
   * answer does not continue the pieces so far, and the load begins again.
   */
  takePiece(piece: OpenSessionsPiece): boolean {
    if (piece.piece === 0) this.#begin(piece);
    const partial = this.#partial;
    if (
      partial === undefined ||
      partial.incarnation !== piece.incarnation ||
      partial.number !== piece.number ||
      partial.nextPiece !== piece.piece
    ) {
      this.#partial = undefined;
      return false;
    }
    let overflowed = false;
    piece.entries.visit((high, low, standing) => {
      if (!partial.entries.set(high, low, standing)) overflowed = true;
    });
    partial.overflowed ||= overflowed;
    partial.nextPiece += 1;
    if (partial.nextPiece < partial.pieces) return true;
    this.#partial = undefined;
    this.#entries = partial.entries;
    this.#incarnation = piece.incarnation;
    this.#number = piece.number;
    this.#markMs = piece.markMs;
    this.#complete = piece.complete;
    this.#overflowed = partial.overflowed;
    this.#loaded = true;
    const waiting = this.#waiting.splice(0).filter(({ incarnation }) => incarnation === piece.incarnation);
    return waiting.every((changes) => this.take(changes));
  }

  /** Drops the list; nothing is known until it is loaded again. */
  drop(): void {
    this.#loaded = false;
    this.#partial = undefined;
    this.#waiting = [];
    this.#entries = new HashedMap(this.#devicesMax);
  }

  #begin({ incarnation, number, pieces, entries }: OpenSessionsPiece): void {
    const list = new HashedMap(this.#devicesMax, entries.count * pieces);
    this.#partial = { incarnation, number, pieces, entries: list, nextPiece: 0, overflowed: false };
  }

  #apply({ number, markMs, complete, entries }: OpenSessionsChanges): void {
    this.#number = number;
    this.#markMs = markMs;
    this.#complete = complete;
    entries.visit((high, low, standing) => {
      if (standing === STANDING_NONE) this.#entries.delete(high, low);
      else if (!this.#entries.set(high, low, standing)) this.#overflowed = true;
    });
  }
}
