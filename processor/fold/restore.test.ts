import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { sessionBlocks } from '../testing/session-blocks.ts';
import type { StoredRow } from '../testing/stored-rows.ts';
import { deviceKeyOf } from './device-key.ts';
import { Restorer } from './restore.ts';
import { holdsDevice, type Slice, WHOLE_LANE } from './slice.ts';
import { createSliceState, type SliceState, type StateLimits } from './slice-state.ts';

const BLOCK_ROWS = 4;
const DEVICES = Array.from({ length: 8 }, (_, number) => String(number).repeat(32));
const deviceAt = (place: number) => DEVICES[place] ?? '';

/** The stored states of one session for each device, touched a second apart; the first device's has a second state. */
function storedStates(): readonly StoredRow[] {
  const run = new FoldRun();
  DEVICES.forEach((deviceId, index) => {
    const receivedAtMs = START_MS + index * 1_000;
    run.take(messageOf([plainEvent({ deviceId, sessionId: deviceId, receivedAtMs })], index + 1));
  });
  run.flush();
  const receivedAtMs = START_MS + 60_000;
  const again = plainEvent({ deviceId: deviceAt(0), sessionId: deviceAt(0), path: '/second', receivedAtMs });
  run.take(messageOf([again], DEVICES.length + 1));
  run.flush();
  return run.sessions.filter(({ values }) => values.sign === 1 && values.projectId !== '');
}

function restored(rows: readonly StoredRow[], pieceBytes: number, slice: Slice = WHOLE_LANE): SliceState {
  const state = createSliceState(0, TEST_LIMITS, slice);
  const restorer = new Restorer(state);
  const bytes = sessionBlocks(rows, BLOCK_ROWS);
  for (let start = 0; start < bytes.length; start += pieceBytes)
    restorer.take('sessions', bytes.subarray(start, start + pieceBytes));
  restorer.take('sessions', Buffer.alloc(0));
  return state;
}

/** The sessions, from the least recently touched one on, with their versions. */
function byTouch({ sessions }: SliceState): [id: string, version: number][] {
  const found: [string, number][] = [];
  for (let slot = sessions.newer[0] ?? 0; slot !== 0; slot = sessions.newer[slot] ?? 0)
    found.push([
      Buffer.from(sessions.ids.buffer, slot * 16, 16).toString('hex'),
      sessions.version[slot] ?? 0,
    ]);
  return found;
}

const IN_ORDER = [...DEVICES.slice(1).map((id) => [id, 1]), [deviceAt(0), 2]];

test.each([1, 13, 1_000_000])(
  'rows in any order and pieces of %d bytes give the order of touch',
  (pieceBytes) => {
    const rows = storedStates();
    expect(byTouch(restored(rows, pieceBytes))).toEqual(IN_ORDER);
    expect(byTouch(restored(rows.toReversed(), pieceBytes))).toEqual(IN_ORDER);
  },
);

test('of two states of a session the one with the higher version is restored, whichever comes first', () => {
  const rows = storedStates();
  for (const state of [restored(rows, 1_000), restored(rows.toReversed(), 1_000)]) {
    expect(state.sessions.count).toBe(DEVICES.length);
    // The older state's exit page is gone.
    const pages = [...state.pages.idByText.keys()].map((run) => run.replace(/^.*\//s, '/'));
    expect(pages.sort()).toEqual(['/', '/second']);
    expect(state.pages.references.reduce((sum, count) => sum + count, 0)).toBe(2 * DEVICES.length);
  }
});

test('the devices of other slices are passed over', () => {
  const slices = [0, 1, 2].map((index) => ({ index, count: 3, partitions: 256 }));
  const restoredIds = slices.map((slice) => byTouch(restored(storedStates(), 100, slice)).map(([id]) => id));
  for (const [index, ids] of restoredIds.entries()) {
    const slice = slices[index] ?? WHOLE_LANE;
    const held = IN_ORDER.map(([id]) => String(id)).filter((id) =>
      holdsDevice(slice, deviceKeyOf(storedId('demo'), id)),
    );
    expect(ids).toEqual(held);
  }
  expect(restoredIds.flat().sort()).toEqual([...DEVICES].sort());
});

const IN_ONE_MOMENT = ['c', 'a', 'd', 'b'].map((id) =>
  plainEvent({ deviceId: id.repeat(32), sessionId: id.repeat(32), path: `/${id}` }),
);

/** Sessions that end after a message, in the order of the rows; with and without a restart before it. */
function endedBy(message: Buffer, limits: StateLimits): string[][] {
  return [false, true].map((isRestarted) => {
    const run = new FoldRun(limits);
    run.take(messageOf(IN_ONE_MOMENT, 1));
    run.flush();
    if (isRestarted) run.crash();
    run.take(message);
    run.flush();
    const ends = run.events.filter(({ values }) => values.name === 'session_end');
    return ends.map(({ values }) => String(values.sessionId).slice(0, 1));
  });
}

test('sessions that were touched in one moment end in the same order with and without a restart', () => {
  const tick = messageOf([], 2, START_MS + 2 * TEST_LIMITS.sessionRetainMs);
  expect(endedBy(tick, TEST_LIMITS)).toEqual([
    ['a', 'b', 'c', 'd'],
    ['a', 'b', 'c', 'd'],
  ]);
});

test('over the cap, the same session of one moment ends early with and without a restart', () => {
  const next = plainEvent({
    deviceId: 'e'.repeat(32),
    sessionId: 'e'.repeat(32),
    receivedAtMs: START_MS + 1,
  });
  const afterwards = plainEvent({
    deviceId: 'e'.repeat(32),
    sessionId: 'e'.repeat(32),
    receivedAtMs: START_MS + 2,
  });
  const limits = { ...TEST_LIMITS, sessionsMax: IN_ONE_MOMENT.length };
  expect(endedBy(messageOf([next, afterwards], 2), limits)).toEqual([['a'], ['a']]);
});
