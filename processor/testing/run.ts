import { RowBinaryWriter } from '../../infra/store/row-binary.ts';
import { beginMessage, type Event, encodeEvent, endMessage } from '../../ingest/event.ts';
import { type Batch, openBatch } from '../fold/batch.ts';
import { expireCounters } from '../fold/counting.ts';
import { closeBatch, nextBatch } from '../fold/cut.ts';
import { deviceKeyOf } from '../fold/device-key.ts';
import { keepEnded, type NamedSession } from '../fold/ended-sessions.ts';
import { EventView } from '../fold/event-view.ts';
import { evictQuietSites } from '../fold/evict-sites.ts';
import { expireEventIds, foldMessage } from '../fold/fold.ts';
import { answerHot } from '../fold/hot-answers.ts';
import {
  type RestoredPart,
  Restorer,
  restoreMinutes,
  restoreSeen,
  type StoredMinute,
} from '../fold/restore.ts';
import { type Shard, WHOLE_LANE } from '../fold/shard.ts';
import { createShardState, type ShardState, type StateLimits } from '../fold/shard-state.ts';
import { decodeHotAnswer, type HotQuestion } from '../hot.ts';
import { sessionBlocks } from './session-blocks.ts';
import { readRows, type StoredRow } from './stored-rows.ts';

export const TEST_LIMITS: StateLimits = {
  sessionRetainMs: 3_600_000,
  sessionsMax: 100_000,
  eventIdsMax: 100_000,
  publishersMax: 100,
  minuteVisitorsMax: 100_000,
  sitesMax: 1_000,
  grantsMax: 1_000,
};

const BLOCK_ROWS = 3;
const MESSAGE_MAX_BYTES = 67_108_864;
const NO_SESSION = '0'.repeat(32);
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
  /** How often the fold stopped for sessions that had ended. */
  loads = 0;
  state: ShardState;
  #open: Batch = openBatch(1, 0);
  #flushNumber = 0;
  #view = new EventView();
  #checkpoint = {
    sequence: 0,
    clockMs: 0,
    publishers: new Map<string, { sequence: number; atMs: number }>(),
  };

  constructor(limits: StateLimits = TEST_LIMITS, shard: Shard = WHOLE_LANE) {
    this.limits = limits;
    this.state = createShardState(0, limits, shard);
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

  /** Does what the worker does once a minute of the lane's clock. */
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
    this.state = createShardState(0, this.limits, this.state.shard);
    this.state.clockMs = this.#checkpoint.clockMs;
    this.state.sequence = this.#checkpoint.sequence;
    for (const [publisher, seen] of this.#checkpoint.publishers) this.state.publishers.set(publisher, seen);
    this.#open = openBatch(this.#flushNumber + 1, this.#checkpoint.clockMs);
    const bytes = sessionBlocks(this.#retainedSessions(), BLOCK_ROWS);
    const restorer = new Restorer(this.state);
    takeInTwo(restorer, 'sessions', bytes);
    restoreMinutes(this.state, this.#storedMinutes());
    takeInTwo(restorer, 'visitors', this.#storedVisitors());
    restoreSeen(this.state, this.#storedSeen());
    takeInTwo(restorer, 'event-ids', this.#storedEventIds());
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

  /** Answers a question from what is in memory. */
  ask(question: HotQuestion): ReturnType<typeof decodeHotAnswer> {
    const unflushed = { flushNumber: this.#flushNumber, inFlight: undefined, open: this.#open };
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
      keepEnded(this.state, missing, this.#newestRows(missing));
    }
  }

  #newestRows(named: readonly NamedSession[]): Buffer {
    const newest = named.map(({ projectId, deviceId, sessionId }) =>
      this.sessions
        .filter(({ values }) => values.sign === 1 && values.projectId === projectId)
        .filter(({ values }) => values.deviceId === deviceId && values.id === sessionId)
        .sort((a, b) => Number(a.values.version) - Number(b.values.version))
        .at(-1),
    );
    return Buffer.concat(newest.flatMap((row) => (row === undefined ? [] : [row.bytes])));
  }

  #retainedSessions(): StoredRow[] {
    const newest = new Map<string, StoredRow>();
    const fromMs = this.#checkpoint.clockMs - this.limits.sessionRetainMs;
    for (const row of this.sessions) {
      const { sign, projectId, id, version, touchedAt } = row.values;
      if (sign !== 1 || projectId === '' || Number(touchedAt) < fromMs) continue;
      const key = `${projectId} ${id}`;
      if (Number(newest.get(key)?.values.version ?? 0) < Number(version)) newest.set(key, row);
    }
    // In any order, as a store without ORDER BY.
    return [...newest.values()].sort((a, b) => (String(a.values.id) < String(b.values.id) ? -1 : 1));
  }

  /** One by one: each event and each session as a minute of its own. */
  #storedMinutes(): StoredMinute[] {
    const sessions = currentSessions(this.sessions);
    const minutes: StoredMinute[] = sessions.map((session) => ({
      ...emptyMinute(session.projectId, session.startedAt),
      sessions: 1,
      bounces: Number(session.screenViews) <= 1 ? 1 : 0,
      durationMs: Number(session.endedAt) - Number(session.startedAt),
    }));
    for (const { values } of this.events) {
      if (values.name === 'session_start' || values.name === 'session_end') continue;
      minutes.push({
        ...emptyMinute(values.projectId, values.createdAt),
        screenViews: values.name === 'screen_view' ? 1 : 0,
        otherEvents: values.name === 'screen_view' ? 0 : 1,
        revenue: values.currency === '' ? [] : [[String(values.currency), String(values.revenue)]],
      });
    }
    return minutes;
  }

  /** One by one, as the minutes. */
  #storedVisitors(): Buffer {
    const writer = new RowBinaryWriter(MESSAGE_MAX_BYTES);
    const sessions = currentSessions(this.sessions);
    for (const { values } of this.events) {
      if (values.name === 'session_start' || values.name === 'session_end') continue;
      const { deviceId, sessionId, projectId } = values;
      const session = sessions.find(
        (found) => found.projectId === projectId && found.deviceId === deviceId && found.id === sessionId,
      );
      writer.string(String(projectId));
      writer.string(String(deviceId));
      writer.hex(String(session === undefined ? NO_SESSION : sessionId));
      writer.string(String(session?.profileId || values.profileId));
      writer.varint(1);
      writer.u32(Math.floor(Number(values.createdAt) / 60_000));
    }
    return writer.take();
  }

  #storedSeen() {
    return this.events
      .filter((row) => row.values.currency !== '')
      .map(({ values }) => ({
        projectId: String(values.projectId),
        deviceId: String(values.deviceId),
        sessionId: String(values.sessionId),
        atMs: Number(values.createdAt),
      }));
  }

  #storedEventIds(): Buffer {
    const writer = new RowBinaryWriter(MESSAGE_MAX_BYTES);
    for (const { values } of this.events) {
      if (values.eventId === '') continue;
      writer.string(String(values.projectId));
      writer.string(String(values.deviceId));
      writer.string(String(values.eventId));
      writer.hex(String(values.sessionId || NO_SESSION));
      writer.dateTime64Ms(Number(values.receivedAt));
    }
    return writer.take();
  }
}

/** In two pieces that split a row, as an answer of the store may be. */
function takeInTwo(restorer: Restorer, part: RestoredPart, rows: Buffer): void {
  const half = Math.floor(rows.length / 2);
  for (const piece of [rows.subarray(0, half), rows.subarray(half)])
    if (piece.length > 0) restorer.take(part, piece);
  restorer.take(part, Buffer.alloc(0));
}

/** The sessions that rows add up to: every state that became true and was not replaced. */
export function currentSessions(rows: readonly StoredRow[]): Record<string, unknown>[] {
  const keyOf = ({ values }: StoredRow) =>
    [values.projectId, values.id, values.version, values.touchedAt].join(' ');
  const replaced = new Map<string, number>();
  for (const row of rows) {
    if (row.values.sign === -1) replaced.set(keyOf(row), (replaced.get(keyOf(row)) ?? 0) + 1);
  }
  return rows
    .filter((row) => {
      if (row.values.sign !== 1 || row.values.projectId === '') return false;
      const left = replaced.get(keyOf(row)) ?? 0;
      replaced.set(keyOf(row), left - 1);
      return left <= 0;
    })
    .map((row) => ({ ...row.values }));
}

function emptyMinute(projectId: unknown, atMs: unknown): StoredMinute {
  return {
    projectId: String(projectId),
    minuteMs: Math.floor(Number(atMs) / 60_000) * 60_000,
    screenViews: 0,
    otherEvents: 0,
    sessions: 0,
    bounces: 0,
    durationMs: 0,
    revenue: [],
  };
}
