import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { messageOf, TEST_LIMITS } from '../testing/run.ts';
import { openBatch } from './batch.ts';
import { closeBatch } from './cut.ts';
import { EventView } from './event-view.ts';
import { foldMessage, missingBefore } from './fold.ts';
import { SiteError } from './set-aside.ts';
import { createSliceState } from './slice-state.ts';

const AT_MS = 1_750_000_000_000;
/** A value that no column can hold. */
const TOO_MUCH = 2n ** 70n;

function eventOf(projectId: string, more = {}) {
  const deviceId = projectId.padEnd(32, '0');
  return plainEvent({
    projectId: storedId(projectId),
    deviceId,
    occurredAtMs: AT_MS,
    receivedAtMs: AT_MS,
    ...more,
  });
}

function folded(...projectIds: readonly string[]) {
  const state = createSliceState(0, TEST_LIMITS);
  const batch = openBatch(1, 0);
  foldMessage(
    state,
    1,
    messageOf(
      projectIds.map((projectId) => eventOf(projectId)),
      1,
    ),
    batch,
    new EventView(),
  );
  return { state, batch };
}

function siteErrorOf(act: () => void): SiteError {
  try {
    act();
  } catch (error) {
    if (error instanceof SiteError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

test('a session that cannot be encoded names its site, at the end of a batch and at its eviction', () => {
  for (const fail of [
    ({ state, batch }: ReturnType<typeof folded>) => closeBatch(state, batch),
    ({ state, batch }: ReturnType<typeof folded>) => {
      const later = AT_MS + TEST_LIMITS.sessionRetainMs + 1;
      const event = eventOf('third', { occurredAtMs: later, receivedAtMs: later });
      foldMessage(state, 2, messageOf([event], 2), batch, new EventView());
    },
  ]) {
    const world = folded('first', 'söcond');
    world.state.revenueBySlot.set(2, new Map([['EUR', TOO_MUCH]]));
    const error = siteErrorOf(() => fail(world));
    expect([error.projectId, error.isInSession]).toEqual(['söcond', true]);
    expect(error.message).toContain('RangeError');
  }
});

test('events of a site that are set aside change nothing but the clock', () => {
  const state = createSliceState(0, TEST_LIMITS);
  state.setAside = [{ projectId: storedId('second'), first: 1, last: 1, reason: '', atMs: 0 }];
  const batch = openBatch(1, 0);
  const events = [eventOf('first'), eventOf('second', { receivedAtMs: AT_MS + 5 }), eventOf('third')];
  const report = foldMessage(state, 1, messageOf(events, 1), batch, new EventView());
  expect([report.events, state.sessions.count, state.clockMs]).toEqual([2, 2, AT_MS + 5]);
  expect([...state.counters.keys()].sort()).toEqual(['first', 'third']);
  const next = foldMessage(state, 2, messageOf(events, 2), batch, new EventView());
  expect(next.events).toBe(3);
});

test('an event that is set aside needs no session to be loaded', () => {
  const state = createSliceState(0, TEST_LIMITS);
  state.setAside = [{ projectId: storedId('second'), first: 1, last: 1, reason: '', atMs: 0 }];
  const batch = openBatch(1, 0);
  const credited = { credit: true, sessionId: 'ab'.repeat(16) };
  const bytes = messageOf([eventOf('first', credited), eventOf('second', credited)], 1);
  const needed = (sequence: number) =>
    missingBefore(state, sequence, bytes, batch, new EventView()).map(({ projectId }) => projectId);
  expect([needed(1), needed(2)]).toEqual([['first'], ['first', 'second']]);
});
