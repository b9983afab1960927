import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { BusError } from '../../infra/bus/bus-error.ts';
import { GARBAGE } from '../../infra/testing/garbage.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import {
  decodeEntityAnswer,
  encodeEntityQuestion,
  entityLookupSubjectOf,
} from '../../ingest/entity-lookup.ts';
import { entityStreamOf, entitySubjectOf } from '../../ingest/entity-update.ts';
import { streamOf, subjectOf } from '../../ingest/event.ts';
import {
  decodeSessionAnswers,
  encodeSessionQuestions,
  encodeSessionsUnavailable,
  SESSION_LOOKUP_VERSION,
  sessionLookupSubjectOf,
} from '../../ingest/session-lookup.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { decodeHotAnswer, encodeHotQuestion, HOT_VERSION, hotSubjectOf } from '../hot.ts';
import { answering, type LaneWorld, type RunningLane, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { LANES_BUCKET, laneKeyOf } from './lane-record.ts';

// Messages that other programs may put on the bus, by mistake or in another version, and their effect on the lanes.

const LIVE = { kind: 'live', projectId: storedId('demo'), nowMs: Date.now() } as const;
const SESSION = {
  projectId: storedId('demo'),
  deviceId: 'd'.repeat(32),
  occurredAtMs: Date.now(),
  eventId: '',
  credit: false,
};
const QUESTIONS = Buffer.from(encodeSessionQuestions([SESSION]));
const ENTITY = { kind: 'profile', projectId: storedId('demo'), id: 'paul' } as const;

let world: LaneWorld;
let lane = -1;
/** Any of these would end the processor. */
const unhandled: unknown[] = [];
const noteUnhandled = (error: unknown) => unhandled.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', noteUnhandled);
  process.on('uncaughtException', noteUnhandled);
  world = await startLaneWorld('bus_faults_test');
});
afterEach(async () => {
  await world.stopLanes();
  expect(unhandled).toEqual([]);
});
afterAll(async () => {
  await world.stop();
  process.off('unhandledRejection', noteUnhandled);
  process.off('uncaughtException', noteUnhandled);
});

async function start(): Promise<RunningLane> {
  lane += 1;
  await world.open(lane);
  const running = await world.start({ lane, instance: 'one' });
  await answering(running);
  return running;
}

const ask = (subject: string, bytes: Uint8Array) => world.bus.ask(subject, bytes, 5_000);

function counted(subjectKind: string): number {
  return ['malformed', 'version'].reduce((sum, reason) => {
    const labels = { subject_kind: subjectKind, reason };
    return sum + world.busMetrics.counter('footfall_bus_bad_requests_total', '', labels).value;
  }, 0);
}

/** Garbage, beginnings of a good request, one of another version, and random bytes. */
function badRequests(good: Uint8Array, ofOtherVersion: Uint8Array): Uint8Array[] {
  const random = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 300 }), { numRuns: 50, seed: 11 });
  const cut = [1, Math.floor(good.length / 2), good.length - 1].map((length) => good.subarray(0, length));
  return [...GARBAGE, ...cut, ofOtherVersion, ...random];
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

test('bad session questions are counted and answered as unavailable, and a good one is answered in its version', async () => {
  await start();
  const subject = sessionLookupSubjectOf(lane);
  const ofOtherVersion = changed(QUESTIONS, (copy) => copy.writeUInt8(99, 0));
  const tooMany = changed(QUESTIONS, (copy) => copy.writeUInt32LE(0xffffffff, 1));
  const ofNext = changed(QUESTIONS, (copy) => copy.writeUInt8(SESSION_LOOKUP_VERSION + 1, 0));
  for (const bytes of [...badRequests(QUESTIONS, ofOtherVersion), ofNext, tooMany]) {
    const before = counted('sessions');
    expect(await ask(subject, bytes)).toEqual(Buffer.from(encodeSessionsUnavailable()));
    expect(counted('sessions')).toBe(before + 1);
  }
  const answer = await ask(subject, QUESTIONS);
  expect(answer[0]).toBe(QUESTIONS[0]);
  expect(decodeSessionAnswers(answer)).toMatchObject([{ kind: 'granted' }]);
});

test('bad hot questions are counted and answered as unreadable, and a good one is answered, whatever it reads', async () => {
  await start();
  const subject = hotSubjectOf(lane);
  const good = Buffer.from(encodeHotQuestion(LIVE));
  const wrong = [{ ...LIVE, version: 99 }, LIVE, { ...LIVE, kind: 'dead' }, { ...LIVE, nowMs: 1e300 }].map(
    (question) => Buffer.from(JSON.stringify(question)),
  );
  for (const bytes of [...badRequests(good, wrong[0] ?? good), ...wrong]) {
    const before = counted('hot');
    const { head } = decodeHotAnswer(await ask(subject, bytes));
    expect(head).toEqual({ kind: 'unavailable', reason: 'unreadable' });
    expect(counted('hot')).toBe(before + 1);
  }
  const ofNext = Buffer.from(JSON.stringify({ ...LIVE, version: 1, reads: HOT_VERSION + 1 }));
  for (const bytes of [good, ofNext])
    expect(decodeHotAnswer(await ask(subject, bytes)).head).toEqual({
      kind: 'live',
      visitors: 0,
      profiles: [],
    });
});

test('bad entity questions are counted and answered as unavailable, and a good one is answered', async () => {
  await start();
  const subject = entityLookupSubjectOf(lane);
  const good = Buffer.from(encodeEntityQuestion(ENTITY));
  const ofOtherVersion = Buffer.from(JSON.stringify({ ...ENTITY, version: 99 }));
  const ofNone = Buffer.from(JSON.stringify(ENTITY));
  for (const bytes of [...badRequests(good, ofOtherVersion), ofNone, Buffer.from('{"kind":"order"}')]) {
    const before = counted('entity-questions');
    expect(decodeEntityAnswer(await ask(subject, bytes))).toEqual({ kind: 'unavailable' });
    expect(counted('entity-questions')).toBe(before + 1);
  }
  expect(decodeEntityAnswer(await ask(subject, good))).toEqual({ kind: 'absent' });
});

test('bad messages of both streams go to the dead letters, and the lanes go on', async () => {
  const running = await start();
  const event = plainEvent({ deviceId: SESSION.deviceId, sessionId: SESSION.deviceId, path: '/garbage' });
  const good = Buffer.from(messageOf([event], 1));
  const endless = changed(good, (copy) => copy.writeDoubleLE(Number.NaN, 9));
  const timeless = changed(good, (copy) => copy.writeDoubleLE(Number.POSITIVE_INFINITY, 17));
  const tooMany = changed(good, (copy) => copy.writeUInt32LE(0xffffffff, 25));
  const bad = [
    ...badRequests(
      good,
      changed(good, (copy) => copy.writeUInt8(99, 0)),
    ),
    endless,
    timeless,
    tooMany,
  ];
  for (const bytes of bad) {
    await world.bus.publish(subjectOf(lane), bytes, 5_000);
    await world.bus.publish(entitySubjectOf(lane), bytes, 5_000);
  }
  await world.bus.publish(subjectOf(lane), good, 5_000);
  await until('the row behind them', async () => {
    const sql = "SELECT count() AS n FROM events WHERE name = 'screen_view' AND path = '/garbage'";
    const rows = await world.store.query<{ n: number }>(sql);
    return Number(rows[0]?.n) === 1 || undefined;
  });
  expect(running.metrics.deadLetters.value).toBe(bad.length);
  await until('the entity lane', () => running.entityMetrics.deadLetters.value === bad.length || undefined);
  expect([running.metrics.failures.value, running.entityMetrics.failures.value]).toEqual([0, 0]);
});

test('a bus that does not say for a while what a stream has only delays the answers', async () => {
  lane += 1;
  await world.open(lane);
  await world.bus.publish(subjectOf(lane), messageOf([plainEvent()], 1), 5_000);
  let left = 5;
  const running = await world.start({
    lane,
    instance: 'one',
    beforeCall: (_supervisor, call) => {
      if (call !== 'streamBounds' || left === 0) return;
      left -= 1;
      throw new BusError('the bus has no leader', 'timeout', undefined);
    },
  });
  await answering(running);
  expect(left).toBe(0);
});

test('a gap in the stream of events stops the lane aloud', async () => {
  const running = await start();
  await running.stop();
  await world.bus.publish(subjectOf(lane), messageOf([], 1), 5_000);
  await world.bus.publish(subjectOf(lane), messageOf([], 2), 5_000);
  const { last } = await world.bus.streamBounds(streamOf(lane));
  await world.bus.remove(streamOf(lane), last - 1);
  await world.bus.publish(subjectOf(lane), messageOf([], 3), 5_000);
  const gaps = world.busMetrics.counter('footfall_bus_stream_gaps_total', '');
  const before = gaps.value;
  const next = await world.start({ lane, instance: 'one' });
  await until('it to stop', () => next.metrics.failures.value > 0 || undefined);
  expect(gaps.value).toBeGreaterThan(before);
  expect(next.supervisor.state).not.toBe('answering');
});

test('a gap in the stream of entity updates stops the entity lane aloud', async () => {
  const running = await start();
  await running.stop();
  for (let sequence = 1; sequence <= 3; sequence += 1)
    await world.bus.publish(entitySubjectOf(lane), messageOf([], sequence), 5_000);
  const { first } = await world.bus.streamBounds(entityStreamOf(lane));
  await world.bus.trim(entityStreamOf(lane), first + 1);
  const gaps = world.busMetrics.counter('footfall_bus_stream_gaps_total', '');
  const before = gaps.value;
  const next = await world.start({ lane, instance: 'one' });
  await until('it to stop', () => next.entityMetrics.failures.value > 0 || undefined);
  expect(gaps.value).toBeGreaterThan(before);
});

test('a lane record that cannot be read keeps the lane from starting, aloud, until it can', async () => {
  const running = await start();
  await running.stop();
  const records = await world.bus.keyed(LANES_BUCKET);
  const key = laneKeyOf(lane);
  const stored = await records.get(key);
  const good = stored?.bytes ?? Buffer.of();
  let revision = await records.put(key, Buffer.from('{"version":99}'), stored?.revision ?? 0);
  const next = await world.start({ lane, instance: 'one' });
  await until('it to fail', () => next.metrics.failures.value > 0 || undefined);
  revision = await records.put(key, good, revision);
  await answering(next);
});
