import fc from 'fast-check';
import { expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SESSION_END, SESSION_GAP_MS, SESSION_START, sessionIdOf } from '../../ingest/event.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { answerSessions } from './session-answers.ts';

// Session ids from end to end: granted by the owner or derived by a collector, and stored by the fold.

const RETAIN_MS = TEST_LIMITS.sessionRetainMs;
const PROJECT = storedId('demo');

/** An event that arrives at `nowMs`. */
interface Coming {
  readonly deviceId: string;
  readonly occurredAtMs: number;
  readonly nowMs: number;
}

/** The session that the owner of the run's lane names. */
function ask(run: FoldRun, { deviceId, occurredAtMs, nowMs }: Coming): string {
  const asked = { projectId: PROJECT, deviceId, occurredAtMs, eventId: '', credit: false };
  const [answer] = answerSessions(run.state, [asked], { nowMs, ended: new Map() });
  return must(answer, 'a question without an answer').sessionId;
}

/** Folds an event under an id, as the next message of the run; its path shows the message number. */
function send(
  run: FoldRun,
  { deviceId, occurredAtMs, nowMs }: Coming,
  sessionId: string,
  certain = true,
): string {
  const number = run.messages.length + 1;
  const path = `/${number}`;
  const event = plainEvent({ deviceId, occurredAtMs, receivedAtMs: nowMs, path, sessionId, certain });
  run.take(messageOf([event], number));
  return path;
}

function tick(run: FoldRun, nowMs: number): void {
  run.take(messageOf([], run.messages.length + 1, nowMs));
}

/** Rows of events of that name. */
function rowsOf(run: FoldRun, name: string) {
  return run.events.map(({ values }) => values).filter((values) => values.name === name);
}

test('a late event of a session that was evicted opens another, under the id that was granted', () => {
  const run = new FoldRun();
  const first: Coming = { deviceId: 'd', occurredAtMs: START_MS, nowMs: START_MS };
  const firstId = ask(run, first);
  send(run, first, firstId);
  tick(run, START_MS + RETAIN_MS + 1);
  const late: Coming = { ...first, nowMs: START_MS + 2 * RETAIN_MS };
  const lateId = ask(run, late);
  send(run, late, lateId);
  tick(run, START_MS + 9 * RETAIN_MS);
  run.flush();
  expect(lateId).not.toBe(firstId);
  expect(rowsOf(run, SESSION_START).map(({ sessionId }) => sessionId)).toEqual([firstId, lateId]);
  // A session has one end, after every event of its millisecond.
  expect(rowsOf(run, SESSION_END).map(({ id }) => id)).toEqual(
    [firstId, lateId].map((sessionId) => `ffffffff${sessionId.slice(0, 8)}${sessionId.slice(16)}`),
  );
});

test('a session that will be evicted by then does not hide from the owner the one that an event will join', () => {
  const run = new FoldRun();
  const come = (occurredAtMs: number, nowMs: number) => {
    const coming = { deviceId: 'd', occurredAtMs: START_MS + occurredAtMs, nowMs: START_MS + nowMs };
    const sessionId = ask(run, coming);
    send(run, coming, sessionId);
    return sessionId;
  };
  come(0, 0);
  const next = come(SESSION_GAP_MS + 1, SESSION_GAP_MS + 1);
  const late = come(1, RETAIN_MS + 1);
  run.flush();
  expect(late).toBe(next);
  expect(rowsOf(run, 'screen_view').at(-1)?.sessionId).toBe(next);
});

/** The next step: time passes, and an event of now or of long ago arrives, or a collector only asks. */
const step = fc.record({
  waitMs: fc.oneof(
    fc.integer({ min: 0, max: SESSION_GAP_MS }),
    fc.integer({ min: 0, max: 2 * RETAIN_MS }),
    fc.constantFrom(RETAIN_MS, RETAIN_MS + 1),
  ),
  deviceId: fc.constantFrom('d', 'e'),
  // Minutes since the run began, for late events: some half hours around its beginning.
  lateAtMs: fc.option(fc.integer({ min: -SESSION_GAP_MS, max: 2 * SESSION_GAP_MS }), { nil: undefined }),
  by: fc.constantFrom('owner', 'owner', 'owner silent', 'no event'),
  happens: fc.constantFrom('nothing', 'nothing', 'tick', 'flush', 'crash'),
});

test('no two sessions share an id, whatever comes late and whichever node named it; what the owner named is stored', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const run = new FoldRun();
      const answered = new Map<unknown, string>();
      let nowMs = START_MS;
      for (const { waitMs, deviceId, lateAtMs, by, happens } of steps) {
        nowMs += waitMs;
        const occurredAtMs = lateAtMs === undefined ? nowMs : Math.min(nowMs, START_MS + lateAtMs);
        const coming: Coming = { deviceId, occurredAtMs, nowMs };
        if (by === 'owner silent')
          send(run, coming, sessionIdOf(PROJECT, deviceId, occurredAtMs, nowMs), false);
        else {
          const sessionId = ask(run, coming);
          if (by === 'owner') answered.set(send(run, coming, sessionId), sessionId);
        }
        if (happens === 'tick') tick(run, nowMs);
        if (happens === 'flush') run.flush();
        if (happens === 'crash') run.crash();
      }
      tick(run, nowMs + RETAIN_MS + 1);
      run.flush();
      const started = rowsOf(run, SESSION_START).map(({ sessionId }) => sessionId);
      expect(new Set(started).size).toBe(started.length);
      const rowIds = run.events.map(({ values }) => values.id);
      expect(new Set(rowIds).size).toBe(rowIds.length);
      const stored = run.events.map(({ values }) => values).filter(({ path }) => answered.has(path));
      const elsewhere = stored.filter(
        ({ name, path, sessionId }) => name === 'screen_view' && sessionId !== answered.get(path),
      );
      expect(elsewhere).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});
