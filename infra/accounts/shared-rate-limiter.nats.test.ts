import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../assert.ts';
import { Bus } from '../bus/bus.ts';
import { ManualClock } from '../clock.ts';
import { HOUR_MS } from '../durations.ts';
import { createLogger } from '../log.ts';
import { Metrics } from '../metrics.ts';
import { type NatsServer, startNatsServer } from '../testing/nats-server.ts';
import { COUNTED_KEYS_MAX, decodeLimitCounts, encodeLimitCounts, limitSubjectOf } from './limit-counts.ts';
import { EXCHANGE_MS, RECONNECT_EXCHANGES, SharedRateLimiter } from './shared-rate-limiter.ts';

const LIMIT = { requestsMax: 100, windowMs: 10_000 };
/** The beginning of a window. */
const START_MS = 1_800_000_000_000;
const KIND = 'questions';
const KEY = 'client';
const log = createLogger('test', 'silent');

let nats: NatsServer;
const processes: Process[] = [];

beforeAll(async () => {
  nats = await startNatsServer();
});
afterEach(async () => {
  for (const { bus, limiter } of processes.splice(0)) {
    limiter.stop();
    await bus.close();
  }
});
afterAll(() => nats.stop());

/** Simulates a process: it has its own connection and limiter. */
interface Process {
  readonly bus: Bus;
  readonly limiter: SharedRateLimiter;
  metric(name: string): number;
}

interface ProcessOptions {
  readonly kind?: string;
  readonly exchangeMs?: number;
}

async function startProcess(
  clock: ManualClock,
  { kind = KIND, exchangeMs = EXCHANGE_MS }: ProcessOptions = {},
): Promise<Process> {
  const bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  const metrics = new Metrics();
  const limiter = new SharedRateLimiter({ kind, limit: LIMIT, bus, clock, metrics, exchangeMs });
  await roundTrip(bus);
  const metric = (name: string) => {
    const line = metrics
      .expose()
      .split('\n')
      .find((each) => each.startsWith(name));
    return Number(must(line, `${name} is exposed`).split(' ').at(-1));
  };
  const started = { bus, limiter, metric };
  processes.push(started);
  return started;
}

function startProcesses(count: number, clock: ManualClock): Promise<Process[]> {
  return Promise.all(Array.from({ length: count }, () => startProcess(clock)));
}

/** Resolves once the server has read everything from this connection, subscriptions included. */
async function roundTrip(bus: Bus): Promise<void> {
  await expect
    .poll(() =>
      bus.ask('$JS.API.INFO', new Uint8Array(0), 1_000).then(
        () => true,
        () => false,
      ),
    )
    .toBe(true);
}

/** Takes this many times in a row; returns the number of allowed ones. */
function take({ limiter }: Process, times: number, key = KEY): number {
  return Array.from({ length: times }, () => limiter.take(key)).filter((taken) => taken?.allowed).length;
}

function remaining({ limiter }: Process, key = KEY): number | undefined {
  return limiter.look(key)?.remaining;
}

/** Resolves once every process knows of all requests, so that this many are left. */
async function allKnow(all: readonly Process[], left: number): Promise<void> {
  await expect.poll(() => all.map((one) => remaining(one))).toEqual(all.map(() => left));
}

/** Records everything that is broadcast on the subject of `KIND` from now on. */
async function recordMessages(): Promise<{
  readonly messages: Uint8Array[];
  /** Resolves once everything that `sender` has sent is in `messages`. */
  flush(sender: Bus): Promise<void>;
}> {
  const bus = await Bus.connect({ url: nats.url, name: 'recorder' }, log);
  const messages: Uint8Array[] = [];
  let flushed = 0;
  bus.listen(limitSubjectOf(KIND), (bytes) => messages.push(Uint8Array.from(bytes)));
  bus.listen('flushed', () => {
    flushed += 1;
  });
  const flush = async (sender: Bus) => {
    const before = flushed;
    await expect
      .poll(() => {
        sender.broadcast('flushed', new Uint8Array(0));
        return flushed;
      })
      .toBeGreaterThan(before);
  };
  // Only then the server knows of both subscriptions.
  await flush(bus);
  return { messages, flush };
}

test('three processes that exchange counts between requests exceed the limit by one exchange of the others at most', async () => {
  const all = await startProcesses(3, new ManualClock(START_MS));
  const perExchange = 7;
  let total = 0;
  while (total < LIMIT.requestsMax) {
    for (const one of all) total += take(one, perExchange);
    await allKnow(all, Math.max(0, LIMIT.requestsMax - total));
  }
  expect(total).toBeGreaterThanOrEqual(LIMIT.requestsMax);
  expect(total).toBeLessThanOrEqual(LIMIT.requestsMax + 2 * perExchange);
  expect(all.map((one) => take(one, 10))).toEqual([0, 0, 0]);
});

test('three processes under constant load allow between the limit and three times the limit, and then none', async () => {
  const all = await startProcesses(3, new ManualClock(START_MS));
  let total = 0;
  await expect
    .poll(
      () => {
        for (const one of all) total += take(one, 5);
        return all.map((one) => remaining(one));
      },
      { interval: 1 },
    )
    .toEqual([0, 0, 0]);
  expect(total).toBeGreaterThanOrEqual(LIMIT.requestsMax);
  expect(total).toBeLessThanOrEqual(3 * LIMIT.requestsMax);
  expect(all.map((one) => take(one, 10))).toEqual([0, 0, 0]);
});

test('an excess over three processes counts in the next window, and later windows recover', async () => {
  const clock = new ManualClock(START_MS);
  const all = await startProcesses(3, clock);
  expect(all.map((one) => take(one, 200))).toEqual([100, 100, 100]);
  // All 300 are known when the first request is possible after two thirds of the next window, where they weigh less
  // than 100.
  await expect
    .poll(() => all.map(({ limiter }) => limiter.look(KEY)?.resetMs))
    .toEqual([16_666, 16_666, 16_666]);
  clock.advance(16_665);
  expect(all.map((one) => take(one, 10))).toEqual([0, 0, 0]);
  clock.advance(1_334);
  const later = all.map((one) => take(one, 10));
  expect(later).toEqual([10, 10, 10]);
  clock.advance(20_000);
  await expect.poll(() => all.map(({ metric }) => metric('limit_unsent_keys'))).toEqual([0, 0, 0]);
  let total = 0;
  while (total < 100) {
    for (const one of all) total += take(one, 5);
    await allKnow(all, Math.max(0, 100 - total));
  }
  expect(total).toBeLessThanOrEqual(110);
});

test('one process alone allows exactly its limit', async () => {
  const clock = new ManualClock(START_MS + 5_000);
  const one = await startProcess(clock);
  expect(take(one, 120)).toBe(100);
  one.limiter.exchange();
  const { flush } = await recordMessages();
  await flush(one.bus);
  // Its own messages do not count again.
  clock.advance(20_000);
  expect(take(one, 40)).toBe(40);
  one.limiter.exchange();
  await flush(one.bus);
  expect(remaining(one)).toBe(60);
});

test('an exchange is one message with what changed, and none when nothing did', async () => {
  const clock = new ManualClock(START_MS);
  const { messages, flush } = await recordMessages();
  const one = await startProcess(clock);
  take(one, 50);
  take(one, 3, 'other');
  expect(one.metric('limit_unsent_keys')).toBe(2);
  for (let times = 0; times < 3; times += 1) one.limiter.exchange();
  expect(one.metric('limit_unsent_keys')).toBe(0);
  take(one, 1);
  clock.advance(LIMIT.windowMs);
  take(one, 2);
  one.limiter.exchange();
  await flush(one.bus);
  const window = START_MS / LIMIT.windowMs;
  expect(messages.map((bytes) => decodeLimitCounts(bytes))).toMatchObject([
    {
      window,
      counts: [
        [KEY, 50],
        ['other', 3],
      ],
    },
    { window, counts: [[KEY, 1]] },
    { window: window + 1, counts: [[KEY, 2]] },
  ]);
});

test('rejected requests are not sent', async () => {
  const { messages, flush } = await recordMessages();
  const one = await startProcess(new ManualClock(START_MS));
  take(one, 500);
  one.limiter.exchange();
  await flush(one.bus);
  expect(messages.map((bytes) => decodeLimitCounts(bytes)?.counts)).toEqual([[[KEY, 100]]]);
});

test('kinds and keys are limited apart', async () => {
  const clock = new ManualClock(START_MS);
  const [one, other, manage] = [
    await startProcess(clock),
    await startProcess(clock),
    await startProcess(clock, { kind: 'manage' }),
  ];
  take(one, 100);
  await allKnow([one, other], 0);
  expect(remaining(manage)).toBe(100);
  expect(remaining(other, 'other')).toBe(100);
});

test('while the bus is away each process counts alone; after it is back they know of each other', async () => {
  const clock = new ManualClock(START_MS);
  // The test makes the exchanges itself.
  const exchangeMs = 2 ** 30;
  const [one, other] = [await startProcess(clock, { exchangeMs }), await startProcess(clock, { exchangeMs })];
  const all = [one, other];
  take(one, 20);
  one.limiter.exchange();
  await allKnow(all, 80);
  await nats.kill();
  for (const { bus } of all) await expect.poll(() => bus.connected).toBe(false);
  expect([take(one, 30), take(other, 200)]).toEqual([30, 80]);
  for (const { limiter } of all) limiter.exchange();
  expect(all.map((each) => each.metric('limit_unsent_keys'))).toEqual([1, 1]);
  expect(all.map((each) => remaining(each))).toEqual([50, 0]);
  await nats.restart();
  for (const { bus } of all) await roundTrip(bus);
  for (let times = 0; times < RECONNECT_EXCHANGES; times += 1)
    for (const { limiter } of all) limiter.exchange();
  expect(all.map((each) => each.metric('limit_unsent_keys'))).toEqual([1, 1]);
  for (const { limiter } of all) limiter.exchange();
  expect(all.map((each) => each.metric('limit_unsent_keys'))).toEqual([0, 0]);
  // 130 were allowed. They weigh less than 100 once less than 10/13 of their window is covered.
  await expect.poll(() => all.map(({ limiter }) => limiter.look(KEY)?.resetMs)).toEqual([12_307, 12_307]);
});

test('counts of a time without the bus are not sent two windows later', async () => {
  const clock = new ManualClock(START_MS);
  const one = await startProcess(clock);
  await nats.kill();
  await expect.poll(() => one.bus.connected).toBe(false);
  take(one, 20);
  clock.advance(2 * LIMIT.windowMs);
  one.limiter.exchange();
  expect(one.metric('limit_unsent_keys')).toBe(0);
  await nats.restart();
  await expect.poll(() => one.bus.connected).toBe(true);
});

test('garbage, other versions and other windows are ignored and counted', async () => {
  const clock = new ManualClock(START_MS);
  const [one, sender] = [await startProcess(clock), await startProcess(clock)];
  const window = START_MS / LIMIT.windowMs;
  const message = { process: 'x', window, counts: [[KEY, 5]] as const };
  const unreadable = [
    new Uint8Array(0),
    Buffer.from([0xff, 0x00, 0x7b]),
    Buffer.from('{"version":1}'),
    Buffer.from(JSON.stringify({ version: 0, ...message })),
    Buffer.from(JSON.stringify({ version: 2, ...message })),
  ];
  for (const bytes of unreadable) sender.bus.broadcast(limitSubjectOf(KIND), bytes);
  for (const other of [window - 2, window + 2, 0])
    sender.bus.broadcast(limitSubjectOf(KIND), encodeLimitCounts({ ...message, window: other }));
  sender.bus.broadcast(limitSubjectOf(KIND), encodeLimitCounts(message));
  await expect.poll(() => remaining(one)).toBe(95);
  const ignored = (reason: string) =>
    one.metric(`limit_messages_ignored_total{kind="${KIND}",reason="${reason}"}`);
  expect([ignored('unreadable'), ignored('other-window')]).toEqual([unreadable.length, 3]);
  expect(take(one, 200)).toBe(95);
});

test('a process whose clock is an hour ahead counts alone and locks out no client', async () => {
  const clock = new ManualClock(START_MS);
  const ahead = await startProcess(new ManualClock(START_MS + HOUR_MS));
  const one = await startProcess(clock);
  take(ahead, 100);
  ahead.limiter.exchange();
  await expect
    .poll(() => one.metric(`limit_messages_ignored_total{kind="${KIND}",reason="other-window"}`))
    .toBe(1);
  expect(take(one, 200)).toBe(100);
});

test('keys beyond the maximum of a message are counted by their process alone', async () => {
  const one = await startProcess(new ManualClock(START_MS));
  const other = await startProcess(new ManualClock(START_MS));
  for (let index = 0; index <= COUNTED_KEYS_MAX; index += 1) take(one, 1, `key-${index}`);
  expect(one.metric('limit_unsent_keys')).toBe(COUNTED_KEYS_MAX);
  await expect.poll(() => remaining(other, `key-${COUNTED_KEYS_MAX - 1}`)).toBe(99);
  expect(remaining(one, `key-${COUNTED_KEYS_MAX}`)).toBe(99);
  expect(remaining(other, `key-${COUNTED_KEYS_MAX}`)).toBe(100);
});

test('with a limit of 0 nothing is limited or sent', async () => {
  const { messages, flush } = await recordMessages();
  const bus = await Bus.connect({ url: nats.url, name: 'test' }, log);
  const off = { ...LIMIT, requestsMax: 0 };
  const metrics = new Metrics();
  const limiter = new SharedRateLimiter({
    kind: KIND,
    limit: off,
    bus,
    clock: new ManualClock(START_MS),
    metrics,
    exchangeMs: EXCHANGE_MS,
  });
  expect(limiter.take(KEY)).toBeUndefined();
  limiter.exchange();
  await flush(bus);
  expect(messages).toEqual([]);
  limiter.stop();
  await bus.close();
});
