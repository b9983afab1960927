import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Bus } from '../../infra/bus/bus.ts';
import { ManualClock } from '../../infra/clock.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { connectBus } from '../testing/collector.ts';
import { startOwner, type TestOwner } from '../testing/owner.ts';
import { OpenSessions } from './open-sessions.ts';
import { SessionQuestions } from './session-questions.ts';
import { type FoundSession, Sessions } from './sessions.ts';

const LANES = 2;
const KNOWN_MAX = 200;
const NOW_MS = Date.UTC(2024, 4, 10, 12);
let nats: NatsServer;
let bus: Bus;
let owner: TestOwner;
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
  const metrics = new Metrics();
  questions = new SessionQuestions({ metrics, lanes: ServiceLanes.fixed(LANES), bus, timeoutMs: 5_000 });
  const clock = new ManualClock(NOW_MS);
  const shared = { metrics, clock, lanes: ServiceLanes.fixed(LANES) };
  const openSessions = new OpenSessions({ ...shared, bus, inFlightMs: 5_000 });
  sessions = new Sessions({ ...shared, questions, openSessions, knownMax: KNOWN_MAX });
});

afterEach(() => {
  owner.stop();
  sessions.stop();
});

function find(siteId: string, deviceId: string, readOnly = false): Promise<FoundSession> {
  return new Promise((resolve) => {
    const found = sessions.find({
      siteId: storedId(siteId),
      deviceId,
      earlierDeviceId: '',
      occurredAtMs: NOW_MS,
      eventId: '',
      credit: false,
      isDelayed: false,
      readOnly,
      found: resolve,
    });
    if (found !== undefined) resolve(found);
  });
}

function findAll(siteId: string, count: number): Promise<FoundSession[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => find(siteId, `device-${index}`)));
}

function askedOf(siteId: string): number {
  return owner.questions.filter(({ projectId }) => projectId === siteId).length;
}

test('a flood of devices on one site leaves the sessions of another site known', async () => {
  const first = await findAll('quiet', 10);
  await findAll('flood', 20 * KNOWN_MAX);
  expect(askedOf('flood')).toBe(20 * KNOWN_MAX);
  const again = await findAll('quiet', 10);
  expect(again.map(({ kind }) => kind)).toEqual(Array(10).fill('known'));
  expect(again.map(({ sessionId }) => sessionId)).toEqual(first.map(({ sessionId }) => sessionId));
  // Each device of the quiet site was asked about once, before the flood.
  expect(askedOf('quiet')).toBe(10);
});

test('sites with many visitors share the cache equally', async () => {
  await findAll('one', KNOWN_MAX);
  await findAll('two', KNOWN_MAX);
  for (const site of ['one', 'two']) {
    const kinds: string[] = [];
    for (let index = 0; index < KNOWN_MAX; index += 1)
      kinds.push((await find(site, `device-${index}`, true)).kind);
    expect(kinds.filter((kind) => kind === 'known')).toHaveLength(KNOWN_MAX / 2);
  }
});
