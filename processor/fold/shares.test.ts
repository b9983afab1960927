import { expect, test } from 'vitest';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { answerSessions } from './session-answers.ts';
import { EVENT_ID_MEMORY_MS } from './slice-state.ts';

// One site floods a slice with event ids; the ids of the other sites stay known.

const IDS_MAX = 200;
const MESSAGE_EVENTS = 100;

function runWith(eventIdsMax: number): FoldRun {
  return new FoldRun({ ...TEST_LIMITS, eventIdsMax });
}

function send(run: FoldRun, projectId: StoredId, eventIds: readonly string[], atMs = START_MS): void {
  const events = eventIds.map((eventId) =>
    plainEvent({
      projectId,
      eventId,
      deviceId: `device of ${projectId}`,
      occurredAtMs: atMs,
      receivedAtMs: atMs,
    }),
  );
  for (let start = 0; start < events.length; start += MESSAGE_EVENTS)
    run.take(messageOf(events.slice(start, start + MESSAGE_EVENTS), run.messages.length + 1));
}

function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** The rows that were stored under this id. */
function rowsOf(run: FoldRun, projectId: StoredId, eventId: string): number {
  return run.events.filter(({ values }) => values.projectId === projectId && values.eventId === eventId)
    .length;
}

function answerTo(run: FoldRun, projectId: StoredId, eventId: string) {
  const question = {
    projectId,
    deviceId: `device of ${projectId}`,
    occurredAtMs: START_MS,
    eventId,
    credit: false,
  };
  return answerSessions(run.state, [question], { nowMs: START_MS, ended: new Map() })[0]?.kind;
}

test('a flood of event ids on one site leaves the repeats of another site recognized', () => {
  const run = runWith(IDS_MAX);
  send(run, storedId('quiet'), ['order-1', 'order-2']);
  send(run, storedId('flood'), idsOf('flood', 20 * IDS_MAX));
  expect(answerTo(run, storedId('quiet'), 'order-1')).toBe('repeat');
  send(run, storedId('quiet'), ['order-1', 'order-2', 'order-3']);
  run.flush();
  const stored = ['order-1', 'order-2', 'order-3'].map((id) => rowsOf(run, storedId('quiet'), id));
  expect(stored).toEqual([1, 1, 1]);
});

test('the flooding site itself loses its oldest ids', () => {
  const run = runWith(IDS_MAX);
  send(run, storedId('quiet'), idsOf('quiet', 50));
  send(run, storedId('flood'), idsOf('flood', 2 * IDS_MAX));
  const known = idsOf('flood', 2 * IDS_MAX).filter((id) => answerTo(run, storedId('flood'), id) === 'repeat');
  expect(known).toEqual(idsOf('flood', 2 * IDS_MAX).slice(-(IDS_MAX - 50)));
});

test('after a restart, too, a flood leaves the ids of another site known', () => {
  const run = runWith(IDS_MAX);
  send(run, storedId('quiet'), ['order-1']);
  run.flush();
  send(run, storedId('flood'), idsOf('flood', 3 * IDS_MAX));
  run.flush();
  run.crash();
  send(run, storedId('flood'), idsOf('more', IDS_MAX));
  send(run, storedId('quiet'), ['order-1']);
  run.flush();
  expect(rowsOf(run, storedId('quiet'), 'order-1')).toBe(1);
});

test('ids are forgotten after a day, also those of a site without further events', () => {
  const run = runWith(IDS_MAX);
  send(run, storedId('quiet'), idsOf('quiet', 50));
  send(run, storedId('other'), ['one']);
  const later = START_MS + EVENT_ID_MEMORY_MS + 1;
  send(run, storedId('other'), ['one'], later);
  run.tick();
  run.flush();
  expect(rowsOf(run, storedId('other'), 'one')).toBe(2);
  expect(run.state.eventIds.size).toBe(1);
});
