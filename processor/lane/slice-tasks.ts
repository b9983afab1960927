import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { MINUTE_MS } from '../../infra/durations.ts';
import { OPEN_DEVICES_MAX } from '../../ingest/open-sessions.ts';
import {
  decodeSessionQuestions,
  encodeSessionAnswers,
  type SessionQuestion,
  sessionLookupVersionOf,
} from '../../ingest/session-lookup.ts';
import { type Batch, isEmpty, lateHoursOf, openBatch } from '../fold/batch.ts';
import { expireCounters } from '../fold/counting.ts';
import { closeBatch, nextBatch } from '../fold/cut.ts';
import { deviceKeyOf } from '../fold/device-key.ts';
import { keepEnded, mayNameEnded, type NamedSession } from '../fold/ended-sessions.ts';
import { EventView } from '../fold/event-view.ts';
import { evictQuietSites } from '../fold/evict-sites.ts';
import type { SiteHour } from '../fold/finalized.ts';
import { advanceClock, expireEventIds, foldMessage, missingBefore } from '../fold/fold.ts';
import { answerHot, liveParts } from '../fold/hot-answers.ts';
import { textOf } from '../fold/interned.ts';
import { openSnapshot, takeOpenChanges } from '../fold/open-changes.ts';
import { createOpenDevices } from '../fold/open-devices.ts';
import { RecentFlushes } from '../fold/recent-flushes.ts';
import { Restorer, restoreMinutes, restoreSeen } from '../fold/restore.ts';
import { rowsBySite } from '../fold/rows-by-site.ts';
import {
  answerKnown,
  answerSessions,
  dependsOnLag,
  type EndedByPlace,
  endedQuestions,
} from '../fold/session-answers.ts';
import { SiteError } from '../fold/set-aside.ts';
import { createSliceState, type SliceState } from '../fold/slice-state.ts';
import type { Checkpoint } from './lane-record.ts';
import type { OpenReport } from './open-sessions-feed.ts';
import {
  type CutReport,
  type CutSlice,
  type FoldReport,
  type MissingReport,
  type OpenTask,
  type PackedMessages,
  placeOf,
  type SessionsReport,
  type SessionsTask,
  type SiteFailure,
  type SiteRowsReport,
  type WorkerTask,
} from './worker-tasks.ts';

/** The state of a slice, and the part of it that is not in the store. */
interface OwnedSlice {
  readonly state: SliceState;
  readonly messageMaxBytes: number;
  open: Batch;
  inFlight: Batch | undefined;
  /** The last flush that is known to be in the store. */
  flushNumber: number;
  readonly recent: RecentFlushes;
  readonly restorer: Restorer;
  /** The minute of the clock when expired counters and quiet sites were last evicted. */
  clearedMinute: number;
  /** A fold or a cut has failed half-way: nothing is answered from this state. */
  isBroken: boolean;
}

/** Sessions for which one stop of the fold looks ahead; a message behind these stops it again. */
const MISSING_AHEAD_MAX = 1_000;
/** Erase commands that a checkpoint names; the purge that sent one looks for it within moments. */
const ERASE_COMMANDS_MAX = 100;
const NOTHING_ENDED: EndedByPlace = new Map();

/** Folds a message: `foldMessage`, or in tests a function that fails. */
export type FoldMessage = typeof foldMessage;

/** Does the tasks of a thread, which owns the state of its slices. The main thread decides the order. */
export class SliceTasks {
  readonly #held = new Map<number, OwnedSlice>();
  readonly #view = new EventView();
  readonly #fold: FoldMessage;

  constructor(fold: FoldMessage = foldMessage) {
    this.#fold = fold;
  }

  /** Does one task, whose result has the type that `WorkerHandle` gives to its kind. */
  run(task: WorkerTask): unknown {
    switch (task.kind) {
      case 'open':
        return void this.#held.set(placeOf(task.lane, task.slice.index), open(task));
      case 'restore':
        return this.#of(task).restorer.take(task.part, bufferOf(task.bytes));
      case 'restore-minutes':
        return restoreMinutes(this.#of(task).state, task.minutes);
      case 'restore-seen':
        return restoreSeen(this.#of(task).state, task.seen);
      case 'missing':
        return missing(this.#of(task), task, this.#view);
      case 'ended':
        return keepEnded(this.#of(task).state, task.named, bufferOf(task.rows));
      case 'fold':
        return foldAll(this.#of(task), task, { view: this.#view, fold: this.#fold });
      case 'cut':
        return cut(this.#of(task), task.hasRows);
      case 'flushed':
        return flushed(this.#of(task));
      case 'rows-by-site':
        return siteRows(this.#of(task));
      case 'hot': {
        const owned = this.#of(task);
        return answerHot(owned.state, owned, task.question, owned.messageMaxBytes);
      }
      case 'sessions':
        return findSessions(this.#of(task), task);
      case 'live':
        return liveParts(this.#of(task).state, task);
      case 'open-sessions':
        return openSessions(this.#of(task).state, task.nowMs);
      case 'close':
        return void this.#held.delete(task.slice);
    }
  }

  #of(task: { readonly slice: number }): OwnedSlice {
    const owned = must(this.#held.get(task.slice), `slice ${task.slice} is not open in this thread`);
    if (owned.isBroken) throw new Error(`slice ${task.slice} failed and is about to be opened again`);
    return owned;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function open({ lane, slice, checkpoint, setAside, limits, messageMaxBytes }: OpenTask): OwnedSlice {
  const state = createSliceState(lane, limits, slice);
  state.clockMs = checkpoint.clockMs;
  state.sequence = checkpoint.sequence;
  for (const [publisher, sequence, atMs] of checkpoint.publishers)
    state.publishers.set(publisher, { sequence, atMs });
  state.forgettings = checkpoint.forgettings;
  state.setAside = setAside;
  state.openDevices = createOpenDevices(OPEN_DEVICES_MAX);
  return {
    state,
    messageMaxBytes,
    open: openBatch(checkpoint.flushNumber + 1, checkpoint.clockMs),
    inFlight: undefined,
    flushNumber: checkpoint.flushNumber,
    recent: new RecentFlushes(),
    restorer: new Restorer(state),
    clearedMinute: 0,
    isBroken: false,
  };
}

/** The failure to report; throws an error that no site has caused. */
function siteFailure(owned: OwnedSlice, error: unknown, sequence: number): SiteFailure {
  owned.isBroken = true;
  if (!(error instanceof SiteError)) throw error;
  const { projectId, isInSession, message } = error;
  return { projectId, sequence, isInSession, reason: message };
}

/** Folds messages whose ended sessions are loaded. */
function foldAll(
  owned: OwnedSlice,
  { bytes: packed, messages, keepsEnded }: PackedMessages & { readonly keepsEnded: boolean },
  { view, fold }: { readonly view: EventView; readonly fold: FoldMessage },
): FoldReport {
  const { state, open: batch } = owned;
  const bytes = bufferOf(packed);
  const rejected: { sequence: number; reason: string }[] = [];
  let failure: SiteFailure | undefined;
  let isErasing = false;
  let done = 0;
  let events = 0;
  let repeats = 0;
  const saturatedBefore = state.saturatedSums;
  let offset = 0;
  for (const [sequence, length] of messages) {
    try {
      const folded = fold(state, sequence, bytes.subarray(offset, offset + length), batch, view);
      if (folded.missing.length > 0) throw new Error('a message names a session that was not loaded before');
      events += folded.events;
      repeats += folded.repeats;
      isErasing = folded.isErasing;
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        failure = siteFailure(owned, error, sequence);
        break;
      }
      rejected.push({ sequence, reason: error.message });
      passOver(state, batch, sequence);
    }
    offset += length;
    done += 1;
    if (isErasing) {
      owned.recent.forget(batch.flushNumber);
      break;
    }
  }
  if (!keepsEnded) state.ended.clear();
  if (failure === undefined) clearEveryMinute(owned);
  return {
    failure,
    messages: done,
    isErasing,
    events,
    repeats,
    saturatedSums: state.saturatedSums - saturatedBefore,
    rejected,
    batchRows: batch.events.ends.length + batch.sessions.ends.length + batch.changed.length,
    batchBytes: batch.events.writer.length + batch.sessions.writer.length,
    sessions: state.sessions.count,
    clockMs: state.clockMs,
  };
}

/** Evicts expired entries, once a minute of the lane's clock. */
function clearEveryMinute(owned: OwnedSlice): void {
  const { state, open: batch } = owned;
  const minute = Math.floor(state.clockMs / MINUTE_MS);
  if (minute !== owned.clearedMinute) {
    expireCounters(state);
    expireEventIds(state);
    evictQuietSites(state, owned.inFlight === undefined ? [batch] : [owned.inFlight, batch]);
    owned.clearedMinute = minute;
  }
}

/**
 * The sessions that the first message needs, and the sessions that later messages will name, as far as known. Later sessions are left out
 * if they would need a flush first: they may turn out not to be needed, and a flush must end where it would anyway.
 */
function missing(
  owned: OwnedSlice,
  { bytes: packed, messages }: PackedMessages,
  view: EventView,
): MissingReport {
  const bytes = bufferOf(packed);
  const found: NamedSession[] = [];
  let unflushed = false;
  let offset = 0;
  for (const [index, [sequence, length]] of messages.entries()) {
    if (found.length >= MISSING_AHEAD_MAX) break;
    const message = bytes.subarray(offset, offset + length);
    offset += length;
    if (!mayNameEnded(message)) continue;
    const named = missingIn(owned, sequence, message, view);
    if (index === 0) unflushed = named.some((session) => isUnflushed(owned, session));
    else if (found.length === 0) break; // Nothing has to be loaded now.
    found.push(...(index === 0 ? named : named.filter((session) => !isUnflushed(owned, session))));
  }
  return { missing: found, unflushed };
}

function missingIn(
  { state, open: batch }: OwnedSlice,
  sequence: number,
  message: Buffer,
  view: EventView,
): readonly NamedSession[] {
  try {
    return missingBefore(state, sequence, message, batch, view);
  } catch (error) {
    if (error instanceof DecodeError) return []; // The fold rejects it when it gets there.
    throw error;
  }
}

/** True if the store may lack the last state of an evicted session of the device. */
function isUnflushed(
  { open: batch, inFlight }: OwnedSlice,
  { projectId, deviceId }: Pick<NamedSession, 'projectId' | 'deviceId'>,
): boolean {
  const key = deviceKeyOf(projectId, deviceId);
  return batch.evicted.has(key) || inFlight?.evicted.has(key) === true;
}

/** A message that went to the dead letters is done: the checkpoint moves past it. */
function passOver(state: SliceState, batch: Batch, sequence: number): void {
  state.sequence = sequence;
  batch.lastSequence = sequence;
  advanceClock(state, state.clockMs, batch);
}

/** Ends the open batch and begins the next. */
function cut(owned: OwnedSlice, hasRows: boolean): CutReport {
  const { state, open: batch } = owned;
  if (batch.lastSequence === 0) return { kind: 'nothing' };
  if (!hasRows && !isEmpty(batch)) throw new Error('a flush without rows would lose some');
  const lastFlush = hasRows ? batch.flushNumber : batch.flushNumber - 1;
  const forgettings = batch.forgettings.map((id) => [id, lastFlush] as const);
  state.forgettings = [...state.forgettings, ...forgettings].slice(-ERASE_COMMANDS_MAX);
  if (hasRows) {
    try {
      closeBatch(state, batch, hasRows);
    } catch (error) {
      return { kind: 'failed', failure: siteFailure(owned, error, state.sequence) };
    }
    owned.inFlight = batch;
    owned.open = nextBatch(batch, state.clockMs);
  } else owned.open = openBatch(batch.flushNumber, state.clockMs);
  const rows: CutSlice = {
    checkpoint: checkpointOf(state, lastFlush),
    // Both threads need the rows: one to insert them, this one to answer for them until that is done.
    events: batch.events.writer.bytes(),
    sessions: batch.sessions.writer.bytes(),
    eventRows: batch.events.ends.length,
    sessionRows: batch.sessions.ends.length,
    lateHours: lateHours(state, batch),
  };
  return { kind: 'rows', cut: rows };
}

function lateHours(state: SliceState, batch: Batch): SiteHour[] {
  return [...batch.hours.keys()].flatMap((site) => {
    const projectId = siteNameOf(state, site);
    return lateHoursOf(batch, site).map((hourMs) => ({ projectId, hourMs }));
  });
}

function findSessions(
  owned: OwnedSlice,
  { questions: bytes, nowMs, lag, ended }: SessionsTask,
): SessionsReport {
  const { state } = owned;
  const questions = readQuestions(bytes);
  if (questions instanceof DecodeError) {
    const { message, reason } = questions;
    return { kind: 'unreadable', message, reason };
  }
  const version = sessionLookupVersionOf(bytes);
  if (lag === 'long')
    return { kind: 'answers', answers: encodeSessionAnswers(answerKnown(state, questions, nowMs), version) };
  if (lag === 'short' && dependsOnLag(state, questions, nowMs)) return { kind: 'behind' };
  const asked = ended === undefined ? endedQuestions(state, questions, nowMs) : [];
  if (asked.length > 0) {
    return { kind: 'ended', questions: asked, unflushed: asked.some((one) => isUnflushed(owned, one)) };
  }
  const answers = answerSessions(state, questions, { nowMs, ended: ended ?? NOTHING_ENDED });
  return { kind: 'answers', answers: encodeSessionAnswers(answers, version) };
}

function openSessions(state: SliceState, nowMs: number | undefined): OpenReport {
  const open = must(state.openDevices, 'the slice of a thread lists its open sessions');
  const { entries, complete } =
    nowMs === undefined ? openSnapshot(open) : takeOpenChanges(state, open, nowMs);
  return { entries: entries.bytes, complete };
}

function readQuestions(bytes: Uint8Array): readonly SessionQuestion[] | DecodeError {
  try {
    return decodeSessionQuestions(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

function checkpointOf(state: SliceState, flushNumber: number): Checkpoint {
  const publishers = [...state.publishers].map(
    ([publisher, { sequence, atMs }]) => [publisher, sequence, atMs] as const,
  );
  const { sequence, clockMs, forgettings } = state;
  return { flushNumber, sequence, clockMs, publishers, forgettings };
}

function siteRows({ state, inFlight }: OwnedSlice): SiteRowsReport {
  const { events, sessions } = must(inFlight, 'a flush was cut');
  const nameOf = (site: number) => siteNameOf(state, site);
  return { events: rowsBySite(events, nameOf), sessions: rowsBySite(sessions, nameOf) };
}

function siteNameOf({ sites }: SliceState, site: number): StoredId {
  return Buffer.from(textOf(sites, site), 'latin1').toString() as StoredId;
}

function flushed(owned: OwnedSlice): void {
  const batch = must(owned.inFlight, 'a flush ended that was never begun');
  owned.recent.keep(batch, owned.state);
  owned.flushNumber = batch.flushNumber;
  owned.inFlight = undefined;
}
