import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { SESSION_GAP_MS, sessionIdOf } from '../../ingest/event.ts';
import { figures, liveVisitors, type ReferenceEvent, reference, type Tick } from './reference.ts';

const RETAIN_MS = 60 * MINUTE_MS;
const START_MS = Date.UTC(2024, 0, 1, 12);

function event(minute: number, overrides: Partial<ReferenceEvent> = {}): ReferenceEvent {
  return {
    projectId: 'demo',
    deviceId: 'd',
    profileId: '',
    eventId: '',
    name: 'screen_view',
    occurredAtMs: START_MS + minute * MINUTE_MS,
    receivedAtMs: START_MS,
    sessionId: undefined,
    revenue: undefined,
    currency: '',
    origin: 'https://a.example',
    path: `/${minute}`,
    source: undefined,
    environment: undefined,
    ...overrides,
  };
}

/** Start and end of each session in minutes, in order. */
function spans(...arrivals: (ReferenceEvent | Tick)[]): number[][] {
  return reference(arrivals, { retainMs: RETAIN_MS }).sessions.map(({ startedAtMs, endedAtMs }) =>
    [startedAtMs, endedAtMs].map((ms) => (ms - START_MS) / MINUTE_MS),
  );
}

test('an event exactly a gap later joins; a millisecond more opens a session', () => {
  const just = event(0, { occurredAtMs: START_MS + SESSION_GAP_MS });
  const over = event(0, { occurredAtMs: START_MS + SESSION_GAP_MS + 1 });
  expect(spans(event(0), just)).toEqual([[0, 30]]);
  expect(spans(event(0), over)).toHaveLength(2);
});

test('a late event moves the start of the session that it reaches', () => {
  expect(spans(event(40), event(10))).toEqual([[10, 40]]);
  expect(spans(event(40), event(9))).toEqual([
    [9, 9],
    [40, 40],
  ]);
});

test('a late event between two sessions joins the earlier one and merges nothing', () => {
  expect(spans(event(0), event(50), event(25))).toEqual([
    [0, 25],
    [50, 50],
  ]);
});

test('of two sessions that contain a time, the one that starts later takes the event', () => {
  // The first session reaches from 0 to 25 + 30, the second starts at 50: both could take 52.
  const all = reference([event(0), event(50), event(25), event(54), event(52)], { retainMs: RETAIN_MS });
  expect(all.events.at(-1)?.sessionId).toBe(
    sessionIdOf(storedId('demo'), 'd', event(50).occurredAtMs, START_MS),
  );
});

test('an evicted session is not joined, and ends once', () => {
  const late = event(1, { receivedAtMs: START_MS + RETAIN_MS + 1 });
  const all = reference([event(0), { tickAtMs: START_MS + RETAIN_MS }, late], { retainMs: RETAIN_MS });
  expect(all.sessions).toHaveLength(2);
  expect(all.synthetic.map(({ name, createdAtMs }) => [name, createdAtMs - START_MS])).toEqual([
    ['session_start', 0],
    ['session_end', 0],
    ['session_start', MINUTE_MS],
  ]);
});

test('a repeat within a day counts once, and after it again', () => {
  const first = event(0, { eventId: 'e' });
  const day = START_MS + DAY_MS;
  const at = (receivedAtMs: number) => ({ ...first, receivedAtMs });
  expect(reference([first, at(day)], { retainMs: RETAIN_MS }).events).toHaveLength(1);
  expect(reference([first, at(day + 1)], { retainMs: RETAIN_MS }).events).toHaveLength(2);
});

test('entry and exit prefer screen views, and ties go to the first and the last arrival', () => {
  const { sessions } = reference(
    [
      event(5, { path: '/a' }),
      event(0, { name: 'click', path: '/click' }),
      event(5, { path: '/b' }),
      event(9, { name: 'click', path: '/late-click', profileId: 'p' }),
      event(5, { path: '/c' }),
    ],
    { retainMs: RETAIN_MS },
  );
  expect(sessions[0]).toMatchObject({ screenViews: 3, otherEvents: 2, profileId: 'p' });
  expect([sessions[0]?.entry.path, sessions[0]?.exit.path]).toEqual(['/a', '/c']);
});

test('a session counts where it began, an event where it happened', () => {
  const paid = event(20, { name: 'revenue', revenue: 500n, currency: 'EUR' });
  const all = reference([event(0), paid, event(1, { deviceId: 'e', profileId: 'p' })], {
    retainMs: RETAIN_MS,
  });
  const span = { projectId: 'demo', fromMs: event(1).occurredAtMs, untilMs: event(30).occurredAtMs };
  expect(figures(all, span)).toEqual({
    screenViews: 1,
    otherEvents: 1,
    visitors: 2,
    sessions: 1,
    bounces: 1,
    durationMs: 0,
    revenue: { EUR: 500n },
  });
  expect(liveVisitors(all, 'demo', event(5).occurredAtMs)).toBe(1);
});

test('an event without device has no session', () => {
  const all = reference([event(0, { deviceId: '' }), event(0, { sessionId: '' })], { retainMs: RETAIN_MS });
  expect(all.sessions).toEqual([]);
  expect(all.events.map(({ sessionId }) => sessionId)).toEqual(['', '']);
});
