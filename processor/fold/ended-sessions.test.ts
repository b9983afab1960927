import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, SESSION_GAP_MS } from '../../ingest/event.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { currentSessions } from '../testing/stored-state.ts';
import { MINUTES_KEPT_MS } from './site-counters.ts';

// Credit for sessions that have ended, case by case. The laws are in fold.test.ts.

const LATER_MS = START_MS + 9 * TEST_LIMITS.sessionRetainMs;
const payment = (overrides: Partial<Event> = {}) =>
  plainEvent({
    name: 'revenue',
    credit: true,
    occurredAtMs: LATER_MS,
    receivedAtMs: LATER_MS,
    revenue: 500n,
    currency: 'EUR',
    path: '/paid',
    profileId: 'payer',
    ...overrides,
  });

/** One screen view, evicted and flushed. */
function endedRun(): FoldRun {
  const run = new FoldRun();
  run.take(messageOf([plainEvent()], 1));
  run.take(messageOf([], 2, LATER_MS));
  run.flush();
  return run;
}

test('a credit adds its amount and the payer, and the session ends no second time', () => {
  const run = endedRun();
  run.take(messageOf([payment(), payment({ revenue: -200n })], 3));
  run.take(messageOf([], 4, LATER_MS + 9 * TEST_LIMITS.sessionRetainMs));
  run.flush();
  const [session, ...others] = currentSessions(run.sessions);
  expect(others).toEqual([]);
  expect(session).toMatchObject({
    id: plainEvent().sessionId,
    profileId: 'payer',
    startedAt: START_MS,
    endedAt: START_MS,
    touchedAt: LATER_MS,
    screenViews: 1,
    otherEvents: 2,
    revenue: [['EUR', 300n]],
    entryPath: '/',
    exitPath: '/',
    ended: 1,
  });
  const names = run.events.map(({ values }) => values.name);
  expect(names.sort()).toEqual(['revenue', 'revenue', 'screen_view', 'session_end', 'session_start']);
  const paid = run.events.filter(({ values }) => values.name === 'revenue');
  expect(paid.map(({ values }) => [values.sessionId, values.profileId])).toEqual([
    [session?.id, 'payer'],
    [session?.id, 'payer'],
  ]);
});

test('a credit is no new session in the minutes, and its device is live', () => {
  const run = endedRun();
  run.take(messageOf([payment()], 3));
  const { head } = run.ask({ kind: 'minutes', projectId: storedId('demo'), fromMs: LATER_MS - 600_000 });
  expect(head).toMatchObject({
    minutes: [{ sessions: 0, bounces: 0, otherEvents: 1, revenue: { EUR: '500' } }],
  });
  const live = { kind: 'live', projectId: storedId('demo'), nowMs: LATER_MS } as const;
  expect(run.ask(live).head).toMatchObject({ visitors: 0, profiles: [expect.any(Number)] });
  run.flush();
  run.crash();
  expect(run.ask(live).head).toMatchObject({ visitors: 0, profiles: [expect.any(Number)] });
});

test('a credit opens a session when there is none of that id', () => {
  const run = endedRun();
  run.take(messageOf([payment({ sessionId: 'e'.repeat(32) })], 3));
  run.flush();
  expect(currentSessions(run.sessions).map(({ id }) => id)).toEqual(['f'.repeat(32), 'e'.repeat(32)]);
});

test('a credit that comes twice counts once, and then holds nothing again', () => {
  const run = endedRun();
  run.take(messageOf([payment({ eventId: 'paid' })], 3));
  const laterMs = LATER_MS + 2 * TEST_LIMITS.sessionRetainMs;
  run.take(messageOf([payment({ eventId: 'paid', receivedAtMs: laterMs })], 4));
  expect(run.state.sessions.count).toBe(0);
  run.flush();
  expect(currentSessions(run.sessions)[0]).toMatchObject({ revenue: [['EUR', 500n]] });
});

test('a credit goes to a session that the same message evicts', () => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent()], 1));
  run.take(messageOf([plainEvent({ path: '/exit' }), payment()], 2));
  expect(run.loads).toBe(0);
  run.flush();
  expect(currentSessions(run.sessions)).toMatchObject([
    { screenViews: 2, otherEvents: 1, exitPath: '/exit', ended: 1 },
  ]);
});

test('a credit waits for the flush of a session that the open batch evicted, in whatever groups messages come', () => {
  const run = endedRun();
  run.take(messageOf([], 3, LATER_MS));
  // Messages four to six arrive together.
  run.take(messageOf([payment()], 4));
  run.take(messageOf([], 5, LATER_MS + 9 * TEST_LIMITS.sessionRetainMs));
  run.take(messageOf([payment({ receivedAtMs: LATER_MS + 9 * TEST_LIMITS.sessionRetainMs })], 6));
  const { first, again } = run.tear();
  expect(again).toEqual(first);
  expect(currentSessions(run.sessions)).toMatchObject([{ otherEvents: 2, revenue: [['EUR', 1000n]] }]);
});

test('a credit to a session that is retained needs no store', () => {
  const run = new FoldRun();
  run.take(messageOf([plainEvent()], 1));
  run.take(messageOf([payment({ occurredAtMs: START_MS + SESSION_GAP_MS + 1, receivedAtMs: START_MS })], 2));
  expect(run.loads).toBe(0);
  run.flush();
  expect(currentSessions(run.sessions)).toMatchObject([
    { endedAt: START_MS, otherEvents: 1, ended: 0, revenue: [['EUR', 500n]] },
  ]);
});

/** Number of visitors of each minute in memory, the earliest first. */
function visitorsByMinute(run: FoldRun): readonly number[] {
  const { head } = run.ask({ kind: 'minutes', projectId: storedId('demo'), fromMs: 0 });
  if (head.kind !== 'minutes') throw new Error(head.kind);
  return head.minutes.toSorted((a, b) => a.minuteMs - b.minuteMs).map(({ visitors }) => visitors.length);
}

test.each([false, true])(
  'a payer is one visitor of the minute before the session ended (restart: %s)',
  (restarts) => {
    const run = new FoldRun();
    const soonMs = START_MS + TEST_LIMITS.sessionRetainMs + 1;
    run.take(messageOf([plainEvent()], 1));
    run.take(messageOf([], 2, soonMs));
    expect(run.state.sessions.count).toBe(0);
    if (restarts) run.flush();
    if (restarts) run.crash();
    // One in the minute of the view, one in its own.
    const paid = payment({ occurredAtMs: START_MS, receivedAtMs: soonMs });
    run.take(messageOf([paid, payment({ occurredAtMs: soonMs, receivedAtMs: soonMs })], 3));
    expect(visitorsByMinute(run)).toEqual([1, 1]);
    expect(run.state.minuteVisitors).toBe(2);
    // It ends and is reopened once more, by another payer.
    run.take(messageOf([], 4, soonMs + TEST_LIMITS.sessionRetainMs + 1));
    const againMs = START_MS + MINUTES_KEPT_MS;
    run.take(messageOf([payment({ occurredAtMs: START_MS, receivedAtMs: againMs, profileId: 'other' })], 5));
    expect(visitorsByMinute(run)).toEqual([1, 1]);
    expect(run.state.minuteVisitors).toBe(2);
  },
);

test('a payment before the reach of its session leaves its visitor in its minute', () => {
  const run = new FoldRun();
  const beforeMs = START_MS - SESSION_GAP_MS - 1;
  run.take(messageOf([plainEvent(), payment({ occurredAtMs: beforeMs, receivedAtMs: START_MS })], 1));
  const soonMs = START_MS + TEST_LIMITS.sessionRetainMs + 1;
  // The next session takes the place in the table.
  const next = { deviceId: 'b'.repeat(32), sessionId: 'b'.repeat(32), profileId: 'next' };
  run.take(messageOf([plainEvent({ ...next, occurredAtMs: soonMs, receivedAtMs: soonMs })], 2));
  run.take(
    messageOf([plainEvent({ ...next, profileId: '', occurredAtMs: beforeMs, receivedAtMs: soonMs })], 3),
  );
  expect(visitorsByMinute(run)).toEqual([2, 1, 1]);
});
