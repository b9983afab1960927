import type { StoredId } from '../../infra/accounts/ids.ts';
import type { DeviceId } from '../../ingest/event.ts';
import { SESSION_GAP_MS, SESSION_ID_TURNS_MAX, sessionIdOf } from '../../ingest/event.ts';
import { IN_FLIGHT_MAX_MS } from '../../ingest/open-sessions.ts';
import {
  latestOf,
  type SessionAnswer,
  type SessionQuestion,
  type SessionSpan,
} from '../../ingest/session-lookup.ts';
import { deviceKeyOf } from './device-key.ts';
import { runOf } from './interned.ts';
import { noteGrant } from './open-devices.ts';
import { isWithinGap, retainedSession, sessionFor, sessionIdOfSlot } from './session.ts';
import { firstOfDevice, nextOfDevice } from './session-devices.ts';
import type { Grant, SliceState } from './slice-state.ts';

const UNKNOWN: SessionAnswer = { kind: 'unknown', sessionId: '', firstMs: 0, lastMs: 0 };

/** A question for credit that only the store can answer: no retained session reaches the event. */
export interface EndedQuestion {
  /** Its index among the questions. */
  readonly place: number;
  readonly projectId: StoredId;
  readonly deviceId: DeviceId;
  readonly occurredAtMs: number;
  /** Ids of the device's retained sessions. The store may have older states of them. */
  readonly retainedIds: readonly string[];
  /** The latest of them. */
  readonly held: SessionSpan | undefined;
}

/** Ended sessions that answer questions for credit, by the index of the question. */
export type EndedByPlace = ReadonlyMap<number, SessionSpan>;

/**
 * True if the answers may depend on events on the bus that this slice has not folded: the device is known, and no known
 * session or grant reaches the event. An unfolded event may have extended the session, or opened the next one. Shortly
 * after a slot has begun, this applies to unknown devices, too: a collector may have opened their session by itself
 * under the id of the previous slot.
 */
export function dependsOnLag(
  state: SliceState,
  questions: readonly SessionQuestion[],
  nowMs: number,
): boolean {
  const slotIsYoung = nowMs % SESSION_GAP_MS < IN_FLIGHT_MAX_MS;
  return questions.some(({ projectId, deviceId, occurredAtMs, eventId, credit }) => {
    const key = deviceKeyOf(projectId, deviceId);
    const known = slotIsYoung || credit || firstOfDevice(state, key) !== 0 || state.grants.has(key);
    return eventId !== '' || (known && sessionFor(state, key, occurredAtMs, undefined) === 0);
  });
}

/** The questions that need the store's evicted sessions before they can be answered. */
export function endedQuestions(
  state: SliceState,
  questions: readonly SessionQuestion[],
  nowMs: number,
): EndedQuestion[] {
  const ended: EndedQuestion[] = [];
  questions.forEach(({ projectId, deviceId, occurredAtMs, eventId, credit }, place) => {
    if (!credit || deviceId === '' || seenSession(state, projectId, eventId) !== undefined) return;
    const key = deviceKeyOf(projectId, deviceId);
    if (reachingSession(state, key, occurredAtMs, nowMs) !== undefined) return;
    const spans = retainedSpans(state, key);
    let held: SessionSpan | undefined;
    for (const span of spans) held = latestOf(held, span, occurredAtMs);
    const retainedIds = spans.map(({ sessionId }) => sessionId);
    ended.push({ place, projectId, deviceId, occurredAtMs, retainedIds, held });
  });
  return ended;
}

/**
 * Returns the session that the next event of each device will have. A grant is remembered, so the next question gets the same answer.
 * `nowMs` approximates the clock at which the event will be folded.
 */
export function answerSessions(
  state: SliceState,
  questions: readonly SessionQuestion[],
  { nowMs, ended }: { readonly nowMs: number; readonly ended: EndedByPlace },
): SessionAnswer[] {
  return questions.map((question, place) => answerSession(state, question, nowMs, ended.get(place)));
}

/**
 * Answers of a slice that is far behind the bus: the session recorded under an event's id, or a known session that
 * reaches the event, since sessions can only grow. The rest may depend on unfolded events, and is `unknown`. A repeat
 * of an event not folded yet gets the session of a new event.
 */
export function answerKnown(
  state: SliceState,
  questions: readonly SessionQuestion[],
  nowMs: number,
): SessionAnswer[] {
  return questions.map(({ projectId, deviceId, occurredAtMs, eventId }) => {
    const seen = seenSession(state, projectId, eventId);
    if (seen !== undefined) return { kind: 'repeat', sessionId: seen, firstMs: 0, lastMs: 0 };
    const open = reachingSession(state, deviceKeyOf(projectId, deviceId), occurredAtMs, nowMs);
    return open === undefined ? UNKNOWN : { kind: 'open', ...open };
  });
}

function answerSession(
  state: SliceState,
  question: SessionQuestion,
  nowMs: number,
  ended: SessionSpan | undefined,
): SessionAnswer {
  const { projectId, deviceId, occurredAtMs, eventId } = question;
  const seen = seenSession(state, projectId, eventId);
  if (seen !== undefined) return { kind: 'repeat', sessionId: seen, firstMs: 0, lastMs: 0 };
  const key = deviceKeyOf(projectId, deviceId);
  const open = reachingSession(state, key, occurredAtMs, nowMs);
  if (open !== undefined) {
    grantOpen(state, key, open, occurredAtMs);
    return { kind: 'open', ...open };
  }
  if (ended !== undefined) return { kind: 'ended', ...ended };
  const known = state.grants.get(key);
  if (
    known !== undefined &&
    isWithinGap(known.firstMs, known.lastMs, occurredAtMs) &&
    !isLeaving(state, key, known, nowMs)
  ) {
    state.grants.set(key, extended(known, occurredAtMs));
    return { kind: 'granted', ...known };
  }
  const grant = {
    sessionId: freeIdFor(state, key, question, nowMs),
    firstMs: occurredAtMs,
    lastMs: occurredAtMs,
  };
  addGrant(state, key, grant);
  return { kind: 'granted', ...grant };
}

/**
 * Promises the session to an event outside of its times. The device's next question may come before that event is folded, about an event
 * that only this one's time reaches. A promise of a session not opened yet takes precedence: its id is kept nowhere else.
 */
function grantOpen(state: SliceState, deviceKey: string, open: SessionSpan, occurredAtMs: number): void {
  if (occurredAtMs >= open.firstMs && occurredAtMs <= open.lastMs) return;
  const known = state.grants.get(deviceKey);
  const isSame = known?.sessionId === open.sessionId;
  if (known !== undefined && !isSame && slotOfGrant(state, deviceKey, known) === 0) return;
  addGrant(state, deviceKey, extended(isSame ? union(known, open) : open, occurredAtMs));
}

function addGrant(state: SliceState, deviceKey: string, grant: Grant): void {
  const { grants } = state;
  grants.delete(deviceKey);
  grants.set(deviceKey, grant);
  noteGrant(state.openDevices, deviceKey);
  if (grants.size <= state.limits.grantsMax) return;
  // The oldest grant was most likely used or abandoned; evicting it costs at most a repeated question.
  for (const oldest of grants.keys()) {
    grants.delete(oldest);
    noteGrant(state.openDevices, oldest);
    break;
  }
}

function extended({ sessionId, firstMs, lastMs }: SessionSpan, atMs: number): Grant {
  return { sessionId, firstMs: Math.min(firstMs, atMs), lastMs: Math.max(lastMs, atMs) };
}

function union(one: SessionSpan, other: SessionSpan): SessionSpan {
  return extended(extended(one, other.firstMs), other.lastMs);
}

/**
 * An id that no retained session of the device has. For an event within a gap of now it is the id that a collector
 * would derive by itself: an event of now may be on its way, and both are one session.
 */
function freeIdFor(
  state: SliceState,
  deviceKey: string,
  { projectId, deviceId, occurredAtMs }: SessionQuestion,
  nowMs: number,
): string {
  const isFree = (id: string) =>
    retainedSession(state, deviceKey, { bytes: Buffer.from(id, 'hex'), hintStart: 0 }) === 0;
  if (Math.abs(nowMs - occurredAtMs) <= SESSION_GAP_MS) {
    const idOfNow = sessionIdOf(projectId, deviceId, nowMs, nowMs);
    if (isFree(idOfNow)) return idOfNow;
  }
  for (let turn = 0; ; turn += 1) {
    const id = sessionIdOf(projectId, deviceId, occurredAtMs, nowMs, turn);
    // A device has far fewer retained sessions than turns.
    if (isFree(id) || turn === SESSION_ID_TURNS_MAX) return id;
  }
}

/** The session in which an event with this id was recorded; undefined without one. */
function seenSession(state: SliceState, projectId: StoredId, eventId: string): string | undefined {
  return eventId === '' ? undefined : state.eventIds.peek(runOf(projectId), runOf(eventId))?.sessionId;
}

/**
 * The session that reaches the event and is still retained when the event is folded. The event may be in flight until then; a session
 * evicted meanwhile would open again under the same id.
 */
function reachingSession(
  state: SliceState,
  deviceKey: string,
  occurredAtMs: number,
  nowMs: number,
): SessionSpan | undefined {
  const slot = sessionFor(state, deviceKey, occurredAtMs, undefined, nowMs + onItsWayMsOf(state));
  return slot === 0 ? undefined : spanOf(state, slot);
}

/** True if a grant's session has opened and may be evicted before an event sent now is folded. */
function isLeaving(state: SliceState, deviceKey: string, grant: Grant, nowMs: number): boolean {
  const slot = slotOfGrant(state, deviceKey, grant);
  const foldedMs = nowMs + onItsWayMsOf(state);
  return slot !== 0 && foldedMs - (state.sessions.touchedMs[slot] ?? 0) > state.limits.sessionRetainMs;
}

/** The slot of a grant's session; 0 until it opens. */
function slotOfGrant(state: SliceState, deviceKey: string, { sessionId }: Grant): number {
  return retainedSession(state, deviceKey, { bytes: Buffer.from(sessionId, 'hex'), hintStart: 0 });
}

/** Maximum time that an event may be in flight; shorter if sessions are not retained for that long beyond the gap. */
function onItsWayMsOf({ limits: { sessionRetainMs } }: SliceState): number {
  return Math.min(IN_FLIGHT_MAX_MS, sessionRetainMs - SESSION_GAP_MS);
}

function retainedSpans(state: SliceState, deviceKey: string): SessionSpan[] {
  const spans: SessionSpan[] = [];
  let slot = firstOfDevice(state, deviceKey);
  for (; slot !== 0; slot = nextOfDevice(state.sessions, slot)) spans.push(spanOf(state, slot));
  return spans;
}

function spanOf({ sessions }: SliceState, slot: number): SessionSpan {
  return {
    sessionId: sessionIdOfSlot(sessions, slot),
    firstMs: sessions.startMs[slot] ?? 0,
    lastMs: sessions.endMs[slot] ?? 0,
  };
}
