import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { MINUTE_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SESSION_GAP_MS, sessionIdOf } from '../../ingest/event.ts';
import {
  DeviceHash,
  STANDING_DOUBTFUL,
  STANDING_NONE,
  slotOf,
  standingOfSlot,
} from '../../ingest/open-sessions.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { openSnapshot, takeOpenChanges } from './open-changes.ts';
import { createOpenDevices } from './open-devices.ts';
import { answerSessions } from './session-answers.ts';

const SLOT_MS = Date.UTC(2024, 1, 28, 23, 30);
const START_MS = SLOT_MS + 5 * MINUTE_MS;
const PROJECT = storedId('demo');
const OPEN = standingOfSlot(slotOf(START_MS));
const HASH = new DeviceHash();

function started(devicesMax = 100): FoldRun {
  const run = new FoldRun();
  run.state.openDevices = createOpenDevices(devicesMax);
  return run;
}

/** An event of now or of earlier, under its derived id or another. */
function come(
  run: FoldRun,
  atMs: number,
  more: { deviceId?: string; occurredAtMs?: number; id?: string } = {},
): void {
  const { deviceId = 'd', occurredAtMs = atMs, id = sessionIdOf(PROJECT, deviceId, atMs, atMs) } = more;
  const event = plainEvent({ deviceId, occurredAtMs, receivedAtMs: atMs, sessionId: id, certain: true });
  run.take(messageOf([event], run.messages.length + 1));
}

/** The devices that collectors hear of, with their standings. */
function changes(run: FoldRun, nowMs: number): Record<string, number> {
  const open = must(run.state.openDevices, 'a list');
  const { entries } = takeOpenChanges(run.state, open, nowMs);
  const heard: Record<string, number> = {};
  entries.visit((high, low, standing) => {
    const name = ['d', 'e', 'größe'].find((id) => HASH.of(PROJECT, id).high === high && HASH.low === low);
    heard[name ?? 'unknown'] = standing;
  });
  return heard;
}

test('a session is open from its first event until a minute before it may end, and gone a minute after it', () => {
  const run = started();
  come(run, START_MS);
  come(run, START_MS, { deviceId: 'größe' });
  expect(changes(run, START_MS)).toEqual({ d: OPEN, größe: OPEN });
  come(run, START_MS + 10 * MINUTE_MS);
  expect(changes(run, START_MS + 28 * MINUTE_MS)).toEqual({});
  expect(changes(run, START_MS + 29.5 * MINUTE_MS)).toEqual({ größe: STANDING_DOUBTFUL });
  expect(changes(run, START_MS + 31.5 * MINUTE_MS)).toEqual({ größe: STANDING_NONE });
  expect(changes(run, START_MS + 39.5 * MINUTE_MS)).toEqual({ d: STANDING_DOUBTFUL });
  // An event in the last minute prolongs it.
  come(run, START_MS + 39.7 * MINUTE_MS, { id: sessionIdOf(PROJECT, 'd', START_MS, START_MS) });
  expect(changes(run, START_MS + 39.8 * MINUTE_MS)).toEqual({ d: OPEN });
  expect(changes(run, START_MS + 80 * MINUTE_MS)).toEqual({ d: STANDING_NONE });
});

test('a session under an id that cannot be derived from a slot is doubtful', () => {
  const run = started();
  come(run, START_MS, { id: 'ab'.repeat(16) });
  come(run, START_MS, { deviceId: 'e', id: sessionIdOf(PROJECT, 'e', START_MS - SESSION_GAP_MS, START_MS) });
  expect(changes(run, START_MS)).toEqual({ d: STANDING_DOUBTFUL, e: STANDING_DOUBTFUL });
});

test('a device with two sessions that an event of now may join is doubtful', () => {
  const run = started();
  come(run, START_MS);
  expect(changes(run, START_MS)).toEqual({ d: OPEN });
  come(run, START_MS + MINUTE_MS, { id: 'ab'.repeat(16) });
  expect(changes(run, START_MS + MINUTE_MS)).toEqual({ d: STANDING_DOUBTFUL });
});

test('a session that ended within the slot of its id keeps its device doubtful until the slot is over', () => {
  const run = started();
  // A late event opens the session of now, which ends a gap after the event.
  come(run, START_MS, { occurredAtMs: START_MS - 25 * MINUTE_MS });
  expect(changes(run, START_MS)).toEqual({ d: OPEN });
  expect(changes(run, START_MS + 8 * MINUTE_MS)).toEqual({ d: STANDING_DOUBTFUL });
  expect(changes(run, SLOT_MS + 29 * MINUTE_MS)).toEqual({});
  expect(changes(run, SLOT_MS + 30.5 * MINUTE_MS)).toEqual({ d: STANDING_NONE });
});

test('a grant makes its device doubtful at once, and its event open', () => {
  const run = started();
  const asked = { projectId: PROJECT, deviceId: 'd', occurredAtMs: START_MS, eventId: '', credit: false };
  const ended = new Map();
  answerSessions(run.state, [asked], { nowMs: START_MS, ended });
  expect(changes(run, START_MS)).toEqual({ d: STANDING_DOUBTFUL });
  come(run, START_MS);
  expect(changes(run, START_MS)).toEqual({ d: OPEN });
  answerSessions(run.state, [{ ...asked, deviceId: 'e' }], { nowMs: START_MS, ended });
  expect(changes(run, START_MS)).toEqual({ e: STANDING_DOUBTFUL });
  expect(changes(run, START_MS + 31.5 * MINUTE_MS)).toMatchObject({ e: STANDING_NONE });
});

test('a late event within the gap is granted the id that an event of now opens a session under', () => {
  const run = started();
  const late = { projectId: PROJECT, deviceId: 'd', occurredAtMs: SLOT_MS - 1, eventId: '', credit: false };
  const ask = () => answerSessions(run.state, [late], { nowMs: START_MS, ended: new Map() })[0]?.sessionId;
  expect(ask()).toBe(sessionIdOf(PROJECT, 'd', START_MS, START_MS));
});

test('after a restart the list is what it was, and complete only when every session was looked at', () => {
  const run = started();
  come(run, START_MS);
  come(run, START_MS, { deviceId: 'e', id: 'ab'.repeat(16) });
  run.flush();
  run.crash();
  run.state.openDevices = createOpenDevices(100);
  expect(openSnapshot(run.state.openDevices)).toMatchObject({ complete: false });
  expect(changes(run, START_MS)).toEqual({ d: OPEN, e: STANDING_DOUBTFUL });
  expect(openSnapshot(run.state.openDevices).entries.count).toBe(2);
  expect(openSnapshot(run.state.openDevices).complete).toBe(true);
});

test('a full list says that it is incomplete until it is empty', () => {
  const run = started(1);
  come(run, START_MS);
  come(run, START_MS, { deviceId: 'e' });
  const open = must(run.state.openDevices, 'a list');
  expect(Object.keys(changes(run, START_MS))).toHaveLength(1);
  expect(takeOpenChanges(run.state, open, START_MS).complete).toBe(false);
  const laterMs = START_MS + 2 * TEST_LIMITS.sessionRetainMs;
  changes(run, laterMs);
  expect(takeOpenChanges(run.state, open, laterMs).complete).toBe(true);
});
