import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, SESSION_END, SESSION_START } from '../../ingest/event.ts';
import { eventLists, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { hasUniqueSessionIds } from '../testing/credits.ts';
import { type ReferenceEvent, reference, type Tick } from '../testing/reference.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import { currentSessions } from '../testing/stored-state.ts';
import { decodeEraseCommands, type EraseCommand, encodeEraseCommands } from './erase-command.ts';
import { runOf } from './interned.ts';

const HOLD = { retainMs: TEST_LIMITS.sessionRetainMs };
const RUNS = { numRuns: 300 };
const SITE = storedId('shop');
const PERSON = 'größe';

const faults = fc.array(fc.constantFrom('nothing', 'flush', 'crash'), { minLength: 1, maxLength: 9 });
const faultAt = (happenings: readonly string[], index: number) => happenings[index % happenings.length];

let publisher = 100n;

function eraseMessage(command: EraseCommand): Buffer {
  publisher += 1n;
  return Buffer.from(encodeEraseCommands({ publisherId: publisher, sentAtMs: 0 }, [command]));
}

/** All stored data of one site or of all, without values that a run may choose freely. */
function stored(run: FoldRun) {
  return {
    events: run.events
      .filter(({ values }) => values.name !== SESSION_START && values.name !== SESSION_END)
      .map(({ values }) => [values.projectId, values.deviceId, values.createdAt, values.path].join(' '))
      .sort(),
    sessions: currentSessions(run.sessions)
      .map((row) =>
        [row.projectId, row.id, row.startedAt, row.endedAt, row.screenViews, row.otherEvents].join(' '),
      )
      .sort(),
  };
}

function expected(events: readonly (ReferenceEvent | Tick)[]) {
  const all = reference(events, HOLD);
  return {
    events: all.events
      .map(({ event }) => [event.projectId, event.deviceId, event.occurredAtMs, event.path].join(' '))
      .sort(),
    sessions: all.sessions
      .map((one) =>
        [one.projectId, one.id, one.startedAtMs, one.endedAtMs, one.screenViews, one.otherEvents].join(' '),
      )
      .sort(),
  };
}

/** Folds events one by one, with faults between them; a crash may fall between erasing and removing, too. */
function takeAll(run: FoldRun, events: readonly Event[], happenings: readonly string[], from: number): void {
  events.forEach((event, index) => {
    run.take(messageOf([event], from + index + 1));
    const happening = faultAt(happenings, from + index);
    if (happening === 'flush') run.flush();
    if (happening === 'crash') run.crash();
  });
}

/** Purges: sends the command, removes rows up to that flush, and removes once more the rows that a crash brought back. */
function purge(
  run: FoldRun,
  command: EraseCommand,
  rows: (run: FoldRun) => (values: Readonly<Record<string, unknown>>) => boolean,
  happening: string | undefined,
): void {
  for (let round = 1; round <= 2; round += 1) {
    run.take(eraseMessage(command));
    const upTo = run.flushNumber;
    if (round === 1 && happening === 'crash') run.crash();
    run.remove(upTo, rows(run));
  }
}

describe('after a purge', () => {
  test('of a site, it is as if its earlier events had never been, whatever crashes', () => {
    fc.assert(
      fc.property(eventLists({ maxLength: 50 }), fc.nat(), faults, (events, drawn, happenings) => {
        fc.pre(hasUniqueSessionIds(events));
        const at = events.length === 0 ? 0 : drawn % events.length;
        const run = new FoldRun();
        takeAll(run, events.slice(0, at), happenings, 0);
        const ofSite = { projectId: SITE, profileId: null, beforeMs: null };
        purge(
          run,
          ofSite,
          () =>
            ({ projectId }) =>
              projectId === SITE,
          faultAt(happenings, at),
        );
        takeAll(run, events.slice(at), happenings, at);
        run.flush();
        const kept = events.map((event, index) =>
          event.projectId === SITE && index < at ? { tickAtMs: event.receivedAtMs } : event,
        );
        expect(stored(run)).toEqual(expected(kept));
      }),
      RUNS,
    );
  });

  test('of a person, their visits are as if they had never been, and what they do later is new', () => {
    fc.assert(
      fc.property(eventLists({ maxLength: 50 }), fc.nat(), faults, (drawnEvents, drawn, happenings) => {
        // A remembered id makes a repetition of an erased event count for nothing, which is no loss.
        const events = drawnEvents.map((event) => ({
          ...event,
          eventId: '',
          profileId: event.profileId === '' || event.profileId === 'مرحبا' ? event.profileId : PERSON,
        }));
        fc.pre(hasUniqueSessionIds(events));
        const at = events.length === 0 ? 0 : drawn % events.length;
        const before = reference(events.slice(0, at), HOLD);
        const visits = before.sessions
          .filter(({ projectId, profileId }) => projectId === SITE && profileId === PERSON)
          .map(({ id }) => id);
        const isTheirs = (event: ReferenceEvent, sessionId: string) =>
          event.projectId === SITE && (event.profileId === PERSON || visits.includes(sessionId));
        const theirs = new Set(
          before.events
            .filter(({ event, sessionId }) => isTheirs(event, sessionId))
            .map(({ event }) => event),
        );
        // A visit that names another person last belongs to that person, with all of its counts.
        fc.pre(
          before.events.every(({ event, sessionId }) => !theirs.has(event) || visits.includes(sessionId)),
        );
        const run = new FoldRun();
        takeAll(run, events.slice(0, at), happenings, 0);
        const rowsOf = ({ sessions }: FoldRun) => {
          const latest = new Map<unknown, Readonly<Record<string, unknown>>>();
          for (const { values } of sessions)
            if (
              values.projectId === SITE &&
              Number(values.version) >= Number(latest.get(values.id)?.version ?? 0)
            )
              latest.set(values.id, values);
          const ids = new Set(
            [...latest].filter(([, values]) => values.profileId === PERSON).map(([id]) => id),
          );
          return (values: Readonly<Record<string, unknown>>) =>
            values.projectId === SITE &&
            (ids.has(values.id) ||
              ids.has(values.sessionId) ||
              (values.profileId === PERSON && 'name' in values));
        };
        const ofPerson = { projectId: SITE, profileId: PERSON, beforeMs: null };
        purge(run, ofPerson, rowsOf, faultAt(happenings, at));
        takeAll(run, events.slice(at), happenings, at);
        run.flush();
        const kept = events.map((event) => (theirs.has(event) ? { tickAtMs: event.receivedAtMs } : event));
        expect(stored(run)).toEqual(expected(kept));
      }),
      RUNS,
    );
  });
});

describe('what is erased', () => {
  const view = (what: Partial<Event>) => plainEvent({ deviceId: 'd'.repeat(32), ...what });

  test('of a site without sessions are its event ids, also after a restart', () => {
    const run = new FoldRun();
    run.take(messageOf([view({ projectId: SITE, deviceId: '', eventId: 'one', sessionId: '' })], 1));
    run.flush();
    run.crash();
    run.take(eraseMessage({ projectId: SITE, profileId: null, beforeMs: null }));
    expect([run.state.eventIds.size, run.state.counters.size]).toEqual([0, 0]);
  });

  test('of a site is everything that memory has: sessions, live visitors, minutes, event ids', () => {
    const run = new FoldRun();
    run.take(messageOf([view({ projectId: SITE, eventId: 'one' }), view({ eventId: 'two' })], 1));
    run.take(eraseMessage({ projectId: SITE, profileId: null, beforeMs: null }));
    const { state } = run;
    expect(state.counters.has(runOf(SITE))).toBe(false);
    expect([state.eventIds.size, state.eventIds.peek('demo', 'two')?.atMs]).toEqual([1, START_MS]);
    expect(state.sessions.count).toBe(1);
    expect(state.minuteVisitors).toBe(1);
    expect(run.ask({ kind: 'rows', projectId: SITE })).toMatchObject({
      head: { eventRows: 0, sessionRows: 0 },
    });
    const live = run.ask({ kind: 'live', projectId: SITE, nowMs: START_MS });
    expect(live).toMatchObject({ head: { visitors: 0 } });
  });

  test('of a person is a live visitor the less, and a visitor of each minute, whose counts stay', () => {
    const run = new FoldRun();
    run.take(messageOf([view({ profileId: PERSON }), view({ deviceId: 'e'.repeat(32) })], 1));
    run.take(eraseMessage({ projectId: storedId('demo'), profileId: PERSON, beforeMs: null }));
    const live = run.ask({ kind: 'live', projectId: storedId('demo'), nowMs: START_MS });
    expect(live).toMatchObject({ head: { visitors: 1 } });
    const minutes = run.ask({ kind: 'minutes', projectId: storedId('demo'), fromMs: START_MS - 60_000 });
    expect(minutes).toMatchObject({
      head: { minutes: [{ screenViews: 2, visitors: [expect.any(Number)] }] },
    });
    expect(run.state.minuteVisitors).toBe(1);
  });

  test('before a time are the sessions that ended before it', () => {
    const run = new FoldRun();
    const late = { deviceId: 'e'.repeat(32), sessionId: 'e'.repeat(32), occurredAtMs: START_MS + 1 };
    run.take(messageOf([view({}), view(late)], 1));
    run.take(eraseMessage({ projectId: storedId('demo'), profileId: null, beforeMs: START_MS + 1 }));
    expect(run.state.sessions.count).toBe(1);
    run.flush();
    expect(run.state.counters.has('demo')).toBe(true);
  });

  test('is told by a message that can be read, or by none', () => {
    const all = [{ projectId: storedId('größe'), profileId: 'a\u0000b', beforeMs: 1.5 }];
    const message = encodeEraseCommands({ publisherId: 1n, sentAtMs: 2 }, all);
    expect(decodeEraseCommands(message)).toEqual(all);
    expect(decodeEraseCommands(messageOf([], 1))).toBeUndefined();
    expect(() => decodeEraseCommands(message.subarray(0, message.length - 1))).toThrow(DecodeError);
    expect(() => decodeEraseCommands(Buffer.concat([message, Buffer.of(0)]))).toThrow(DecodeError);
  });
});
