import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { OpenSessions } from '../../ingest/collect/open-sessions.ts';
import { sessionIdOf } from '../../ingest/event.ts';
import {
  encodeOpenSessionsUnavailable,
  openSessionChangesSubjectOf,
  openSessionsSubjectOf,
  slotOf,
  standingOfSlot,
} from '../../ingest/open-sessions.ts';
import { connectBus } from '../../ingest/testing/collector.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { openSnapshot, takeOpenChanges } from '../../processor/fold/open-changes.ts';
import { createOpenDevices } from '../../processor/fold/open-devices.ts';
import { OpenSessionsFeed } from '../../processor/lane/open-sessions-feed.ts';
import { FoldRun, messageOf } from '../../processor/testing/run.ts';

// The collector's and the owner's side of the lists, over a real bus.

const log = createLogger('test', 'silent');
const WAIT = { timeout: 60_000 };
let nats: NatsServer;
let buses: readonly [owners: Bus, collectors: Bus];
let owner: TestOwner;
let collector: OpenSessions;
let metrics: Metrics;

/** An owner of lane 0 that folds the events of a test. */
interface TestOwner {
  readonly feed: OpenSessionsFeed;
  /** Questions for pieces of the list so far. */
  asked: number;
  come(deviceId: string): void;
  /** Lists devices that it made up. */
  list(count: number): void;
  stop(): Promise<void>;
}

function startOwner(bus: Bus): TestOwner {
  const run = new FoldRun();
  const open = createOpenDevices(1_000_000);
  run.state.openDevices = open;
  const feed = new OpenSessionsFeed({
    name: 0,
    bus,
    log,
    clock: systemClock,
    random: Math.random,
    lane: 0,
    changes: async (nowMs) => {
      const { entries, complete } = takeOpenChanges(run.state, open, nowMs);
      return { entries: entries.bytes, complete };
    },
    snapshot: async () => {
      const { entries, complete } = openSnapshot(open);
      return { entries: entries.bytes, complete };
    },
    catchUp: async () => true,
  });
  const stop = bus.answer(openSessionsSubjectOf(0), {
    reply: (bytes) => {
      owner.asked += 1;
      return feed.answer(bytes);
    },
    unavailable: encodeOpenSessionsUnavailable,
  });
  return {
    feed,
    asked: 0,
    come: (deviceId) => {
      const nowMs = Date.now();
      const sessionId = sessionIdOf(storedId('demo'), deviceId, nowMs, nowMs);
      const event = plainEvent({ deviceId, occurredAtMs: nowMs, receivedAtMs: nowMs, sessionId });
      run.take(messageOf([event], run.messages.length + 1));
      feed.wake();
    },
    list: (count) => {
      for (let index = 0; index < count; index += 1)
        open.listed.set(Math.imul(index, 0x9e37_79b1) >>> 0, index, 1);
    },
    stop: async () => {
      stop();
      await feed.stop();
    },
  };
}

function startCollector(bus: Bus): OpenSessions {
  metrics = new Metrics();
  return new OpenSessions({
    bus,
    clock: systemClock,
    metrics,
    lanes: ServiceLanes.fixed(1),
    inFlightMs: 5_000,
  });
}

/** The device's state in the collector's list: open, unknown (not listed, or at a boundary), or the reason why it is no help. */
function standing(deviceId: string): unknown {
  const nowMs = Date.now();
  const found = collector.find(storedId('demo'), deviceId, nowMs);
  if (found === 0 || found === 'boundary') return 'not listed';
  const slots = [slotOf(nowMs), slotOf(nowMs) - 1].map(standingOfSlot);
  return typeof found === 'number' && slots.includes(found) ? 'open' : found;
}

function counted(name: string): number {
  return Number(new RegExp(`${name} (\\d+)`).exec(metrics.expose())?.[1]);
}

beforeAll(async () => {
  nats = await startNatsServer();
});

afterAll(() => nats.stop());

beforeEach(async () => {
  buses = [await connectBus(nats.url), await connectBus(nats.url)];
  owner = startOwner(buses[0]);
  collector = startCollector(buses[1]);
});

afterEach(async () => {
  collector.stop();
  await owner.stop();
  await Promise.all(buses.map((bus) => bus.close()));
});

test('a collector loads the list when it starts, in several messages, and then follows the changes', async () => {
  // Three messages.
  const count = 60_000;
  owner.list(count);
  owner.come('first');
  await expect.poll(() => standing('first'), WAIT).toBe('open');
  expect(counted('ingest_open_sessions')).toBe(count + 1);
  expect(standing('second')).toBe('not listed');
  const loads = counted('ingest_open_sessions_loads_total');
  owner.come('second');
  await expect.poll(() => standing('second'), WAIT).toBe('open');
  expect(counted('ingest_open_sessions_loads_total')).toBe(loads);
});

test('a collector that starts behind changes gets a list that has them', async () => {
  owner.come('first');
  await expect.poll(() => standing('first'), WAIT).toBe('open');
  owner.come('second');
  await expect.poll(() => standing('second'), WAIT).toBe('open');
  collector.stop();
  const asked = owner.asked;
  collector = startCollector(buses[1]);
  await expect.poll(() => standing('second'), WAIT).toBe('open');
  // Once, or again when changes were sent on the way.
  expect(owner.asked - asked).toBeLessThanOrEqual(2);
});

test('a collector that missed changes loads the list again', async () => {
  owner.come('first');
  await expect.poll(() => standing('first'), WAIT).toBe('open');
  await nats.restart();
  await expect.poll(() => buses.every(({ connected }) => connected), WAIT).toBe(true);
  owner.come('second');
  await expect.poll(() => [standing('first'), standing('second')], WAIT).toEqual(['open', 'open']);
});

test('another owner’s list takes the place of the one before', async () => {
  owner.come('first');
  await expect.poll(() => standing('first'), WAIT).toBe('open');
  await owner.stop();
  owner = startOwner(buses[0]);
  owner.come('second');
  await expect.poll(() => [standing('first'), standing('second')], WAIT).toEqual(['not listed', 'open']);
});

test('an unreadable message changes nothing', async () => {
  owner.come('first');
  await expect.poll(() => standing('first'), WAIT).toBe('open');
  for (const garbage of ['', 'x', 'garbage', '\x01'.repeat(40)])
    buses[0].broadcast(openSessionChangesSubjectOf(0), Buffer.from(garbage));
  owner.come('second');
  await expect.poll(() => [standing('first'), standing('second')], WAIT).toEqual(['open', 'open']);
  expect(counted('ingest_open_sessions_unreadable_total')).toBe(4);
});
