import { HOUR_MS } from '../../infra/durations.ts';
import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, type Event, encodeEvent, endMessage } from '../../ingest/event.ts';
import { type Batch, openBatch } from '../fold/batch.ts';
import { expireCounters } from '../fold/counting.ts';
import { closeBatch, nextBatch } from '../fold/cut.ts';
import { deviceKeyOf } from '../fold/device-key.ts';
import { keepEnded } from '../fold/ended-sessions.ts';
import { EventView } from '../fold/event-view.ts';
import { evictQuietSites } from '../fold/evict-sites.ts';
import { expireEventIds, foldMessage } from '../fold/fold.ts';
import { answerHot } from '../fold/hot-answers.ts';
import { RecentFlushes } from '../fold/recent-flushes.ts';
import { type RestoredPart, Restorer, restoreMinutes, restoreSeen } from '../fold/restore.ts';
import { type Slice, WHOLE_LANE } from '../fold/slice.ts';
import { createSliceState, type SliceState, type StateLimits } from '../fold/slice-state.ts';
import { decodeHotAnswer, type HotQuestion } from '../hot.ts';
import { sessionBlocks } from './session-blocks.ts';
import { readRows, type StoredRow } from './stored-rows.ts';
import {
  newestRows,
  retainedSessions,
  storedEventIds,
  storedMinutes,
  storedSeen,
  storedVisitors,
} from './stored-state.ts';

export const TEST_LIMITS: StateLimits = {
  sessionRetainMs: HOUR_MS,
  sessionsMax: 100_000,
  eventIdsMax: 100_000,
  publishersMax: 100,
  minuteVisitorsMax: 100_000,
  sitesMax: 1_000,
  grantsMax: 1_000,
};

const BLOCK_ROWS = 3;
const MESSAGE_MAX_BYTES = 67_108_864;
/** Messages that reach the worker together. */
const GROUP_MESSAGES = 3;

/** One message of these events; without events, a tick at `sentAtMs`. */
export function messageOf(events: readonly Event[], publisherSequence: number, sentAtMs = 0): Buffer {
  const writer = new RowBinaryWriter(16_777_216);
  beginMessage(writer, { publisherId: 7n, publisherSequence, sentAtMs });
  for (const event of events) encodeEvent(writer, event);
  endMessage(writer, events.length);
  return writer.take();
}

/**
 * A lane and a store in memory: folds messages, flushes, and restarts from what was flushed, with the same
 * functions that the lane and the worker call. The store keeps rows as they were written.
 */
export class FoldRun {
  readonly limits: StateLimits;
  readonly events: StoredRow[] = [];
  readonly sessions: StoredRow[] = [];
  /** All flushed batches, also empty ones. */
  readonly batches: Batch[] = [];
  readonly messages: Buffer[] = [];
  /** Number of times that the fold stopped for sessions that had ended. */
  loads = 0;
  state: SliceState;
  #open: Batch = openBatch(1, 0);
  #flushNumber = 0;
  #recent = new RecentFlushes();
  #view = new EventView();
  #checkpoint = {
    sequence: 0,
    clockMs: 0,
    publishers: new Map<string, { sequence: number; atMs: number }>(),
  };

  constructor(limits: StateLimits = TEST_LIMITS, slice: Slice = WHOLE_LANE) {
    this.limits = limits;
    this.state = createSliceState(0, limits, slice);
  }

  /** Appends a message to the stream and folds it. */
  take(message: Buffer): void {
    this.messages.push(message);
    this.#fold(message, this.messages.length);
  }

  /** Moves the open batch to the store. */
  flush(): void {
    closeBatch(this.state, this.#open);
    this.#store();
  }

  /** Does the worker's work of once a minute of the lane's clock. */
  tick(): void {
    expireCounters(this.state);
    expireEventIds(this.state);
    evictQuietSites(this.state, [this.#open]);
  }

  #cutRows(): string[] {
    const batch = this.#open;
    closeBatch(this.state, batch);
    const rows = [
      ...readRows('events', batch.events.writer.bytes()),
      ...readRows('sessions', batch.sessions.writer.bytes()),
    ];
    return rows.map(({ bytes }) => bytes.toString('hex')).sort();
  }

  #store(): void {
    const batch = this.#open;
    this.batches.push(batch);
    this.#recent.keep(batch, this.state);
    this.events.push(...readRows('events', batch.events.writer.bytes()));
    this.sessions.push(...readRows('sessions', batch.sessions.writer.bytes()));
    this.#flushNumber =
      batch.events.ends.length + batch.sessions.ends.length === 0 ? this.#flushNumber : batch.flushNumber;
    this.#open =
      this.#flushNumber === batch.flushNumber
        ? nextBatch(batch, this.state.clockMs)
        : openBatch(batch.flushNumber, this.state.clockMs);
    const publishers = new Map(this.state.publishers);
    this.#checkpoint = { sequence: this.state.sequence, clockMs: this.state.clockMs, publishers };
  }

  /** Drops everything that is not in the store, restores, and reads on from the checkpoint. */
  crash(): void {
    this.#restore();
    const { sequence } = this.#checkpoint;
    this.messages.slice(sequence).forEach((message, index) => {
      this.#fold(message, sequence + index + 1);
    });
  }

  /**
   * Crashes while the open batch is flushed, and repeats that flush from the same messages. Returns the rows of both
   * attempts: the store may have taken some of the first.
   */
  tear(): { readonly first: readonly string[]; readonly again: readonly string[] } {
    const first = this.#cutRows();
    const { sequence } = this.state;
    this.#restore();
    for (let next = this.#checkpoint.sequence + 1; next <= sequence; next += 1) {
      this.#foldOnce(this.messages[next - 1] ?? Buffer.of(), next, () => {
        throw new Error('a repeated flush must not need another flush first');
      });
      // A repetition need not group the messages as the first attempt did.
      this.state.ended.clear();
    }
    const again = this.#cutRows();
    this.#store();
    return { first, again };
  }

  #restore(): void {
    this.state = createSliceState(0, this.limits, this.state.slice);
    this.#recent = new RecentFlushes();
    this.state.clockMs = this.#checkpoint.clockMs;
    this.state.sequence = this.#checkpoint.sequence;
    for (const [publisher, seen] of this.#checkpoint.publishers) this.state.publishers.set(publisher, seen);
    this.#open = openBatch(this.#flushNumber + 1, this.#checkpoint.clockMs);
    const fromMs = this.#checkpoint.clockMs - this.limits.sessionRetainMs;
    const bytes = sessionBlocks(retainedSessions(this.sessions, fromMs), BLOCK_ROWS);
    const restorer = new Restorer(this.state);
    takeInTwo(restorer, 'sessions', bytes);
    restoreMinutes(this.state, storedMinutes(this.events, this.sessions));
    takeInTwo(restorer, 'visitors', storedVisitors(this.events, this.sessions));
    restoreSeen(this.state, storedSeen(this.events));
    takeInTwo(restorer, 'event-ids', storedEventIds(this.events));
  }

  /** The last flush in the store. */
  get flushNumber(): number {
    return this.#flushNumber;
  }

  /** Removes rows from the store, of flushes up to this one, as a purge does. */
  remove(upTo: number, isMeant: (values: StoredRow['values']) => boolean): void {
    for (const rows of [this.events, this.sessions]) {
      const rest = rows.filter(({ values }) => Number(values.flushNumber) > upTo || !isMeant(values));
      rows.splice(0, rows.length, ...rest);
    }
  }

  /** Adds rows to the store as they are. */
  addRows(events: Uint8Array, sessions: Uint8Array): void {
    this.events.push(...readRows('events', events));
    this.sessions.push(...readRows('sessions', sessions));
  }

  /** Answers a question from memory. */
  ask(question: HotQuestion): ReturnType<typeof decodeHotAnswer> {
    const unflushed = {
      flushNumber: this.#flushNumber,
      recent: this.#recent,
      inFlight: undefined,
      open: this.#open,
    };
    return decodeHotAnswer(answerHot(this.state, unflushed, question, MESSAGE_MAX_BYTES));
  }

  #fold(message: Buffer, sequence: number): void {
    this.#foldOnce(message, sequence, () => this.flush());
    if (sequence % GROUP_MESSAGES === 0) this.state.ended.clear();
  }

  #foldOnce(message: Buffer, sequence: number, flush: () => void): void {
    for (;;) {
      const { missing, isErasing } = foldMessage(this.state, sequence, message, this.#open, this.#view);
      if (isErasing) flush();
      if (missing.length === 0) return;
      this.loads += 1;
      if (missing.some(({ projectId, deviceId }) => this.#open.evicted.has(deviceKeyOf(projectId, deviceId))))
        flush();
      keepEnded(this.state, missing, newestRows(this.sessions, missing));
    }
  }
}

/** In two pieces that split a row, as an answer of the store may be. */
function takeInTwo(restorer: Restorer, part: RestoredPart, rows: Buffer): void {
  const half = Math.floor(rows.length / 2);
  for (const piece of [rows.subarray(0, half), rows.subarray(half)])
    if (piece.length > 0) restorer.take(part, piece);
  restorer.take(part, Buffer.alloc(0));
}
