import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, SESSION_GAP_MS, sessionIdOf, subjectOf } from '../../ingest/event.ts';
import {
  decodeSessionAnswers,
  encodeSessionQuestions,
  type SessionAnswer,
  sessionLookupSubjectOf,
} from '../../ingest/session-lookup.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { decodeHotAnswer, encodeHotQuestion, type HotHead, type HotQuestion, hotSubjectOf } from '../hot.ts';
import { answering, type LaneWorld, type RunningLane, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf, TEST_LIMITS } from '../testing/run.ts';

// Payments after the end of their session, on a real bus and a real store. The receive clock runs ahead of the wall
// clock, so that sessions are evicted without waiting:
//
// START ── screen view ── retained ── evicted ── LATER ── payment
const RETAIN_MS = TEST_LIMITS.sessionRetainMs;
/** No flush unless one is requested. */
const SELDOM = { FLUSH_INTERVAL_MS: '60000' };

let world: LaneWorld;
let lane = 0;
let published = 0;
let startMs = 0;
let laterMs = 0;

beforeAll(async () => {
  world = await startLaneWorld('revive_test');
});

afterAll(() => world.stop());

beforeEach(async () => {
  lane += 1;
  await world.open(lane);
  startMs = Date.now();
  laterMs = startMs + 9 * RETAIN_MS;
});

afterEach(() => world.stopLanes());

async function start(
  env: Readonly<Record<string, string>> = {},
  crashPoint: (point: CrashPoint) => void = () => {},
): Promise<RunningLane> {
  const running = await world.start({ lane, instance: 'one', env, crashPoint });
  await answering(running);
  return running;
}

async function publish(events: readonly Event[], sentAtMs = 0): Promise<void> {
  published += 1;
  await world.bus.publish(subjectOf(lane), messageOf(events, published, sentAtMs), 5_000);
}

const deviceOf = (name: string) => `${name}-${lane}`.padEnd(32, '.');
const idOf = (name: string) => Buffer.from(`${name}-${lane}`.padEnd(16, '.')).toString('hex');

/** A screen view `atMs` after the start, in a session named by `name`. */
function view(device: string, session: string, atMs = 0): Event {
  const occurredAtMs = startMs + atMs;
  return plainEvent({
    deviceId: deviceOf(device),
    sessionId: idOf(session),
    occurredAtMs,
    receivedAtMs: startMs,
  });
}

function payment(device: string, session: string, overrides: Partial<Event> = {}): Event {
  return plainEvent({
    deviceId: deviceOf(device),
    sessionId: idOf(session),
    name: 'revenue',
    credit: true,
    occurredAtMs: laterMs,
    receivedAtMs: laterMs,
    revenue: 500n,
    currency: 'EUR',
    ...overrides,
  });
}

/** Evicts every session that was not touched since the start. */
const tick = (atMs = laterMs) => publish([], atMs);

async function lookUp(...asked: readonly [device: string, atMs: number][]): Promise<SessionAnswer[]> {
  const questions = asked.map(([device, occurredAtMs]) => {
    return {
      projectId: storedId('demo'),
      deviceId: deviceOf(device),
      occurredAtMs,
      eventId: '',
      credit: true,
    };
  });
  const bytes = await world.bus.ask(sessionLookupSubjectOf(lane), encodeSessionQuestions(questions), 10_000);
  return must(decodeSessionAnswers(bytes), 'answers');
}

async function ask(question: HotQuestion): Promise<HotHead> {
  const bytes = await world.bus.ask(hotSubjectOf(lane), encodeHotQuestion(question), 10_000);
  return decodeHotAnswer(bytes).head;
}

/** Resolves when everything on the bus is folded. */
async function folded(): Promise<void> {
  const head = await ask({ kind: 'rows', projectId: storedId('demo') });
  expect(head.kind).toBe('rows');
}

/** Resolves when everything on the bus is in the store and checkpointed. */
async function flushed(): Promise<void> {
  await until('the flush', async () => {
    const head = await ask({ kind: 'rows', projectId: storedId('demo') });
    return (head.kind === 'rows' && head.eventRows + head.sessionRows === 0) || undefined;
  });
}

/** The device's sessions in the store, merged or not. */
function sessionsOf(device: string) {
  return world.store.query<Record<string, unknown>>(
    `SELECT lower(hex(id)) AS id, toInt32(sum(sign)) AS sessions, toInt32(sum(sign * screenViews)) AS screenViews,
            toInt32(sum(sign * otherEvents)) AS otherEvents, sum(sign * revenue['EUR']) AS euro,
            toInt32(sum(sign * ended)) AS ended,
            toInt64(sum(sign * (toUnixTimestamp64Milli(endedAt) - toUnixTimestamp64Milli(startedAt)))) AS durationMs
     FROM sessions WHERE deviceId = {device:String} GROUP BY id HAVING sum(sign) != 0 ORDER BY id`,
    { device: deviceOf(device) },
  );
}

async function namesOf(device: string): Promise<string[]> {
  const rows = await world.store.query<{ name: string }>(
    'SELECT name FROM events WHERE deviceId = {device:String} ORDER BY name',
    { device: deviceOf(device) },
  );
  return rows.map(({ name }) => name);
}

const once = (euro: number, more: Record<string, unknown> = {}) => [
  { id: idOf('a'), sessions: 1, screenViews: 1, otherEvents: 1, euro, ended: 1, durationMs: 0, ...more },
];

describe('the look-up for a late payment', () => {
  test('finds the last session that began before it, else the latest one, for many devices at once', async () => {
    await start();
    await publish([
      view('d', 'first', -10 * SESSION_GAP_MS),
      view('d', 'second', -5 * SESSION_GAP_MS),
      view('d', 'third'),
    ]);
    await publish([view('e', 'only')]);
    await tick();
    await flushed();
    const nobodysId = () => sessionIdOf(storedId('demo'), deviceOf('nobody'), laterMs, Date.now());
    const earliestId = nobodysId();
    const span = (session: string, atMs: number) => ({
      kind: 'ended',
      sessionId: idOf(session),
      firstMs: startMs + atMs,
      lastMs: startMs + atMs,
    });
    const answers = await lookUp(
      ['d', laterMs],
      ['d', startMs - 2 * SESSION_GAP_MS],
      ['d', startMs - 99 * SESSION_GAP_MS],
      ['nobody', laterMs],
      ['e', laterMs],
    );
    expect(answers).toEqual([
      span('third', 0),
      span('second', -5 * SESSION_GAP_MS),
      span('third', 0),
      {
        kind: 'granted',
        // The half hour may have changed meanwhile.
        sessionId: expect.toBeOneOf([earliestId, nobodysId()]),
        firstMs: laterMs,
        lastMs: laterMs,
      },
      span('only', 0),
    ]);
  });

  test('finds an evicted session that is not flushed yet', async () => {
    await start(SELDOM);
    await publish([view('d', 'a')]);
    await tick();
    await folded();
    expect(await namesOf('d')).toEqual([]);
    expect(await lookUp(['d', laterMs])).toMatchObject([{ kind: 'ended', sessionId: idOf('a') }]);
  });

  test('finds the latest of the retained and the stored sessions', async () => {
    await start();
    await publish([view('d', 'old', -5 * SESSION_GAP_MS), view('d', 'young')]);
    await tick();
    await flushed();
    await publish([payment('d', 'old')]);
    await flushed();
    expect(await lookUp(['d', laterMs])).toMatchObject([{ kind: 'ended', sessionId: idOf('young') }]);
    await publish([view('d', 'youngest', 3 * SESSION_GAP_MS)]);
    expect(await lookUp(['d', laterMs])).toMatchObject([{ kind: 'ended', sessionId: idOf('youngest') }]);
  });

  test('answers the session that reaches the event', async () => {
    await start();
    await publish([view('d', 'a')]);
    expect(await lookUp(['d', startMs + SESSION_GAP_MS])).toMatchObject([
      { kind: 'open', sessionId: idOf('a') },
    ]);
  });
});

describe('a payment that is credited to an ended session', () => {
  test('changes that session only, which does not end a second time', async () => {
    const running = await start();
    await publish([view('d', 'a')]);
    await tick();
    await flushed();
    await publish([payment('d', 'a'), payment('d', 'a', { revenue: -200n, occurredAtMs: startMs })]);
    await flushed();
    expect(running.metrics.sessionLoads.value).toBe(1);
    // The session reaches the refund, which joins it like any event.
    expect(await sessionsOf('d')).toEqual(once(300, { otherEvents: 2 }));
    await tick(laterMs + 9 * RETAIN_MS);
    await publish([view('e', 'b')]);
    await flushed();
    expect(await namesOf('d')).toEqual(['revenue', 'revenue', 'screen_view', 'session_end', 'session_start']);
  });

  test('waits for a flush only if its session is not stored yet', async () => {
    const running = await start(SELDOM);
    await publish([view('d', 'a')]);
    await tick();
    await publish([payment('d', 'a')]);
    await publish([payment('d', 'a')]);
    await folded();
    expect(running.metrics.flushes.value).toBe(1);
    await running.stop();
    expect(await sessionsOf('d')).toEqual(once(1_000, { otherEvents: 2 }));
    expect(await namesOf('d')).toEqual(['revenue', 'revenue', 'screen_view', 'session_end', 'session_start']);
  });

  test('survives a restart, and the session still does not end a second time', async () => {
    const first = await start();
    await publish([view('d', 'a')]);
    await tick();
    await flushed();
    await publish([payment('d', 'a')]);
    await flushed();
    const questions: HotQuestion[] = [
      { kind: 'minutes', projectId: storedId('demo'), fromMs: laterMs - 600_000 },
      { kind: 'live', projectId: storedId('demo'), nowMs: laterMs },
      { kind: 'live-details', projectId: storedId('demo'), nowMs: laterMs },
    ];
    const before = [];
    for (const question of questions) before.push(await ask(question));
    expect(before).toMatchObject([
      { minutes: [{ sessions: 0, bounces: 0, otherEvents: 1, revenue: { EUR: '500' } }] },
      { visitors: 1 },
      { visitors: 1, profiles: [], pages: [['/', 1, []]] },
    ]);
    await first.stop();
    const second = await start();
    const after = [];
    for (const question of questions) after.push(await ask(question));
    expect(after).toEqual(before);
    await publish([payment('d', 'a')]);
    await tick(laterMs + 9 * RETAIN_MS);
    await folded();
    await second.stop();
    expect(second.metrics.sessionLoads.value).toBe(0);
    expect(await sessionsOf('d')).toEqual(once(1_000, { otherEvents: 2 }));
    expect(await namesOf('d')).toEqual(['revenue', 'revenue', 'screen_view', 'session_end', 'session_start']);
  });

  test('waits while the store is away, and look-ups are answered from memory meanwhile', async () => {
    const running = await start();
    await publish([view('d', 'a')]);
    await tick();
    await flushed();
    await world.server.kill();
    expect(await lookUp(['d', laterMs])).toMatchObject([{ kind: 'granted' }]);
    expect(running.metrics.sessionQuestionFailures.value).toBe(1);
    await publish([payment('d', 'a')]);
    await publish([view('e', 'b')]);
    await until('the load to be tried', () => running.metrics.sessionLoadRetries.value > 0 || undefined);
    await world.server.restart();
    await flushed();
    expect(await sessionsOf('d')).toEqual(once(500));
  });

  test('stays on the bus when the lane stops while the store is away', async () => {
    const running = await start();
    await publish([view('d', 'a')]);
    await tick();
    await flushed();
    await world.server.kill();
    await publish([payment('d', 'a')]);
    await until('the load to be tried', () => running.metrics.sessionLoadRetries.value > 0 || undefined);
    await running.stop();
    await world.server.restart();
    await start();
    await flushed();
    expect(await sessionsOf('d')).toEqual(once(500));
  });

  test.each([
    'flush:before-intent',
    'flush:after-intent',
    'flush:after-events',
    'flush:after-sessions',
    'flush:after-checkpoint',
    'flush:after-ack',
  ] satisfies CrashPoint[])('counts once when the lane dies at %s', async (point) => {
    let armed = false;
    const running = await start(SELDOM, (reached) => {
      if (!armed || reached !== point) return;
      armed = false;
      throw new Error(`died at ${reached}`);
    });
    await publish([view('d', 'a'), view('e', 'b')]);
    await tick();
    // The first payment needs a flush, which succeeds; the second is in the batch that the lane dies with.
    await publish([payment('d', 'a')]);
    await folded();
    armed = true;
    await publish([payment('e', 'b')]);
    await publish([payment('d', 'a', { revenue: -100n })]);
    await folded();
    await running.stop().catch(() => {});
    expect(armed).toBe(false);
    const again = await start();
    await tick(laterMs + 9 * RETAIN_MS);
    await folded();
    await again.stop();
    expect(await sessionsOf('d')).toEqual(once(400, { otherEvents: 2 }));
    expect(await sessionsOf('e')).toEqual(once(500, { id: idOf('b') }));
    expect(await namesOf('d')).toEqual(['revenue', 'revenue', 'screen_view', 'session_end', 'session_start']);
    expect(await namesOf('e')).toEqual(['revenue', 'screen_view', 'session_end', 'session_start']);
  });
});
