import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DecodeError } from '../../infra/bus/decode-error.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, SESSION_GAP_MS } from '../../ingest/event.ts';
import { eventLists, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { creditLists, hasUniqueSessionIds } from '../testing/credits.ts';
import { liveVisitors, type ReferenceResult, reference, visitorsOf } from '../testing/reference.ts';
import { FoldRun, messageOf, TEST_LIMITS } from '../testing/run.ts';
import type { StoredRow } from '../testing/stored-rows.ts';
import { currentSessions } from '../testing/stored-state.ts';
import { openBatch } from './batch.ts';
import { EventView } from './event-view.ts';
import { foldMessage } from './fold.ts';
import { isEmptyIndex } from './session-devices.ts';
import { createSliceState } from './slice-state.ts';

const NO_ID = '0'.repeat(32);
const HOLD = { retainMs: TEST_LIMITS.sessionRetainMs };
const RUNS = { numRuns: 300 };

/** Events as they come, half of the time with payments for sessions that have ended. */
const anyLists = (maxLength = 60) => fc.oneof(eventLists({ maxLength }), creditLists({ maxLength }));

/** The rows that a run has stored, in a form that compares with the reference. */
function stored(run: FoldRun) {
  const rows = run.events.map(({ values }) => values);
  const isSynthetic = (name: unknown) => name === 'session_start' || name === 'session_end';
  return {
    events: rows
      .filter(({ name }) => !isSynthetic(name))
      .map(({ projectId, deviceId, name, createdAt, path, sessionId }) =>
        [projectId, deviceId, name, createdAt, path, sessionId === NO_ID ? '' : sessionId].join(' '),
      )
      .sort(),
    synthetic: rows
      .filter(({ name }) => isSynthetic(name))
      .map(({ name, projectId, deviceId, sessionId, createdAt }) =>
        [name, projectId, deviceId, sessionId, createdAt].join(' '),
      )
      .sort(),
    sessions: currentSessions(run.sessions).map(sessionText).sort(),
  };
}

function sessionText(row: Readonly<Record<string, unknown>>): string {
  const revenue = (row.revenue as [string, bigint][])
    .map(([currency, amount]) => `${currency}:${amount}`)
    .sort();
  return [
    row.projectId,
    row.deviceId,
    row.id,
    row.profileId,
    row.startedAt,
    row.endedAt,
    row.touchedAt,
    row.screenViews,
    row.otherEvents,
    revenue.join(','),
    row.entryOrigin,
    row.entryPath,
    row.exitOrigin,
    row.exitPath,
    row.referrer,
    row.utmSource,
    row.country,
    row.city,
    row.browser,
    row.ended,
  ].join('|');
}

/** All values of a session's row, except its flush and its sign. */
function stateText({ values }: StoredRow): string {
  const { sign: _sign, flushNumber: _flushNumber, ...state } = values;
  return JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
}

/** The same from the reference. */
function expected(all: ReferenceResult) {
  return {
    events: all.events
      .map(({ event, sessionId }) =>
        [event.projectId, event.deviceId, event.name, event.occurredAtMs, event.path, sessionId].join(' '),
      )
      .sort(),
    synthetic: all.synthetic
      .map(({ name, projectId, deviceId, sessionId, createdAtMs }) =>
        [name, projectId, deviceId, sessionId, createdAtMs].join(' '),
      )
      .sort(),
    sessions: all.sessions
      .map((session) => {
        const entry = session.entry as Event;
        return [
          session.projectId,
          session.deviceId,
          session.id,
          session.profileId,
          session.startedAtMs,
          session.endedAtMs,
          session.touchedAtMs,
          session.screenViews,
          session.otherEvents,
          Object.entries(session.revenue)
            .map(([currency, amount]) => `${currency}:${amount}`)
            .sort()
            .join(','),
          entry.origin,
          entry.path,
          session.exit.origin,
          session.exit.path,
          entry.source.referrer,
          entry.source.utmSource,
          entry.environment.country,
          entry.environment.city,
          entry.environment.browser,
          session.reopened ? 1 : 0,
        ].join('|');
      })
      .sort(),
  };
}

/** Cuts a list into messages of the given lengths, over and over. */
function messagesOf(events: readonly Event[], lengths: readonly number[]): Buffer[] {
  const messages: Buffer[] = [];
  for (let start = 0; start < events.length; ) {
    const length = Math.max(1, lengths[messages.length % lengths.length] ?? 1);
    messages.push(messageOf(events.slice(start, start + length), messages.length + 1));
    start += length;
  }
  return messages;
}

const messageLengths = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 5 });
/** The fault after each message, if any. */
const faults = fc.array(fc.constantFrom('nothing', 'flush', 'crash', 'flush and crash', 'message twice'), {
  minLength: 1,
  maxLength: 12,
});

describe('law 3: the fold', () => {
  test('equals the reference, on any order, wherever messages and flushes end', () => {
    fc.assert(
      fc.property(
        anyLists(),
        messageLengths,
        fc.array(fc.boolean(), { minLength: 1 }),
        (events, lengths, flushes) => {
          const run = new FoldRun();
          messagesOf(events, lengths).forEach((message, index) => {
            run.take(message);
            run.tick();
            if (flushes[index % flushes.length]) run.flush();
          });
          run.flush();
          expect(stored(run)).toEqual(expected(reference(events, HOLD)));
        },
      ),
      RUNS,
    );
  });

  test('read again from any crash point gives what no crash would have given', () => {
    fc.assert(
      fc.property(anyLists(), messageLengths, faults, (events, lengths, happenings) => {
        fc.pre(hasUniqueSessionIds(events));
        const run = new FoldRun();
        messagesOf(events, lengths).forEach((message, index) => {
          const happening = happenings[index % happenings.length] ?? 'nothing';
          run.take(message);
          if (happening === 'message twice') run.take(message);
          if (happening.includes('flush')) run.flush();
          if (happening.includes('crash')) run.crash();
        });
        run.flush();
        expect(stored(run)).toEqual(expected(reference(events, HOLD)));
      }),
      RUNS,
    );
  });

  test('takes a state of a session back as it was written', () => {
    fc.assert(
      fc.property(anyLists(), messageLengths, faults, (events, lengths, happenings) => {
        const run = new FoldRun();
        messagesOf(events, lengths).forEach((message, index) => {
          run.take(message);
          if (happenings[index % happenings.length] !== 'nothing') run.flush();
        });
        run.flush();
        const statesOf = (sign: 1 | -1) =>
          run.sessions.filter(({ values }) => values.sign === sign).map(stateText);
        const written = new Set(statesOf(1));
        expect(statesOf(-1).filter((state) => !written.has(state))).toEqual([]);
      }),
      RUNS,
    );
  });

  test('gives the same rows again when a flush is replayed, and never wants another flush for that', () => {
    fc.assert(
      fc.property(anyLists(), messageLengths, faults, (events, lengths, happenings) => {
        fc.pre(hasUniqueSessionIds(events));
        const run = new FoldRun();
        messagesOf(events, lengths).forEach((message, index) => {
          run.take(message);
          if (happenings[index % happenings.length] === 'nothing') return;
          const { first, again } = run.tear();
          expect(again).toEqual(first);
        });
        run.flush();
        expect(stored(run)).toEqual(expected(reference(events, HOLD)));
      }),
      RUNS,
    );
  });
});

describe('law 4: hot and history', () => {
  test('are every event and every session once, at any instant', () => {
    fc.assert(
      fc.property(
        anyLists(40),
        messageLengths,
        fc.array(fc.boolean(), { minLength: 1 }),
        (events, lengths, flushes) => {
          const run = new FoldRun();
          let arrived = 0;
          messagesOf(events, lengths).forEach((message, index) => {
            run.take(message);
            arrived += lengths[index % lengths.length] ?? 1;
            if (flushes[index % flushes.length]) run.flush();
            const together = withHotRows(run);
            const { events: wanted, sessions } = expected(reference(events.slice(0, arrived), HOLD));
            expect({ events: stored(together).events, sessions: stored(together).sessions }).toEqual({
              events: wanted,
              sessions,
            });
          });
        },
      ),
      { numRuns: 100 },
    );
  });

  test('the minutes in memory equal a recount, also after a restart', () => {
    fc.assert(
      fc.property(anyLists(40), messageLengths, fc.boolean(), (events, lengths, restarts) => {
        const run = new FoldRun();
        for (const message of messagesOf(events, lengths)) run.take(message);
        if (restarts) run.flush();
        if (restarts) run.crash();
        const { head } = run.ask({ kind: 'minutes', projectId: storedId('demo'), fromMs: 0 });
        if (head.kind !== 'minutes') throw new Error(head.kind);
        const wanted = reference(events, HOLD);
        // The reference distinguishes sessions by their ids.
        fc.pre(hasUniqueSessionIds(events));
        const fromMs = run.state.clockMs - 7_200_000;
        for (const minute of head.minutes.filter(({ minuteMs }) => minuteMs >= fromMs)) {
          const inMinute = (ms: number) => ms >= minute.minuteMs && ms < minute.minuteMs + 60_000;
          const sessions = wanted.sessions.filter((s) => s.projectId === 'demo' && inMinute(s.startedAtMs));
          const seen = wanted.events.filter(
            ({ event }) => event.projectId === 'demo' && inMinute(event.occurredAtMs),
          );
          expect([minute.sessions, minute.screenViews + minute.otherEvents, minute.visitors.length]).toEqual([
            sessions.length,
            seen.length,
            visitorsOf(wanted, seen).size,
          ]);
        }
      }),
      RUNS,
    );
  });
});

/** A copy of the run's store with the hot rows of every site added. */
function withHotRows(run: FoldRun): FoldRun {
  const together = new FoldRun();
  together.events.push(...run.events);
  together.sessions.push(...run.sessions);
  for (const site of run.state.sites.textById.slice(1)) {
    const projectId = Buffer.from(site, 'latin1').toString('utf8');
    const { events, sessions } = run.ask({ kind: 'rows', projectId: storedId(projectId) });
    together.addRows(events, sessions);
  }
  return together;
}

describe('live visitors', () => {
  test('are the visitors with an event in the five minutes before, to the second', () => {
    fc.assert(
      fc.property(anyLists(), fc.integer({ min: 0, max: 400_000 }), (events, laterMs) => {
        // Whole seconds, so that the boundary of the window falls between two of them.
        const whole = events.map((event) => ({
          ...event,
          occurredAtMs: Math.min(Math.floor(event.occurredAtMs / 1000) * 1000, event.receivedAtMs),
        }));
        const run = new FoldRun();
        run.take(messageOf(whole, 1));
        const nowMs = Math.floor((run.state.clockMs + laterMs) / 1000) * 1000 + 999;
        const { head } = run.ask({ kind: 'live', projectId: storedId('demo'), nowMs });
        const all = reference(whole, HOLD);
        fc.pre(hasUniqueSessionIds(whole));
        run.flush();
        run.crash();
        const { head: restored } = run.ask({ kind: 'live', projectId: storedId('demo'), nowMs });
        const inSession = { ...all, events: all.events.filter(({ sessionId }) => sessionId !== '') };
        if (head.kind !== 'live' || restored.kind !== 'live') throw new Error(head.kind);
        // The profiles are a set.
        expect({ ...restored, profiles: restored.profiles.toSorted() }).toEqual({
          ...head,
          profiles: head.profiles.toSorted(),
        });
        expect(head.visitors + head.profiles.length).toBe(liveVisitors(inSession, 'demo', nowMs));
      }),
      RUNS,
    );
  });
});

describe('single cases', () => {
  test('an event at the very end of the gap joins; a millisecond later it opens a session', () => {
    const at = (ms: number, sessionId: string) =>
      plainEvent({ occurredAtMs: START_MS + ms, receivedAtMs: START_MS + ms, sessionId });
    const run = new FoldRun();
    run.take(messageOf([at(0, 'a'.repeat(32)), at(SESSION_GAP_MS, 'b'.repeat(32))], 1));
    run.take(messageOf([at(2 * SESSION_GAP_MS + 1, 'c'.repeat(32))], 2));
    run.flush();
    expect(currentSessions(run.sessions).map(({ id, screenViews }) => [id, screenViews])).toEqual([
      ['a'.repeat(32), 2],
      ['c'.repeat(32), 1],
    ]);
  });

  test('an event that overtakes the one between it and its session joins it, and opens no other under its id', () => {
    const at = (gaps: number) =>
      plainEvent({ occurredAtMs: START_MS + gaps * SESSION_GAP_MS, sessionId: 'a'.repeat(32) });
    const run = new FoldRun();
    run.take(messageOf([at(0), at(1.1)], 1));
    run.take(messageOf([at(0.5)], 2));
    run.flush();
    expect(currentSessions(run.sessions).map(({ id, screenViews }) => [id, screenViews])).toEqual([
      ['a'.repeat(32), 3],
    ]);
  });

  test('a publisher’s message that comes twice, or late behind the next one, counts once', () => {
    const run = new FoldRun();
    const first = messageOf([plainEvent()], 1);
    run.take(first);
    run.take(first);
    run.take(messageOf([plainEvent({ path: '/second' })], 2));
    run.take(first);
    run.flush();
    expect(run.events.filter(({ values }) => values.name === 'screen_view')).toHaveLength(2);
  });

  test('every row has an id of its own', () => {
    const run = new FoldRun();
    run.take(messageOf([plainEvent(), plainEvent(), plainEvent()], 1));
    run.take(messageOf([], 2, START_MS + 3 * TEST_LIMITS.sessionRetainMs));
    run.flush();
    const ids = run.events.map(({ values }) => values.id);
    expect(ids).toHaveLength(5);
    expect(new Set(ids).size).toBe(5);
  });

  test('a tick ends the sessions that were silent for too long, once', () => {
    const run = new FoldRun();
    run.take(messageOf([plainEvent()], 1));
    run.take(messageOf([], 2, START_MS + TEST_LIMITS.sessionRetainMs));
    expect(run.state.sessions.count).toBe(1);
    run.take(messageOf([], 3, START_MS + TEST_LIMITS.sessionRetainMs + 1));
    run.take(messageOf([], 4, START_MS + 9 * TEST_LIMITS.sessionRetainMs));
    run.flush();
    expect(run.state.sessions.count).toBe(0);
    expect(run.events.filter(({ values }) => values.name === 'session_end')).toHaveLength(1);
  });

  test('nothing is left behind when every session has ended', () => {
    fc.assert(
      fc.property(eventLists(), (events) => {
        const run = new FoldRun();
        run.take(messageOf(events, 1));
        run.take(messageOf([], 2, START_MS + 1000 * TEST_LIMITS.sessionRetainMs));
        const { state } = run;
        expect([state.sessions.count, isEmptyIndex(state.devices), state.revenueBySlot.size]).toEqual([
          0,
          true,
          0,
        ]);
        for (const interned of [state.pages, state.sources, state.environments, state.profiles]) {
          expect(interned.idByText.size).toBe(0);
        }
      }),
      { numRuns: 50 },
    );
  });

  test('over the cap the session that was silent longest ends early, and its row is stored', () => {
    const run = new FoldRun({ ...TEST_LIMITS, sessionsMax: 2 });
    const devices = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(32));
    devices.forEach((deviceId, index) => {
      run.take(
        messageOf([plainEvent({ deviceId, sessionId: deviceId, receivedAtMs: START_MS + index })], index + 1),
      );
    });
    run.flush();
    expect(run.state.sessions.count).toBeLessThanOrEqual(3);
    expect(currentSessions(run.sessions)).toHaveLength(4);
  });

  test('bytes that are no message are rejected and change nothing', () => {
    const good = messageOf([plainEvent(), plainEvent({ properties: ['key', 'wert'] })], 1);
    fc.assert(
      fc.property(fc.nat({ max: good.length - 1 }), fc.integer({ min: 1, max: 255 }), (place, change) => {
        const bytes = Buffer.from(good);
        bytes[place] = (bytes[place] ?? 0) ^ change;
        const state = createSliceState(0, TEST_LIMITS);
        const batch = openBatch(1, 0);
        try {
          foldMessage(state, 1, bytes, batch, new EventView());
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError);
          expect([state.sequence, state.sessions.count, batch.events.ends.length]).toEqual([0, 0, 0]);
        }
      }),
      { numRuns: 2000 },
    );
    expect(() =>
      foldMessage(createSliceState(0, TEST_LIMITS), 1, good.subarray(0, 9), openBatch(1, 0), new EventView()),
    ).toThrow(DecodeError);
  });
});
