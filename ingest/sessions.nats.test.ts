import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../infra/bus.ts';
import { ManualClock } from '../infra/clock.ts';
import { Metrics } from '../infra/metrics.ts';
import { type NatsServer, startNatsServer } from '../infra/testing/nats-server.ts';
import { SESSION_GAP_MS, sessionIdOf } from './event.ts';
import { SessionQuestions } from './session-questions.ts';
import { type FoundSession, Sessions } from './sessions.ts';
import { connectBus } from './testing/collector.ts';
import { startOwner, type TestOwner } from './testing/owner.ts';

const PARTITIONS = 2;
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
  owner = startOwner(bus, PARTITIONS);
  clock = new ManualClock(NOW_MS);
  const metrics = new Metrics();
  const shared = { metrics, partitions: PARTITIONS };
  questions = new SessionQuestions({ ...shared, bus, timeoutMs: 300 });
  sessions = new Sessions({ ...shared, clock, questions, knownMax: 1_000 });
});

afterEach(() => {
  owner.stop();
  questions.stop();
});

interface Asked {
  readonly device?: string;
  readonly earlier?: string;
  readonly atMs?: number;
  readonly eventId?: string;
  readonly onlyAsks?: boolean;
}

function seek({ device = 'd', earlier = '', atMs = NOW_MS, eventId = '', onlyAsks = false }: Asked) {
  return new Promise<FoundSession>((resolve) => {
    const found = sessions.seek({
      siteId: 's',
      deviceId: device,
      earlierDeviceId: earlier,
      occurredAtMs: atMs,
      eventId,
      onlyAsks,
      found: resolve,
    });
    if (found !== undefined) resolve(found);
  });
}

test('a session is asked for once, then known up to the gap after its last event', async () => {
  const { sessionId } = await seek({});
  expect(await seek({ atMs: NOW_MS + SESSION_GAP_MS })).toMatchObject({ kind: 'known', sessionId });
  expect(await seek({ atMs: NOW_MS + 2 * SESSION_GAP_MS })).toMatchObject({ kind: 'known', sessionId });
  expect(owner.questions).toHaveLength(1);
  expect(await seek({ atMs: NOW_MS + 3 * SESSION_GAP_MS + 1 })).toMatchObject({ kind: 'granted' });
});

test('a session that nobody touched here for the length of the gap is asked for again', async () => {
  await seek({});
  clock.advance(SESSION_GAP_MS);
  expect((await seek({})).kind).not.toBe('known');
});

test('events of a new device that arrive together get one session, also out of order', async () => {
  const found = await Promise.all([
    seek({ atMs: NOW_MS }),
    seek({ atMs: NOW_MS + 25 * 60_000 }),
    seek({ atMs: NOW_MS - 25 * 60_000 }),
  ]);
  expect(new Set(found.map(({ sessionId }) => sessionId)).size).toBe(1);
});

test('many devices are asked for in few questions', async () => {
  await Promise.all(Array.from({ length: 500 }, (_, index) => seek({ device: `d${index}` })));
  expect(owner.questions).toHaveLength(500);
  expect(owner.groups.length).toBeLessThan(10);
});

test('the device of yesterday is kept while its session is open, and not longer', async () => {
  const grant = owner.answer;
  owner.answer = (question) =>
    question.deviceId === 'yesterday'
      ? { kind: 'open', sessionId: 'cd'.repeat(16), firstMs: NOW_MS - 60_000, lastMs: NOW_MS - 1_000 }
      : grant(question);
  const asked = { device: 'today', earlier: 'yesterday' };
  expect(await seek(asked)).toEqual({ kind: 'open', deviceId: 'yesterday', sessionId: 'cd'.repeat(16) });
  expect(await seek(asked)).toMatchObject({ kind: 'known', deviceId: 'yesterday' });
  owner.answer = grant;
  expect(await seek({ ...asked, atMs: NOW_MS + 2 * SESSION_GAP_MS })).toMatchObject({ deviceId: 'today' });
});

test('asking alone leaves no trace', async () => {
  await seek({ onlyAsks: true });
  expect(await seek({})).toMatchObject({ kind: 'granted' });
});

test('a late event that joins an old session does not hide the one that goes on', async () => {
  const { sessionId } = await seek({});
  const old = NOW_MS - 10 * SESSION_GAP_MS;
  owner.answer = () => ({ kind: 'open', sessionId: 'ef'.repeat(16), firstMs: old, lastMs: old });
  expect(await seek({ atMs: old })).toMatchObject({ sessionId: 'ef'.repeat(16) });
  expect(await seek({})).toMatchObject({ kind: 'known', sessionId });
});

test('an id is derived while the owner is silent, and its word counts again when it is back', async () => {
  owner.stop();
  const derived = sessionIdOf('s', 'd', NOW_MS);
  expect(await seek({})).toEqual({ kind: 'derived', deviceId: 'd', sessionId: derived });
  expect(await seek({ atMs: NOW_MS + SESSION_GAP_MS })).toMatchObject({
    kind: 'derived',
    sessionId: derived,
  });
  owner = startOwner(bus, PARTITIONS);
  owner.answer = () => ({ kind: 'open', sessionId: 'ab'.repeat(16), firstMs: NOW_MS, lastMs: NOW_MS });
  await expect
    .poll(() => seek({}), { timeout: 10_000 })
    .toMatchObject({ kind: 'open', sessionId: 'ab'.repeat(16) });
});

test('a session whose event was not stored is unlearned', async () => {
  const found = await seek({});
  sessions.forget('s', found);
  expect((await seek({})).kind).toBe('granted');
});
