import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import type { Bus } from '../../infra/bus/bus.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { ManualClock, systemClock } from '../../infra/clock.ts';
import type { CrashPoint } from '../../infra/process/crashpoint.ts';
import type { Store } from '../../infra/store/store.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import type { StoreServer } from '../../infra/testing/store-server.ts';
import { strideOf } from '../../infra/testing/thoroughness.ts';
import { type Event, streamOf, subjectOf } from '../../ingest/event.ts';
import {
  decodeSessionAnswers,
  encodeSessionQuestions,
  sessionLookupSubjectOf,
} from '../../ingest/session-lookup.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { DEAD_LETTERS_STREAM, decodeDeadLetter } from '../dead-letters/dead-letter.ts';
import { decodeHotAnswer, encodeHotQuestion, type HotHead, type HotQuestion, hotSubjectOf } from '../hot.ts';
import {
  answering,
  type LaneStart,
  type LaneWorld,
  type RunningLane,
  startLaneWorld,
} from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';
import { decodeLaneRecord, LANES_BUCKET, laneKeyOf } from './lane-record.ts';
import { FencedError, Ownership } from './ownership.ts';

const LANE = 0;

let world: LaneWorld;
let server: StoreServer;
let bus: Bus;
let store: Store;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('lane_test');
  ({ server, bus, store } = world);
  await world.open(LANE);
});

afterAll(() => world.stop());
afterEach(() => world.stopLanes());

const start = (instance: string, more: Partial<LaneStart> = {}) =>
  world.start({ lane: LANE, instance, ...more });

async function publish(...events: readonly Event[]): Promise<void> {
  await publishSentAt(0, ...events);
}

async function publishSentAt(sentAtMs: number, ...events: readonly Event[]): Promise<void> {
  published += 1;
  await bus.publish(subjectOf(LANE), messageOf(events, published, sentAtMs), 5_000);
}

function eventOf(device: string, overrides: Partial<Event> = {}): Event {
  const nowMs = Date.now();
  const deviceId = device.repeat(32).slice(0, 32);
  return plainEvent({
    deviceId,
    sessionId: deviceId,
    occurredAtMs: nowMs,
    receivedAtMs: nowMs,
    ...overrides,
  });
}

async function ask(question: HotQuestion): Promise<HotHead> {
  return decodeHotAnswer(await bus.ask(hotSubjectOf(LANE), encodeHotQuestion(question), 10_000)).head;
}

async function storedViews(path: string): Promise<number> {
  const rows = await store.query<{ n: number }>(
    "SELECT count() AS n FROM events WHERE name = 'screen_view' AND path = {path:String}",
    { path },
  );
  return Number(rows[0]?.n);
}

test('law 6: a message that cannot be read goes to the dead letters, and the lane continues', async () => {
  const lane = await start('one');
  await answering(lane);
  const broken = Buffer.from('this is no message of ours at all');
  await bus.publish(subjectOf(LANE), broken, 5_000);
  await publish(eventOf('a', { path: '/behind' }));
  await until('the row behind it', async () => ((await storedViews('/behind')) === 1 ? true : undefined));
  const letters: string[] = [];
  for await (const { bytes } of bus.messages(DEAD_LETTERS_STREAM)) {
    const letter = decodeDeadLetter(bytes);
    letters.push(`${letter.partition} ${letter.reason}`);
    expect(Buffer.from(letter.bytes).equals(broken)).toBe(true);
  }
  expect(letters).toEqual([`${LANE} message has version 116`]);
  expect(lane.metrics.deadLetters.value).toBe(1);
  await lane.stop();
});

test('a restart restores the sessions, the event ids, the minutes and the live devices', async () => {
  const first = await start('two');
  await answering(first);
  await publish(
    eventOf('b', { eventId: 'once', path: '/restart' }),
    eventOf('c', { path: '/restart', profileId: 'päule' }),
  );
  await until('both rows', async () => ((await storedViews('/restart')) === 2 ? true : undefined));
  const question = { kind: 'minutes', projectId: storedId('demo'), fromMs: 0 } as const;
  const nowMs = Date.now();
  const before = [await ask(question), await ask({ kind: 'live', projectId: storedId('demo'), nowMs })];
  await first.stop();

  const second = await start('two');
  await answering(second);
  const inOrder = (head: HotHead | undefined) =>
    head?.kind === 'minutes'
      ? head.minutes
          .map((minute) => ({ ...minute, visitors: [...minute.visitors].sort() }))
          .sort((a, b) => a.minuteMs - b.minuteMs)
      : head;
  const after = [await ask(question), await ask({ kind: 'live', projectId: storedId('demo'), nowMs })];
  expect(after.map(inOrder)).toEqual(before.map(inOrder));
  const questions = [
    {
      projectId: storedId('demo'),
      deviceId: 'b'.repeat(32),
      occurredAtMs: nowMs,
      eventId: '',
      credit: false,
    },
    {
      projectId: storedId('demo'),
      deviceId: 'e'.repeat(32),
      occurredAtMs: nowMs,
      eventId: 'once',
      credit: false,
    },
  ];
  const bytes = await bus.ask(sessionLookupSubjectOf(LANE), encodeSessionQuestions(questions), 5_000);
  expect(decodeSessionAnswers(bytes)?.map(({ kind, sessionId }) => [kind, sessionId])).toEqual([
    ['open', 'b'.repeat(32)],
    ['repeat', 'b'.repeat(32)],
  ]);
  await publish(eventOf('b', { eventId: 'once', path: '/restart' }), eventOf('b', { path: '/restart' }));
  await until('the third row', async () => ((await storedViews('/restart')) === 3 ? true : undefined));
  // Sessions are stored after events, so only the end of the last flush proves both.
  await second.stop();
  const sums = await store.query<{ views: number; sessions: number }>(
    "SELECT sum(sign * screenViews) AS views, sum(sign) AS sessions FROM sessions WHERE entryPath = '/restart'",
  );
  expect(sums).toEqual([{ views: 3, sessions: 2 }]);
});

test('a fenced owner writes nothing more', async () => {
  const lane = await start('three');
  await answering(lane);
  const records = await bus.keyed(LANES_BUCKET);
  // A second process of the same name takes over, as a restarted process would while the first one hangs.
  const usurper = await until('the record', () =>
    Ownership.take({
      records,
      lane: LANE,
      key: laneKeyOf(LANE),
      division: { slices: 1, partitions: 256 },
      owner: 'three',
      leaseMs: 1_000,
      watch: new LeaseWatch(),
      clock: systemClock,
    }),
  );
  await publish(eventOf('d', { path: '/deposed' }));
  await until('the lane to notice', () => (lane.metrics.fencings.value > 0 ? true : undefined));
  // The second process is fenced in turn once the first one has taken the lane back.
  await until('the lane to be back', () => lane.supervisor.state === 'answering' || undefined);
  await expect(usurper.renew()).rejects.toThrow(FencedError);
  await until('the row, once', async () => ((await storedViews('/deposed')) === 1 ? true : undefined));
  await lane.stop();
  expect(await storedViews('/deposed')).toBe(1);
});

test('only the owner of a lane shows how far the lane is', async () => {
  const gauges = (lane: RunningLane) =>
    new Map(
      [...lane.shown().matchAll(/^(\w+)\{lane="0"\} (\S+)$/gm)].map(([, name = '', value]) => [
        name,
        Number(value),
      ]),
    );
  const first = await start('four');
  await answering(first);
  await publish(eventOf('e', { path: '/owned' }));
  await until('a checkpoint', () => (first.metrics.flushes.value > 0 ? true : undefined));
  await until('the row', async () => ((await storedViews('/owned')) === 1 ? true : undefined));
  const second = await start('five');
  const owning = gauges(first);
  expect(owning.get('footfall_processor_lane_owned')).toBe(1);
  expect(owning.get('footfall_processor_sessions')).toBeGreaterThan(0);
  expect(owning.get('footfall_processor_checkpoint_time_seconds')).toBeGreaterThan(0);
  expect(owning.size).toBeGreaterThan(7);
  expect([...gauges(second)].filter(([, value]) => value !== 0)).toEqual([]);
  await first.stop();
  await answering(second);
  expect([...gauges(first)].filter(([, value]) => value !== 0)).toEqual([]);
  expect(gauges(second).get('footfall_processor_lane_owned')).toBe(1);
});

test('a flush that dies is repeated with as many slices as it began with, and the next start has its own', async () => {
  const devices = ['1', '2', '3', '4', '5', '6', '7'];
  const dying = await start('divided', {
    threads: 3,
    crashPoint: (point) => {
      if (point === 'flush:after-events') throw new Error('dead between the tables');
    },
  });
  await publish(
    ...devices.map((device) => eventOf(device, { path: '/divided', eventId: `divided-${device}` })),
  );
  await until('its death', () => (dying.metrics.failures.value > 0 ? true : undefined));
  await dying.stop();
  const stored = await (await bus.keyed(LANES_BUCKET)).get(laneKeyOf(LANE));
  expect(decodeLaneRecord(must(stored?.bytes, 'a lane has a record')).division.slices).toBe(3);

  for (const threads of [1, 2]) {
    const lane = await start('divided', { threads });
    await answering(lane);
    // Ids that were recorded are known, whichever slice has them now.
    await publish(
      ...devices.map((device) => eventOf(device, { path: '/divided', eventId: `divided-${device}` })),
    );
    await publish(...devices.map((device) => eventOf(device, { path: `/divided/${threads}` })));
    await until('the next rows', async () =>
      (await storedViews(`/divided/${threads}`)) === devices.length ? true : undefined,
    );
    expect(await storedViews('/divided')).toBe(devices.length);
    await lane.stop();
  }
  const [sums] = await store.query<{ sessions: number; views: number }>(
    "SELECT sum(sign) AS sessions, sum(sign * screenViews) AS views FROM sessions WHERE entryPath = '/divided'",
  );
  expect(sums).toEqual({ sessions: devices.length, views: 3 * devices.length });
});

test('of two processors that compete for a lane only one owns it', async () => {
  // Long enough for a machine under load not to make the owner lose its lease.
  const env = { LEASE_MS: '20000' };
  const lanes = [await start('left', { env }), await start('right', { env })];
  await until(
    'one of them to answer',
    () => lanes.some(({ supervisor }) => supervisor.state === 'answering') || undefined,
  );
  for (let count = 0; count < 20; count += 1) {
    await publish(eventOf('f', { path: '/contended' }));
    expect(lanes.filter(({ supervisor }) => supervisor.state === 'answering')).toHaveLength(1);
  }
  await until('twenty rows', async () => ((await storedViews('/contended')) === 20 ? true : undefined));
  const owner = lanes.findIndex(({ supervisor }) => supervisor.state === 'answering');
  await lanes[owner]?.stop();
  await until(
    'the other one to take over',
    () => lanes[1 - owner]?.supervisor.state === 'answering' || undefined,
  );
  await publish(eventOf('f', { path: '/contended' }));
  await until('the next row', async () => ((await storedViews('/contended')) === 21 ? true : undefined));
  await lanes[1 - owner]?.stop();
});

test('an owner keeps its lane while it waits for the store for longer than a lease', async () => {
  const env = { LEASE_MS: '1500' };
  const owner = await start('patient', { env });
  await answering(owner);
  const other = await start('waiting', { env });
  await until('the other one to stand by', () => other.supervisor.state === 'standby' || undefined);
  const records = await bus.keyed(LANES_BUCKET);
  const record = async () => decodeLaneRecord((await records.get(laneKeyOf(LANE)))?.bytes ?? Buffer.of());
  const { pid } = server;
  process.kill(pid, 'SIGSTOP');
  try {
    await publish(eventOf('d', { path: '/patient' }));
    await until('its flush to begin', async () => ((await record()).intent === null ? undefined : true));
    // Four leases.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await record()).toMatchObject({ owner: 'patient', intent: expect.anything() });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until('the row', async () => ((await storedViews('/patient')) === 1 ? true : undefined));
  expect([owner.supervisor.state, other.supervisor.state]).toEqual(['answering', 'standby']);
  expect(owner.metrics.fencings.value + owner.metrics.failures.value).toBe(0);
  await owner.stop();
  await until('the other one to take over', () => other.supervisor.state === 'answering' || undefined);
  await other.stop();
});

test('a lane stops before each of its calls, also while it repeats a flush', async () => {
  const deadInFlush = (point: CrashPoint) => {
    if (point === 'flush:after-intent') throw new Error('dead in mid-flush');
  };
  let views = 0;
  let calls = 0;
  for (let stopAt = 1; stopAt <= calls + 1; stopAt += strideOf(2)) {
    const dying = await start('five', { crashPoint: deadInFlush });
    await publish(eventOf('8', { path: '/stopped' }));
    await until('its death', () => (dying.metrics.failures.value > 0 ? true : undefined));
    await dying.stop();
    await publish(eventOf('8', { path: '/stopped' }));
    views += 2;

    calls = 0;
    const lane = await start('five', {
      beforeCall: (supervisor) => {
        calls += 1;
        if (calls === stopAt) void supervisor.stop();
      },
    });
    await until('the end', () =>
      calls >= stopAt || lane.supervisor.state === 'answering' ? true : undefined,
    );
    await lane.stop();
  }
  expect(calls).toBeGreaterThan(10);
  const lane = await start('five');
  await until('the rows', async () => ((await storedViews('/stopped')) === views ? true : undefined));
  await lane.stop();
});

test('an owner whose clock is set back by ten minutes keeps its lane and goes on to store', async () => {
  const clock = new ManualClock(Date.now());
  const lane = await start('set-back', { clock });
  await answering(lane);
  await publish(eventOf('e', { path: '/before' }));
  await until('the row before', async () => ((await storedViews('/before')) === 1 ? true : undefined));
  clock.advance(-600_000);
  await publish(eventOf('e', { path: '/set-back' }));
  await until('the row after', async () => ((await storedViews('/set-back')) === 1 ? true : undefined));
  expect(lane.metrics.fencings.value).toBe(0);
  await lane.stop();
});

test('law 2: store, then checkpoint, then trim: while the store is away nothing is trimmed and nothing is lost', async () => {
  const lane = await start('four');
  await answering(lane);
  const records = await bus.keyed(LANES_BUCKET);
  const record = async () => decodeLaneRecord((await records.get(laneKeyOf(LANE)))?.bytes ?? Buffer.of());
  await until('a quiet record', async () => ((await record()).intent === null ? true : undefined));
  const before = await record();
  await server.kill();
  for (let count = 0; count < 10; count += 1) await publish(eventOf('9', { path: '/away' }));
  await until('the flush to be tried', () => (lane.metrics.flushRetries.value > 0 ? true : undefined));
  const during = await record();
  expect(during.checkpoint).toEqual(before.checkpoint);
  expect(during.intent?.flushNumber).toBe(before.checkpoint.flushNumber + 1);
  const { first, last } = await bus.streamBounds(streamOf(LANE));
  expect(last - first + 1).toBeGreaterThanOrEqual(10);
  const rows = await ask({ kind: 'rows', projectId: storedId('demo') });
  expect(rows.kind === 'rows' && rows.eventRows).toBe(11);
  await server.restart();
  await until('ten rows', async () =>
    (await storedViews('/away').catch(() => 0)) === 10 ? true : undefined,
  );
  await lane.stop();
  const after = await bus.streamBounds(streamOf(LANE));
  expect(after.first).toBe(after.last + 1);
});

test('while the store is away and memory is full, the owner says at once which sessions it does not know', async () => {
  const lane = await start('five', { env: { FLUSH_ROWS_MAX: '100' } });
  await answering(lane);
  const known = eventOf('e', { path: '/full' });
  await publish(known);
  await until('the first view', async () => ((await storedViews('/full')) === 1 ? true : undefined));
  await server.kill();
  const sentAtMs = Date.now() - 60_000;
  let views = 1;
  const publishSome = async () => {
    views += 120;
    await publishSentAt(sentAtMs, ...Array.from({ length: 120 }, () => eventOf('8', { path: '/full' })));
  };
  const { projectId, deviceId, occurredAtMs } = known;
  const open = { projectId, deviceId, occurredAtMs, eventId: 'new', credit: false };
  const nobody = { ...open, deviceId: 'nobody' };
  const find = async () =>
    decodeSessionAnswers(
      await bus.ask(sessionLookupSubjectOf(LANE), encodeSessionQuestions([open, nobody]), 10_000),
    )?.map(({ kind }) => kind);
  // One batch is on its way to the store, one fills memory, and later messages wait. Until that has lasted for a while, the owner tries to
  // catch up, and says that it cannot.
  const kinds = await until('a lane that is far behind', async () => {
    await publishSome();
    const found = await find();
    return found?.[1] === 'granted' ? undefined : found;
  });
  expect(kinds).toEqual(['open', 'unknown']);
  await server.restart();
  await until('all views', async () =>
    (await storedViews('/full').catch(() => 0)) === views ? true : undefined,
  );
  expect(await until('an answer', find)).toEqual(['open', 'granted']);
  await lane.stop();
});
