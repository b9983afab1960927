import { expect, test } from 'vitest';
import { SESSION_END, SESSION_GAP_MS, sessionIdOf } from '../../ingest/event.ts';
import type { SessionQuestion } from '../../ingest/session-lookup.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { answerKnown, answerSessions, dependsOnLag, endedQuestions } from './session-answers.ts';

const { deviceId, projectId, sessionId } = plainEvent();
const SPAN = { sessionId, firstMs: START_MS, lastMs: START_MS };
const LATER_MS = START_MS + 2 * SESSION_GAP_MS;

/** A slice that retains one session of one screen view. */
function heldState() {
  const run = new FoldRun();
  run.take(messageOf([plainEvent({ eventId: 'seen' })], 1));
  return run.state;
}

function question(overrides: Partial<SessionQuestion> = {}): SessionQuestion {
  return { projectId, deviceId, occurredAtMs: LATER_MS, eventId: '', credit: true, ...overrides };
}

const none = { nowMs: START_MS, ended: new Map() };

test('the store is asked where credit is, and no session that is retained reaches the event', () => {
  const state = heldState();
  const asked = endedQuestions(
    state,
    [
      question({ credit: false }),
      question({ occurredAtMs: START_MS + SESSION_GAP_MS }),
      question({ eventId: 'seen' }),
      question({ deviceId: '' }),
      question(),
      question({ deviceId: 'nobody' }),
    ],
    START_MS,
  );
  expect(asked).toEqual([
    { place: 4, projectId, deviceId, occurredAtMs: LATER_MS, retainedIds: [sessionId], held: SPAN },
    { place: 5, projectId, deviceId: 'nobody', occurredAtMs: LATER_MS, retainedIds: [], held: undefined },
  ]);
});

test('a session that is about to be evicted has ended, though it reaches the event', () => {
  const state = heldState();
  const asked = question({ occurredAtMs: START_MS });
  const nowMs = START_MS + TEST_LIMITS.sessionRetainMs + 1;
  expect(endedQuestions(state, [asked], nowMs)).toMatchObject([{ place: 0, held: SPAN }]);
  const ended = new Map([[0, SPAN]]);
  expect(answerSessions(state, [asked], { nowMs, ended })).toEqual([{ kind: 'ended', ...SPAN }]);
});

test('a repeat and an open session come before an ended one, and what is granted behind it', () => {
  const state = heldState();
  const old = { sessionId: 'a'.repeat(32), firstMs: 1, lastMs: 2 };
  const questions = [
    question({ eventId: 'seen' }),
    question({ occurredAtMs: START_MS }),
    question(),
    question({ deviceId: 'nobody' }),
  ];
  const ended = new Map([0, 1, 2].map((place) => [place, old]));
  expect(answerSessions(state, questions, { nowMs: START_MS, ended })).toEqual([
    { kind: 'repeat', sessionId, firstMs: 0, lastMs: 0 },
    { kind: 'open', ...SPAN },
    { kind: 'ended', ...old },
    {
      kind: 'granted',
      sessionId: sessionIdOf(projectId, 'nobody', LATER_MS, START_MS),
      firstMs: LATER_MS,
      lastMs: LATER_MS,
    },
  ]);
});

test('an ended session is no promise: the device’s next event is granted its own', () => {
  const state = heldState();
  answerSessions(state, [question()], { nowMs: START_MS, ended: new Map([[0, SPAN]]) });
  expect(state.grants.size).toBe(0);
  expect(answerSessions(state, [question({ credit: false })], none)).toMatchObject([
    { kind: 'granted', sessionId: sessionIdOf(projectId, deviceId, LATER_MS, START_MS) },
  ]);
});

test('a session is promised to a whole visit, however its questions and its events are divided', () => {
  const minutes = [0, 17, 24, 28, 48, 52, 65, 70];
  const times = minutes.map((minute) => LATER_MS + minute * 60_000);
  const id = sessionIdOf(projectId, deviceId, LATER_MS, START_MS);
  for (const folded of minutes.keys()) {
    const run = new FoldRun();
    run.take(messageOf([plainEvent({ eventId: 'seen' })], 1));
    const found = times.map((occurredAtMs, index) => {
      // Only some of the events are folded before the rest is asked for.
      if (index > 0 && index === folded)
        run.take(messageOf([plainEvent({ occurredAtMs: LATER_MS, sessionId: id })], 2));
      const asked = question({ occurredAtMs, credit: false });
      return answerSessions(run.state, [asked], none)[0]?.sessionId;
    });
    expect(found).toEqual(times.map(() => id));
  }
});

test('an event that reaches an open session carries it on before it is folded', () => {
  const state = heldState();
  const times = [20, 45, 70, -25, -50].map((minute) => START_MS + minute * 60_000);
  const found = times.map(
    (occurredAtMs) => answerSessions(state, [question({ occurredAtMs, credit: false })], none)[0]?.sessionId,
  );
  expect(found).toEqual(times.map(() => sessionId));
});

test('a promise of a session that has not opened stays while another session is asked about, ends, or is evicted', () => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent({ eventId: 'seen' })], 1));
  const { state } = run;
  const ask = (atMs: number, nowMs = START_MS) =>
    answerSessions(state, [question({ occurredAtMs: atMs, credit: false })], { nowMs, ended: new Map() })[0]
      ?.sessionId;
  const minute = 60_000;
  const granted = ask(LATER_MS);
  expect(ask(LATER_MS + 20 * minute)).toBe(granted);
  expect(ask(START_MS + 10 * minute)).toBe(sessionId);
  expect(ask(LATER_MS + 45 * minute)).toBe(granted);
  // The session that was there is evicted.
  run.take(messageOf([], 2, START_MS + TEST_LIMITS.sessionRetainMs + minute));
  run.flush();
  expect(run.events.filter(({ values }) => values.name === SESSION_END)).toHaveLength(1);
  expect(ask(LATER_MS + 70 * minute, state.clockMs)).toBe(granted);
});

test('credit depends on what is not folded yet, unless a session reaches the event', () => {
  const state = heldState();
  expect(dependsOnLag(state, [question({ deviceId: 'nobody', credit: false })], START_MS)).toBe(false);
  expect(dependsOnLag(state, [question({ deviceId: 'nobody' })], START_MS)).toBe(true);
  expect(dependsOnLag(state, [question({ occurredAtMs: START_MS })], START_MS)).toBe(false);
});

test('a slice that is far behind says what it knows, and grants nothing', () => {
  const state = heldState();
  const questions = [
    question({ eventId: 'seen' }),
    question({ occurredAtMs: START_MS, eventId: 'new', credit: false }),
    question({ credit: false }),
    question(),
    question({ deviceId: 'nobody' }),
  ];
  const unknown = { kind: 'unknown', sessionId: '', firstMs: 0, lastMs: 0 };
  expect(answerKnown(state, questions, START_MS)).toEqual([
    { kind: 'repeat', sessionId, firstMs: 0, lastMs: 0 },
    { kind: 'open', ...SPAN },
    unknown,
    unknown,
    unknown,
  ]);
  expect(state.grants.size).toBe(0);
});
