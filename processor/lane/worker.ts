import { must } from '../../infra/assert.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { FLAG_CREDIT } from '../../ingest/event.ts';
import {
  decodeSessionQuestions,
  encodeSessionAnswers,
  type SessionQuestion,
  sessionLookupVersionOf,
} from '../../ingest/session-lookup.ts';
import { type Batch, isEmpty, lateHoursOf, openBatch, type Rows } from '../fold/batch.ts';
import { expireCounters } from '../fold/counting.ts';
import { closeBatch, nextBatch } from '../fold/cut.ts';
import { deviceKeyOf } from '../fold/device-key.ts';
import { keepEnded, missingSessions, type NamedSession } from '../fold/ended-sessions.ts';
import { EventView } from '../fold/event-view.ts';
import { evictQuietSites } from '../fold/evict-sites.ts';
import type { SiteHour } from '../fold/finalized.ts';
import { advanceClock, checkMessage, expireEventIds, foldMessage } from '../fold/fold.ts';
import { answerHot } from '../fold/hot-answers.ts';
import { textOf } from '../fold/interned.ts';
import { createPartition, type PartitionState } from '../fold/partition.ts';
import { Restorer, restoreMinutes, restoreSeen } from '../fold/restore.ts';
import { answerSessions, dependsOnLag, type EndedByPlace, endedQuestions } from '../fold/session-answers.ts';
import type { Checkpoint } from './lane-record.ts';
import type {
  CutBatch,
  FoldReport,
  OpenTask,
  SessionsReport,
  SessionsTask,
  WorkerTask,
} from './worker-tasks.ts';

/** A partition in this thread. */
interface OwnedPartition {
  readonly state: PartitionState;
  readonly messageMaxBytes: number;
  open: Batch;
  inFlight: Batch | undefined;
  /** The last flush that is known to be in the store. */
  flushNumber: number;
  readonly restorer: Restorer;
  /** The minute of the clock when expired counters and quiet sites were last evicted. */
  clearedMinute: number;
}

const MINUTE_MS = 60_000;
/** Sessions that one stop of the fold looks ahead for; a message behind those stops it again. */
const MISSING_AHEAD_MAX = 1_000;
/** Erase commands that a checkpoint names; the purge that sent one looks for it within moments. */
const ERASE_COMMANDS_MAX = 100;
const NOTHING_ENDED: EndedByPlace = new Map();

// The one place with module state: this thread owns its partitions, and the pool gives it one task after the other.
const held = new Map<number, OwnedPartition>();
const view = new EventView();

/** The thread's side of a pool of one: does one task. The main thread decides the order. */
export default function work(task: WorkerTask): unknown {
  switch (task.kind) {
    case 'open':
      return open(task);
    case 'restore':
      return partitionOf(task).restorer.take(
        task.part,
        Buffer.from(task.bytes.buffer, task.bytes.byteOffset, task.bytes.byteLength),
      );
    case 'restore-minutes':
      return restoreMinutes(partitionOf(task).state, task.minutes);
    case 'restore-seen':
      return restoreSeen(partitionOf(task).state, task.seen);
    case 'fold':
      return foldAll(partitionOf(task), Buffer.from(task.bytes.buffer, task.bytes.byteOffset), task.messages);
    case 'ended':
      return keepEnded(
        partitionOf(task).state,
        task.named,
        Buffer.from(task.rows.buffer, task.rows.byteOffset, task.rows.byteLength),
      );
    case 'cut':
      return cut(partitionOf(task));
    case 'flushed':
      return flushed(partitionOf(task));
    case 'hot': {
      const partition = partitionOf(task);
      return answerHot(partition.state, partition, task.question, partition.messageMaxBytes);
    }
    case 'sessions':
      return findSessions(partitionOf(task), task);
    case 'close':
      return void held.delete(task.partition);
  }
}

function partitionOf(task: { readonly partition: number }): OwnedPartition {
  return must(held.get(task.partition), `partition ${task.partition} is not open in this thread`);
}

function open({ partition, checkpoint, limits, messageMaxBytes }: OpenTask): void {
  const state = createPartition(partition, limits);
  state.clockMs = checkpoint.clockMs;
  state.sequence = checkpoint.sequence;
  for (const [publisher, sequence, atMs] of checkpoint.publishers)
    state.publishers.set(publisher, { sequence, atMs });
  state.forgettings = checkpoint.forgettings;
  held.set(partition, {
    state,
    messageMaxBytes,
    open: openBatch(checkpoint.flushNumber + 1, checkpoint.clockMs),
    inFlight: undefined,
    flushNumber: checkpoint.flushNumber,
    restorer: new Restorer(state),
    clearedMinute: 0,
  });
}

function foldAll(
  partition: OwnedPartition,
  bytes: Buffer,
  messages: readonly (readonly [sequence: number, bytes: number])[],
): FoldReport {
  const { state, open: batch } = partition;
  const rejected: { sequence: number; reason: string }[] = [];
  let missing: readonly NamedSession[] = [];
  let ahead: readonly NamedSession[] = [];
  let isErasing = false;
  let done = 0;
  let events = 0;
  let repeats = 0;
  let offset = 0;
  for (const [sequence, length] of messages) {
    try {
      const folded = foldMessage(state, sequence, bytes.subarray(offset, offset + length), batch, view);
      if (folded.missing.length > 0) {
        missing = folded.missing;
        ahead = missingAhead(partition, bytes.subarray(offset), messages.slice(done));
        break;
      }
      events += folded.events;
      repeats += folded.repeats;
      isErasing = folded.isErasing;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      rejected.push({ sequence, reason: error.message });
      passOver(state, batch, sequence);
    }
    offset += length;
    done += 1;
    if (isErasing) break;
  }
  if (missing.length === 0) state.ended.clear();
  const minute = Math.floor(state.clockMs / MINUTE_MS);
  if (minute !== partition.clearedMinute) {
    expireCounters(state);
    expireEventIds(state);
    evictQuietSites(state, partition.inFlight === undefined ? [batch] : [partition.inFlight, batch]);
    partition.clearedMinute = minute;
  }
  return {
    messages: done,
    missing: [...missing, ...ahead],
    unflushed: missing.some((session) => isUnflushed(partition, session)),
    isErasing,
    events,
    repeats,
    rejected,
    batchRows: batch.events.ends.length + batch.sessions.ends.length + batch.changed.length,
    batchBytes: batch.events.writer.length + batch.sessions.writer.length,
    sessions: state.sessions.count,
    clockMs: state.clockMs,
  };
}

/**
 * The sessions that the messages behind the one that the fold stopped for will name, as far as that is known. Sessions
 * that would need a flush first are left out: they may turn out not to be needed, and a flush must end where it would
 * anyway.
 */
function missingAhead(
  partition: OwnedPartition,
  bytes: Buffer,
  messages: readonly (readonly [sequence: number, bytes: number])[],
): NamedSession[] {
  const { state, open: batch } = partition;
  const missing: NamedSession[] = [];
  let offset = 0;
  for (const [index, [, length]] of messages.entries()) {
    if (missing.length >= MISSING_AHEAD_MAX) break;
    const message = bytes.subarray(offset, offset + length);
    offset += length;
    if (index === 0 || !namesEnded(message)) continue;
    const named = missingSessions(state, message, batch, view);
    missing.push(...named.filter((session) => !isUnflushed(partition, session)));
  }
  return missing;
}

/** Whether the message can be read and names a session that may have ended. */
function namesEnded(message: Buffer): boolean {
  try {
    return (checkMessage(message, view).flags & FLAG_CREDIT) !== 0;
  } catch (error) {
    if (error instanceof DecodeError) return false; // The fold rejects it when it gets there.
    throw error;
  }
}

/** Whether the store may lack the last state of an evicted session of the device. */
function isUnflushed(
  { open: batch, inFlight }: OwnedPartition,
  { projectId, deviceId }: Pick<NamedSession, 'projectId' | 'deviceId'>,
): boolean {
  const key = deviceKeyOf(projectId, deviceId);
  return batch.evicted.has(key) || inFlight?.evicted.has(key) === true;
}

/** A message that went to the dead letters is done: the checkpoint moves past it. */
function passOver(state: PartitionState, batch: Batch, sequence: number): void {
  state.sequence = sequence;
  batch.lastSequence = sequence;
  advanceClock(state, state.clockMs, batch);
}

/** Ends the open batch and begins the next. Undefined when not even a message was read since the last time. */
function cut(partition: OwnedPartition): CutBatch | undefined {
  const { state, open: batch } = partition;
  if (batch.lastSequence === 0) return undefined;
  const hasRows = !isEmpty(batch);
  const lastFlush = hasRows ? batch.flushNumber : batch.flushNumber - 1;
  const forgettings = batch.forgettings.map((id) => [id, lastFlush] as const);
  state.forgettings = [...state.forgettings, ...forgettings].slice(-ERASE_COMMANDS_MAX);
  if (hasRows) {
    closeBatch(state, batch);
    partition.inFlight = batch;
    partition.open = nextBatch(batch, state.clockMs);
  } else partition.open = openBatch(batch.flushNumber, state.clockMs);
  return {
    checkpoint: checkpointOf(state, lastFlush),
    hasRows,
    events: share(batch.events),
    sessions: share(batch.sessions),
    eventRows: batch.events.ends.length,
    sessionRows: batch.sessions.ends.length,
    lateHours: lateHours(state, batch),
  };
}

function lateHours(state: PartitionState, batch: Batch): SiteHour[] {
  return [...batch.hours.keys()].flatMap((site) => {
    const projectId = Buffer.from(textOf(state.sites, site), 'latin1').toString();
    return lateHoursOf(batch, site).map((hourMs) => ({ projectId, hourMs }));
  });
}

function findSessions(
  partition: OwnedPartition,
  { questions: bytes, nowMs, caughtUp, ended }: SessionsTask,
): SessionsReport {
  const { state } = partition;
  const questions = readQuestions(bytes);
  if (questions instanceof DecodeError) {
    const { message, reason } = questions;
    return { kind: 'unreadable', message, reason };
  }
  if (!caughtUp && dependsOnLag(state, questions)) return { kind: 'behind' };
  const asked = ended === undefined ? endedQuestions(state, questions, nowMs) : [];
  if (asked.length > 0) {
    return { kind: 'ended', questions: asked, unflushed: asked.some((one) => isUnflushed(partition, one)) };
  }
  const answers = answerSessions(state, questions, { nowMs, ended: ended ?? NOTHING_ENDED });
  const version = sessionLookupVersionOf(bytes);
  return { kind: 'answers', answers: encodeSessionAnswers(answers, version) };
}

function readQuestions(bytes: Uint8Array): readonly SessionQuestion[] | DecodeError {
  try {
    return decodeSessionQuestions(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

function checkpointOf(state: PartitionState, flushNumber: number): Checkpoint {
  const publishers = [...state.publishers].map(
    ([publisher, { sequence, atMs }]) => [publisher, sequence, atMs] as const,
  );
  const { sequence, clockMs, forgettings } = state;
  return { flushNumber, sequence, clockMs, publishers, forgettings };
}

/** Both threads need the rows: one to insert them, this one to answer for them until that is done. */
function share(rows: Rows): SharedArrayBuffer {
  const bytes = rows.writer.bytes();
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  return shared;
}

function flushed(partition: OwnedPartition): void {
  const batch = must(partition.inFlight, 'a flush ended that was never begun');
  partition.flushNumber = batch.flushNumber;
  partition.inFlight = undefined;
}
