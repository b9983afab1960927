import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { laneOf, SESSION_GAP_MS, sessionIdOf } from '../event.ts';
import {
  decodeSessionQuestions,
  encodeSessionAnswers,
  encodeSessionsUnavailable,
  type SessionAnswer,
  sessionLookupSubjectOf,
} from '../session-lookup.ts';
import { connectBus } from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';
import { OpenSessions } from './open-sessions.ts';
import { SessionQuestions } from './session-questions.ts';
import { type FoundSession, Sessions } from './sessions.ts';

const LANES = 2;
const NOW_MS = Date.UTC(2024, 4, 10, 12);
let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
let clock: ManualClock;
let sessions: Sessions;
let questions: SessionQuestions;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await connectBus(nats.url);
});

afterAll(async () => {
  await bus.close();
  await nats.stop();
});

beforeEach(() => {
  owner = startOwner(bus, LANES);
  clock = new ManualClock(NOW_MS);
  const metrics = new Metrics();
  const shared = { metrics, lanes: ServiceLanes.fixed(LANES) };
  questions = new SessionQuestions({ ...shared, bus, timeoutMs: 300 });
  const openSessions = new OpenSessions({ ...shared, bus, clock, inFlightMs: 5_000 });
  sessions = new Sessions({ ...shared, clock, questions, openSessions, knownMax: 1_000 });
});

afterEach(() => {
  owner.stop();
  sessions.stop();
});

interface SessionCase {
  readonly device?: string;
  readonly earlier?: string;
  readonly atMs?: number;
  readonly eventId?: string;
  readonly credit?: boolean;
  readonly isDelayed?: boolean;
  readonly readOnly?: boolean;
}

function findSession({ device = 'd', earlier = '', atMs = NOW_MS, ...more }: SessionCase) {
  return new Promise<FoundSession>((resolve) => {
    const found = sessions.find({
      siteId: storedId('s'),
      deviceId: device,
      earlierDeviceId: earlier,
      occurredAtMs: atMs,
      eventId: more.eventId ?? '',
      credit: more.credit ?? false,
      isDelayed: more.isDelayed ?? false,
      readOnly: more.readOnly ?? false,
      found: resolve,
    });
    if (found !== undefined) resolve(found);
  });
}

test('a session is looked up once, then known until the gap after its last event', async () => {
  const { sessionId } = await findSession({});
  expect(await findSession({ atMs: NOW_MS + SESSION_GAP_MS })).toMatchObject({ kind: 'known', sessionId });
  expect(await findSession({ atMs: NOW_MS + 2 * SESSION_GAP_MS })).toMatchObject({
    kind: 'known',
    sessionId,
  });
  expect(owner.questions).toHaveLength(1);
  expect(await findSession({ atMs: NOW_MS + 3 * SESSION_GAP_MS + 1 })).toMatchObject({ kind: 'granted' });
});

test('a session without events on this node for the length of the gap is looked up again', async () => {
  await findSession({});
  clock.advance(SESSION_GAP_MS);
  expect((await findSession({})).kind).not.toBe('known');
});

test('concurrent events of a new device get one session, also out of order', async () => {
  const found = await Promise.all([
    findSession({ atMs: NOW_MS }),
    findSession({ atMs: NOW_MS + 25 * 60_000 }),
    findSession({ atMs: NOW_MS - 25 * 60_000 }),
  ]);
  expect(new Set(found.map(({ sessionId }) => sessionId)).size).toBe(1);
});

test('many devices share few questions', async () => {
  await Promise.all(Array.from({ length: 500 }, (_, index) => findSession({ device: `d${index}` })));
  expect(owner.questions).toHaveLength(500);
  expect(owner.groups.length).toBeLessThan(10);
});

test('yesterday’s device is used while its session is open, and no longer', async () => {
  const grant = owner.answer;
  owner.answer = (question) =>
    question.deviceId === 'yesterday'
      ? { kind: 'open', sessionId: 'cd'.repeat(16), firstMs: NOW_MS - 60_000, lastMs: NOW_MS - 1_000 }
      : grant(question);
  const visitor = { device: 'today', earlier: 'yesterday' };
  expect(await findSession(visitor)).toEqual({
    kind: 'open',
    deviceId: 'yesterday',
    sessionId: 'cd'.repeat(16),
  });
  expect(await findSession(visitor)).toMatchObject({ kind: 'known', deviceId: 'yesterday' });
  owner.answer = grant;
  expect(await findSession({ ...visitor, atMs: NOW_MS + 2 * SESSION_GAP_MS })).toMatchObject({
    deviceId: 'today',
  });
});

test('a read-only look-up leaves no trace', async () => {
  await findSession({ readOnly: true });
  expect(await findSession({})).toMatchObject({ kind: 'granted' });
});

test('a late event that joins an old session does not replace the current one', async () => {
  const { sessionId } = await findSession({});
  const old = NOW_MS - 10 * SESSION_GAP_MS;
  owner.answer = () => ({ kind: 'open', sessionId: 'ef'.repeat(16), firstMs: old, lastMs: old });
  expect(await findSession({ atMs: old })).toMatchObject({ sessionId: 'ef'.repeat(16) });
  expect(await findSession({})).toMatchObject({ kind: 'known', sessionId });
});

describe('late revenue', () => {
  const DAYS_AGO_MS = NOW_MS - 2 * DAY_MS;
  const ended = (sessionId: string, firstMs: number): SessionAnswer => ({
    kind: 'ended',
    sessionId: sessionId.repeat(16),
    firstMs,
    lastMs: firstMs + 60_000,
  });

  test('is credited to the ended session that the owner names, which is not remembered as open', async () => {
    const grant = owner.answer;
    owner.answer = (question) => (question.credit ? ended('ab', DAYS_AGO_MS) : grant(question));
    const found = { kind: 'ended', deviceId: 'd', sessionId: 'ab'.repeat(16) };
    expect(await findSession({ credit: true })).toEqual(found);
    expect(await findSession({})).toMatchObject({
      kind: 'granted',
      sessionId: sessionIdOf(storedId('s'), 'd', NOW_MS, NOW_MS),
    });
    expect(owner.questions.map(({ credit }) => credit)).toEqual([true, false]);
  });

  test('joins the current session of this node without a question', async () => {
    const { sessionId } = await findSession({});
    expect(await findSession({ credit: true })).toMatchObject({ kind: 'known', sessionId });
    expect(owner.questions).toHaveLength(1);
  });

  test('joins a session of this node that begins soon after it, although the owner names an ended one', async () => {
    const { sessionId } = await findSession({});
    owner.answer = () => ended('ab', DAYS_AGO_MS);
    expect(await findSession({ credit: true, atMs: NOW_MS - 60_000 })).toMatchObject({
      kind: 'known',
      sessionId,
    });
  });

  test('goes to an open session rather than an ended one', async () => {
    owner.answer = ({ deviceId }) =>
      deviceId === 'yesterday'
        ? ended('cd', DAYS_AGO_MS)
        : { kind: 'open', sessionId: 'ab'.repeat(16), firstMs: NOW_MS, lastMs: NOW_MS };
    expect(await findSession({ device: 'today', earlier: 'yesterday', credit: true })).toMatchObject({
      kind: 'open',
      deviceId: 'today',
    });
  });

  test('goes to the later session of today’s and yesterday’s device', async () => {
    owner.answer = ({ deviceId }) => ended(deviceId === 'early' ? 'ab' : 'cd', DAYS_AGO_MS + deviceId.length);
    const late = { credit: true, atMs: NOW_MS };
    expect(await findSession({ ...late, device: 'early', earlier: 'yesterday' })).toEqual({
      kind: 'ended',
      deviceId: 'yesterday',
      sessionId: 'cd'.repeat(16),
    });
    expect(await findSession({ ...late, device: 'later today', earlier: 'early' })).toMatchObject({
      deviceId: 'later today',
    });
  });

  test('goes to yesterday’s session when today’s device has none', async () => {
    const grant = owner.answer;
    owner.answer = (question) =>
      question.deviceId === 'yesterday' ? ended('cd', DAYS_AGO_MS) : grant(question);
    expect(await findSession({ device: 'today', earlier: 'yesterday', credit: true })).toMatchObject({
      kind: 'ended',
      deviceId: 'yesterday',
    });
  });

  test('opens no session for a device that has none, and leaves no trace', async () => {
    const late = { credit: true, atMs: NOW_MS - 60_000 };
    const none = { kind: 'none', deviceId: 'd', sessionId: '' };
    expect(await findSession(late)).toEqual(none);
    expect(await findSession({ ...late, earlier: 'yesterday' })).toEqual(none);
    expect(await findSession({})).toMatchObject({ kind: 'granted' });
  });

  test('joins the session of an event of its device that came just before it, from any of its two devices', async () => {
    const [view, paid] = await Promise.all([findSession({}), findSession({ credit: true })]);
    expect(paid).toEqual({ kind: 'known', deviceId: 'd', sessionId: view.sessionId });
    const [today, credited] = await Promise.all([
      findSession({ device: 'today', earlier: 'yesterday' }),
      findSession({ device: 'today', credit: true }),
    ]);
    expect(credited).toMatchObject({ kind: 'known', sessionId: today.sessionId });
  });

  test('gets the derived id while the owner is silent', async () => {
    owner.stop();
    expect(await findSession({ credit: true })).toEqual({
      kind: 'derived',
      deviceId: 'd',
      sessionId: sessionIdOf(storedId('s'), 'd', NOW_MS, NOW_MS),
    });
  });

  test('is looked up in a queue of its own, so that page views do not wait for the store', async () => {
    owner.stop();
    let answerLate: () => void = () => {};
    const late = new Promise<void>((resolve) => {
      answerLate = resolve;
    });
    const lane = laneOf(storedId('s'), 'd', { lanes: LANES, storeShards: 1 });
    const stop = bus.answer(sessionLookupSubjectOf(lane), {
      reply: async (bytes) => {
        const questions = decodeSessionQuestions(bytes);
        if (questions.some(({ credit }) => credit)) await late;
        return encodeSessionAnswers(questions.map((question) => owner.answer(question)));
      },
      unavailable: encodeSessionsUnavailable,
    });
    const paid = findSession({ credit: true, atMs: NOW_MS - 10 * SESSION_GAP_MS });
    expect(await findSession({})).toMatchObject({ kind: 'granted' });
    answerLate();
    expect(await paid).toMatchObject({ kind: 'none', sessionId: '' });
    stop();
  });
});

test('an id is derived while the owner is silent, and the owner decides again when it is back', async () => {
  owner.stop();
  const derived = sessionIdOf(storedId('s'), 'd', NOW_MS, NOW_MS);
  expect(await findSession({})).toEqual({ kind: 'derived', deviceId: 'd', sessionId: derived });
  expect(await findSession({ atMs: NOW_MS + SESSION_GAP_MS })).toMatchObject({
    kind: 'derived',
    sessionId: derived,
  });
  owner = startOwner(bus, LANES);
  owner.answer = () => ({ kind: 'open', sessionId: 'ab'.repeat(16), firstMs: NOW_MS, lastMs: NOW_MS });
  await expect.poll(() => findSession({})).toMatchObject({ kind: 'open', sessionId: 'ab'.repeat(16) });
});

test.each([
  ['goes on saying that it is unavailable', encodeSessionsUnavailable()],
  ['answers in a version of its own', Uint8Array.of(99, 0, 0, 0, 0)],
  ['answers with garbage', Buffer.from('garbage')],
  ['answers other questions', encodeSessionAnswers([])],
])('an id is derived while the owner %s, and the owner decides again afterwards', async (_, answer) => {
  owner.stop();
  const lane = laneOf(storedId('s'), 'd', { lanes: LANES, storeShards: 1 });
  const stop = bus.answer(sessionLookupSubjectOf(lane), {
    reply: () => answer,
    unavailable: encodeSessionsUnavailable,
  });
  expect(await findSession({})).toMatchObject({
    kind: 'derived',
    sessionId: sessionIdOf(storedId('s'), 'd', NOW_MS, NOW_MS),
  });
  stop();
  owner = startOwner(bus, LANES);
  owner.answer = () => ({ kind: 'open', sessionId: 'ab'.repeat(16), firstMs: NOW_MS, lastMs: NOW_MS });
  await expect.poll(() => findSession({})).toMatchObject({ kind: 'open', sessionId: 'ab'.repeat(16) });
});

test('an owner that hands its lane over says that it is unavailable, and the next one is asked', async () => {
  owner.stop();
  const lane = laneOf(storedId('s'), 'd', { lanes: LANES, storeShards: 1 });
  let asked = 0;
  const stop = bus.answer(sessionLookupSubjectOf(lane), {
    reply: () => {
      asked += 1;
      if (asked === 2) {
        stop();
        owner = startOwner(bus, LANES);
        owner.answer = () => ({ kind: 'open', sessionId: 'ab'.repeat(16), firstMs: NOW_MS, lastMs: NOW_MS });
      }
      return encodeSessionsUnavailable();
    },
    unavailable: encodeSessionsUnavailable,
  });
  expect(await findSession({})).toMatchObject({ kind: 'open', sessionId: 'ab'.repeat(16) });
  expect(asked).toBe(2);
});

test('an id is derived from the arrival of the event, however long the owner was waited for', async () => {
  owner.stop();
  clock.advance(SESSION_GAP_MS - 1);
  const atMs = clock.nowMs();
  const found = findSession({ atMs });
  clock.advance(1);
  expect(await found).toMatchObject({
    kind: 'derived',
    sessionId: sessionIdOf(storedId('s'), 'd', atMs, atMs),
  });
});

test('a session whose event was not stored is evicted', async () => {
  const found = await findSession({});
  sessions.evict(storedId('s'), found);
  expect((await findSession({})).kind).toBe('granted');
});
