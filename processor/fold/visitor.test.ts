import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { Event } from '../../ingest/event.ts';
import { plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { currentSessions } from '../testing/stored-state.ts';

const DEVICES = Array.from({ length: 10 }, (_, index) => String(index).padStart(32, 'd'));

/** A screen view of a device, some minutes after the start; its session has the device's id. */
function view(deviceId: string, minutes: number, profileId = ''): Event {
  const atMs = START_MS + minutes * MINUTE_MS;
  return plainEvent({ deviceId, sessionId: deviceId, profileId, occurredAtMs: atMs, receivedAtMs: atMs });
}

/** Folds each event as a message of its own. */
function folded(...events: readonly Event[]): FoldRun {
  const run = new FoldRun();
  for (const event of events) run.take(messageOf([event], run.messages.length + 1));
  return run;
}

function live(run: FoldRun, nowMs: number): { readonly devices: number; readonly profiles: number } {
  const { head } = run.ask({ kind: 'live', projectId: storedId('demo'), nowMs });
  if (head.kind !== 'live') throw new Error(head.kind);
  return { devices: head.visitors, profiles: head.profiles.length };
}

/** The distinct visitors of all minutes in memory. */
function visitors(run: FoldRun): number {
  const { head } = run.ask({ kind: 'minutes', projectId: storedId('demo'), fromMs: START_MS - HOUR_MS });
  if (head.kind !== 'minutes') throw new Error(head.kind);
  return new Set(head.minutes.flatMap((minute) => minute.visitors)).size;
}

describe('ten devices that log in during a visit', () => {
  const events = [
    ...DEVICES.map((device) => view(device, 0)),
    ...DEVICES.map((device, index) => view(device, 1, `person-${index}`)),
  ];

  test('are ten visitors of the minutes, also after a restart and after their sessions have ended', () => {
    const run = folded(...events);
    expect(visitors(run)).toBe(10);
    run.flush();
    run.crash();
    expect(visitors(run)).toBe(10);
    run.take(messageOf([], 99, START_MS + TEST_LIMITS.sessionRetainMs + 2 * MINUTE_MS));
    expect(run.state.sessions.count).toBe(0);
    expect(visitors(run)).toBe(10);
  });

  test('are ten live visitors, all of them profiles', () => {
    const run = folded(...events);
    expect(live(run, START_MS + MINUTE_MS)).toEqual({ devices: 0, profiles: 10 });
    expect(live(run, START_MS + 7 * MINUTE_MS)).toEqual({ devices: 0, profiles: 0 });
  });

  test('are ten sessions, marked as mixed', () => {
    const run = folded(...events);
    run.flush();
    expect(currentSessions(run.sessions).map(({ profileId, mixed }) => [profileId, mixed])).toEqual(
      DEVICES.map((_, index) => [`person-${index}`, 1]),
    );
  });
});

test('a profile that is live on two devices is one live visitor, and neither device is one', () => {
  const run = folded(view('a'.repeat(32), 0, 'ada'), view('b'.repeat(32), 1), view('b'.repeat(32), 1, 'ada'));
  expect(live(run, START_MS + MINUTE_MS)).toEqual({ devices: 0, profiles: 1 });
});

test('a device is live by its session without a profile, though an earlier session of it has one', () => {
  const again = { ...view('a'.repeat(32), 31), sessionId: 'b'.repeat(32) };
  const late = { ...view('a'.repeat(32), 28, 'ada'), receivedAtMs: again.receivedAtMs };
  const run = folded(view('a'.repeat(32), 0), again, late);
  expect(live(run, again.occurredAtMs)).toEqual({ devices: 1, profiles: 1 });
});

test.each<[string, readonly string[], number]>([
  ['no profile', ['', ''], 0],
  ['the same profile from the first event on', ['ada', 'ada'], 0],
  ['a profile that comes later', ['', 'ada'], 1],
  ['a profile that an event does not name', ['ada', ''], 1],
  ['another profile', ['ada', 'bob'], 1],
])('a session with %s is marked as mixed or not', (_, profiles, mixed) => {
  const run = folded(...profiles.map((profileId, minute) => view('a'.repeat(32), minute, profileId)));
  run.flush();
  expect(currentSessions(run.sessions)).toMatchObject([
    { mixed, profileId: profiles.findLast(Boolean) ?? '' },
  ]);
});

test.each([
  ['gets a profile', view('a'.repeat(32), 10 * 29 + 1, 'ada'), [0, 1, 2, 3, 4, 5]],
  // A late event: filters on where a visit came from apply to all of its events.
  [
    'gets another entry',
    { ...view('a'.repeat(32), -1), receivedAtMs: START_MS + 10 * 29 * MINUTE_MS },
    [0, 1, 2, 3, 4, 5],
  ],
  ['gets neither', view('a'.repeat(32), 10 * 29 + 1), [0, 5]],
])('a session that %s changes every hour in which it has events, or only two', (_, event, changed) => {
  const minutes = Array.from({ length: 11 }, (_index, index) => index * 29);
  const run = folded(...minutes.map((minute) => view('a'.repeat(32), minute)));
  run.flush();
  run.take(messageOf([event], run.messages.length + 1));
  run.flush();
  const [hours] = run.batches.at(-1)?.hours.values() ?? [];
  const firstMs = Math.floor(START_MS / HOUR_MS) * HOUR_MS;
  expect([...(hours ?? [])].sort((a, b) => a - b)).toEqual(changed.map((index) => firstMs + index * HOUR_MS));
});
