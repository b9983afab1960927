import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { Bus } from '../bus/bus.ts';
import { ManualClock } from '../clock.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { type Allowance, type Limit, RateLimit } from './rate-limit.ts';
import { LIMITS_BUCKET, SharedLimit } from './shared-limit.ts';

const WINDOW_MS = 10_000;
const START_MS = 1_800_000_000_000;
const NAME = 'questions';
const log = createLogger('test', 'silent');

let nats: NatsServer;
const processes: QueryProcess[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
});
afterEach(async () => {
  nats.resume();
  for (const { bus } of processes.splice(0)) await bus.close();
});
afterAll(() => nats.stop());

interface QueryProcess {
  readonly bus: Bus;
  readonly limit: SharedLimit;
  take(clientId: string): Promise<Allowance>;
  /** Requests that it counted without the bus. */
  alone(): number;
}

async function startProcess(limit: Limit, clock: ManualClock, waitMaxMs = 10_000): Promise<QueryProcess> {
  const bus = await Bus.connect({ url: nats.url, name: 'query' }, log);
  const metrics = new Metrics();
  const shared = new SharedLimit({ name: NAME, limit, bus, clock, metrics, log, waitMaxMs });
  const started: QueryProcess = {
    bus,
    limit: shared,
    take: async (clientId) => shared.take(clientId),
    alone: () => Number(/query_limit_local_total (\d+)/.exec(metrics.expose())?.[1]),
  };
  processes.push(started);
  return started;
}

function startProcesses(count: number, limit: Limit, clock: ManualClock): Promise<QueryProcess[]> {
  return Promise.all(Array.from({ length: count }, () => startProcess(limit, clock)));
}

function remaining({ exceeded, headers }: Allowance): number | 'exceeded' {
  if (exceeded) return 'exceeded';
  return Number(
    must(
      headers.find(([name]) => name === 'RateLimit-Remaining'),
      'it is always said',
    )[1],
  );
}

/** Resolves once the bus counts for this process. */
async function together({ take, alone }: QueryProcess): Promise<void> {
  await expect
    .poll(
      async () => {
        const before = alone();
        await take(randomUUID());
        return alone() - before;
      },
      { timeout: 30_000 },
    )
    .toBe(0);
}

/** Whether the bus leaves a question open. */
function isSilent(bus: Bus): Promise<boolean> {
  return bus.ask('$JS.API.INFO', new Uint8Array(0), 100).then(
    () => false,
    () => true,
  );
}

/** Messages that the bucket has taken since it was made: every write is one. */
async function writes({ bus }: QueryProcess): Promise<number> {
  return (await bus.streamBounds(`KV_${LIMITS_BUCKET}`)).last;
}

test('of 600 requests to three processes at once, exactly 100 are allowed, by few writes', async () => {
  const clock = new ManualClock(START_MS);
  const started = await startProcesses(3, { requestsMax: 100, windowMs: WINDOW_MS }, clock);
  const first = must(started[0], 'it was started');
  await first.take(randomUUID());
  const before = await writes(first);
  const clientId = randomUUID();
  // Twenty callers of each process, each of which asks again once it is answered.
  const callers = started.flatMap(({ take }) => Array.from({ length: 20 }, () => take));
  const answers = await Promise.all(
    callers.map(async (take) => {
      const taken: Allowance[] = [];
      for (let turn = 0; turn < 10; turn += 1) taken.push(await take(clientId));
      return taken;
    }),
  );
  const left = answers.flat().map(remaining);
  expect(left.length).toBe(600);
  // Everything that was left was given to one request.
  const allowed = left.filter((one) => one !== 'exceeded').sort((a, b) => a - b);
  expect(allowed).toEqual(Array.from({ length: 100 }, (_, index) => index));
  expect((await writes(first)) - before).toBeLessThanOrEqual(20);
  expect(started.map(({ alone }) => alone())).toEqual([0, 0, 0]);
});

test('requests that go from process to process are counted as in one', async () => {
  const requestsMax = 4;
  const limit = { requestsMax, windowMs: WINDOW_MS };
  const clock = new ManualClock(START_MS);
  const started = await startProcesses(3, limit, clock);
  const gapMs = fc.oneof(fc.constantFrom(0, 1, WINDOW_MS - 1, WINDOW_MS), fc.nat({ max: WINDOW_MS / 2 }));
  const requests = fc.array(fc.tuple(fc.nat({ max: 2 }), gapMs), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(requests, async (steps) => {
      const clientId = randomUUID();
      const single = new RateLimit(limit);
      for (const [index, gap] of steps) {
        clock.advance(gap);
        const expected = single.take(clientId, clock.nowMs());
        expect(await must(started[index], 'it was started').take(clientId)).toEqual(expected);
      }
    }),
    { numRuns: 40 },
  );
  expect(started.map(({ alone }) => alone())).toEqual([0, 0, 0]);
});

test('a client that is known to have none left is refused without asking the bus', async () => {
  const clock = new ManualClock(START_MS);
  const limit = { requestsMax: 2, windowMs: WINDOW_MS };
  const [one, other] = [await startProcess(limit, clock), await startProcess(limit, clock)];
  const clientId = randomUUID();
  for (const expected of [1, 0]) expect(remaining(await one.take(clientId))).toBe(expected);
  const before = await writes(one);
  // An allowance and no promise: nobody had to be asked.
  expect(one.limit.take(clientId)).toMatchObject({ exceeded: true });
  // The other has to look once, and knows it then.
  expect(remaining(await other.take(clientId))).toBe('exceeded');
  expect(other.limit.take(clientId)).toMatchObject({ exceeded: true });
  expect(await writes(one)).toBe(before);
  clock.advance(WINDOW_MS);
  expect(remaining(await other.take(clientId))).toBe(1);
});

test('limits of another name and of other clients are others', async () => {
  const clock = new ManualClock(START_MS);
  const limit = { requestsMax: 1, windowMs: WINDOW_MS };
  const { bus, take } = await startProcess(limit, clock);
  const metrics = new Metrics();
  const manage = new SharedLimit({ name: 'manage', limit, bus, clock, metrics, log, waitMaxMs: 10_000 });
  const clientId = randomUUID();
  expect(remaining(await take(clientId))).toBe(0);
  expect(remaining(await manage.take(clientId))).toBe(0);
  expect(remaining(await take(randomUUID()))).toBe(0);
  expect(remaining(await take(clientId))).toBe('exceeded');
});

test('the clock of a process that is ahead shuts nobody out for longer than a window', async () => {
  const limit = { requestsMax: 1, windowMs: WINDOW_MS };
  const clock = new ManualClock(START_MS);
  const ahead = await startProcess(limit, new ManualClock(START_MS + 3_600_000));
  const one = await startProcess(limit, clock);
  const clientId = randomUUID();
  expect(remaining(await ahead.take(clientId))).toBe(0);
  expect(remaining(await one.take(clientId))).toBe('exceeded');
  clock.advance(WINDOW_MS);
  expect(remaining(await one.take(clientId))).toBe(0);
});

test('what the bus forgot, it is told again', async () => {
  const clock = new ManualClock(START_MS);
  const limit = { requestsMax: 3, windowMs: WINDOW_MS };
  const [one, other] = [await startProcess(limit, clock), await startProcess(limit, clock)];
  const clientId = randomUUID();
  for (const expected of [2, 1]) expect(remaining(await one.take(clientId))).toBe(expected);
  await one.bus.trim(`KV_${LIMITS_BUCKET}`, await writes(one));
  expect(remaining(await one.take(clientId))).toBe(0);
  expect(remaining(await other.take(clientId))).toBe('exceeded');
});

test('a bus that is too slow is not waited for, and what it did late is not counted twice', async () => {
  const clock = new ManualClock(START_MS);
  const limit = { requestsMax: 4, windowMs: WINDOW_MS };
  const one = await startProcess(limit, clock, 300);
  const other = await startProcess(limit, clock);
  const clientId = randomUUID();
  await together(one);
  const before = one.alone();
  nats.pause();
  // A signal takes a moment to arrive.
  await expect.poll(() => isSilent(one.bus)).toBe(true);
  const busGaveUp = writes(one).catch(() => 'after the bus was given up');
  // The first ones wait until it is clear that the bus does not answer; its write is done later, when the bus goes on.
  const first = [one.take(clientId), one.take(clientId)];
  // The write is under way at the end of this turn; time goes on until it is given up.
  await setImmediate();
  clock.advance(50);
  const left = Promise.all(first).then((allowances) => allowances.map(remaining));
  expect(await Promise.race([left, busGaveUp])).toEqual([3, 2]);
  expect(one.alone() - before).toBe(2);
  clock.advance(1);
  expect(one.limit.take(clientId)).toMatchObject({ exceeded: false });
  expect(one.alone() - before).toBe(3);
  nats.resume();
  await together(one);
  clock.advance(1);
  expect(remaining(await one.take(clientId))).toBe(0);
  expect(remaining(await other.take(clientId))).toBe('exceeded');
  clock.advance(WINDOW_MS - 52);
  expect(remaining(await other.take(clientId))).toBe(1);
});

test('while the bus is away each counts by what it knows; afterwards they know it all', async () => {
  const clock = new ManualClock(START_MS);
  const limit = { requestsMax: 12, windowMs: WINDOW_MS };
  const [one, other] = [await startProcess(limit, clock), await startProcess(limit, clock)];
  const clientId = randomUUID();
  for (const expected of [11, 10, 9, 8]) expect(remaining(await one.take(clientId))).toBe(expected);
  for (const expected of [7, 6]) expect(remaining(await other.take(clientId))).toBe(expected);
  await nats.kill();
  for (const { bus } of [one, other]) await expect.poll(() => bus.connected).toBe(false);
  clock.advance(1_000);
  for (const expected of [7, 6, 5]) expect(remaining(await one.take(clientId))).toBe(expected);
  clock.advance(1_000);
  expect(remaining(await other.take(clientId))).toBe(5);
  expect([one.alone(), other.alone()]).toEqual([3, 1]);
  await nats.restart();
  await together(one);
  await together(other);
  // Six of the beginning, three and one of the time alone, and these two.
  clock.advance(1_000);
  expect(remaining(await one.take(clientId))).toBe(4);
  expect(remaining(await other.take(clientId))).toBe(0);
  expect(remaining(await one.take(clientId))).toBe('exceeded');
  clock.advance(WINDOW_MS - 3_000);
  expect(remaining(await one.take(clientId))).toBe(5);
});
