import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import type { KeyedBytes } from '../../infra/bus/keyed-bytes.ts';
import { LeaseWatch } from '../../infra/bus/lease-watch.ts';
import { ManualClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { FIRST_CHECKPOINT, LANES_BUCKET, LANES_BUCKET_OPTIONS } from './lane-record.ts';
import { FencedError, Ownership } from './ownership.ts';

const LEASE_MS = 15_000;
const NOW_MS = Date.UTC(2026, 10, 25, 12);

let nats: NatsServer;
let bus: Bus;
let records: KeyedBytes;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'ownership' }, createLogger('test', 'silent'));
  records = await bus.keyed(LANES_BUCKET, LANES_BUCKET_OPTIONS);
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

/** The records, for a process that does not get the answers to its next `lost` writes. */
function withLostAnswers(answers: { lost: number }): KeyedBytes {
  return new Proxy(records, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return async (...args: unknown[]) => {
        const result = await member.apply(target, args);
        if (name !== 'put' || answers.lost === 0) return result;
        answers.lost -= 1;
        throw new BusError('no answer', 'timeout', undefined);
      };
    },
  });
}

interface ProcessPlan {
  readonly wrongMs?: number;
  readonly from?: KeyedBytes;
  readonly isWithinShare?: boolean;
  readonly grownTo?: number;
}

/** A process with a clock that is wrong by `wrongMs`, and with an elapsed time that the test moves. */
function processOf(
  owner: string,
  key: string,
  { wrongMs = 0, from = records, isWithinShare = true, grownTo }: ProcessPlan = {},
) {
  const clock = new ManualClock(NOW_MS + wrongMs);
  const elapsed = new ManualClock(0);
  const watch = new LeaseWatch(() => elapsed.nowMs());
  const division = { slices: 1, partitions: 1 };
  const take = () =>
    Ownership.take({
      ...{ records: from, lane: 0, key, division, owner, leaseMs: LEASE_MS, watch, clock },
      isWithinShare: () => isWithinShare,
      grownTo,
    });
  return { take, elapsed };
}

test.each([
  ['ten minutes ahead', 600_000],
  ['right', 0],
  ['ten minutes behind', -600_000],
])(
  'an owner whose clock is %s keeps its lane while it writes, and loses it a lease after that',
  async (_, wrongMs) => {
    const key = `lane-clock-${wrongMs + 600_000}`;
    const first = await processOf('first', key, { wrongMs }).take();
    const second = processOf('second', key);
    for (let round = 0; round < 4; round += 1) {
      expect(await second.take()).toBeUndefined();
      second.elapsed.advance(LEASE_MS - 1);
      await first?.renew();
    }
    expect(await second.take()).toBeUndefined();
    second.elapsed.advance(LEASE_MS - 1);
    expect(await second.take()).toBeUndefined();
    second.elapsed.advance(1);
    const taken = await second.take();
    expect(taken).toBeInstanceOf(Ownership);
    await expect(first?.renew()).rejects.toThrow(FencedError);
    await taken?.renew();
  },
);

test('a lane that was given up, or is of the same name, is taken at once', async () => {
  const key = 'lane-given-up';
  const first = await processOf('first', key).take();
  await first?.giveUp();
  const second = await processOf('second', key).take();
  expect(second).toBeInstanceOf(Ownership);
  expect(await processOf('third', key).take()).toBeUndefined();
  expect(await processOf('second', key).take()).toBeInstanceOf(Ownership);
  await expect(second?.renew()).rejects.toThrow(FencedError);
});

test('a lane that was given up for a processor is left to it for a moment, and then is anybody’s', async () => {
  const key = 'lane-offered';
  const [second, third] = [processOf('second', key), processOf('third', key)];
  const first = await processOf('first', key).take();
  await first?.giveUp('second');
  expect(await third.take()).toBeUndefined();
  const taken = await second.take();
  expect(taken).toBeInstanceOf(Ownership);
  expect(taken?.refusedBy).toBeUndefined();
  await taken?.giveUp('fourth');
  expect(await third.take()).toBeUndefined();
  third.elapsed.advance(1_500);
  const takenBy = await third.take();
  expect(takenBy?.refusedBy).toBe('fourth');
  // The offer is over with the take.
  await takenBy?.giveUp();
  expect(await second.take()).toBeInstanceOf(Ownership);
});

test('a processor that has its share leaves a free lane to others for a moment, but not one of its own name', async () => {
  const key = 'lane-beyond-share';
  const full = processOf('full', key, { isWithinShare: false });
  expect(await full.take()).toBeUndefined();
  full.elapsed.advance(2_000);
  const taken = await full.take();
  expect(taken).toBeInstanceOf(Ownership);
  // The same processor may take it, as after a restart.
  expect(await processOf('full', key, { isWithinShare: false }).take()).toBeInstanceOf(Ownership);
  const other = processOf('other', key, { isWithinShare: false });
  expect(await other.take()).toBeUndefined();
  other.elapsed.advance(LEASE_MS + 1_999);
  expect(await other.take()).toBeUndefined();
  other.elapsed.advance(1);
  expect(await other.take()).toBeInstanceOf(Ownership);
});

test('an owner that does not get the answer to a write keeps its lane, and its next write of another kind follows', async () => {
  const key = 'lane-lost-answers';
  const answers = { lost: 0 };
  const owner = await processOf('first', key, { from: withLostAnswers(answers) }).take();
  const intent = { ...FIRST_CHECKPOINT, flushNumber: 1, sequence: 7 };
  answers.lost = 1;
  await expect(owner?.renew()).rejects.toThrow('no answer');
  await owner?.declare(intent);
  expect(owner?.intent).toEqual(intent);
  answers.lost = 1;
  await expect(owner?.complete(intent)).rejects.toThrow('no answer');
  await owner?.renew();
  expect(owner?.checkpoint).toEqual(intent);
  expect(owner?.intent).toBeNull();
  const second = await processOf('first', key).take();
  expect(second?.checkpoint).toEqual(intent);
  await expect(owner?.renew()).rejects.toThrow(FencedError);
  expect(() => owner?.confirm()).toThrow(FencedError);
});

test('a lane of a service that has grown is taken by who knows of how many', async () => {
  const key = 'lane-grown';
  const growing = await processOf('one', key).take();
  await growing?.grow({ lanes: 4, before: [[0, 7]] });
  await growing?.giveUp();
  // A process that was paused meanwhile counts fewer lanes, and one that is ahead counts more.
  for (const grownTo of [undefined, 2, 8])
    expect(await processOf('two', key, grownTo === undefined ? {} : { grownTo }).take()).toBeUndefined();
  const taken = await processOf('two', key, { grownTo: 4 }).take();
  expect(taken?.grown).toEqual({ lanes: 4, before: [[0, 7]] });
});

test('a refused flush is passed by the next owner, and its messages are the next flush', async () => {
  const first = processOf('one', 'refused');
  const owner = await first.take();
  const intent = {
    flushNumber: 1,
    sequence: 9,
    clockMs: 5,
    publishers: [],
    forgettings: [['a', 1]],
  } as const;
  await owner?.declare(intent);
  const entry = { projectId: storedId('shop'), first: 1, last: 9, reason: 'refused', atMs: 5 };
  await owner?.refuse([entry]);
  await owner?.refuse([entry]);
  // Every change of the record keeps it until it is passed.
  await owner?.renew();
  await owner?.giveUp();

  const next = await processOf('two', 'refused').take();
  expect([next?.isRefused, next?.setAside, next?.intent]).toEqual([true, [entry], intent]);
  await next?.passRefused();
  await next?.passRefused();
  const passed = { ...intent, flushNumber: 2, forgettings: [['a', 2]] };
  expect([next?.isRefused, next?.fedFrom, next?.intent]).toEqual([false, 1, passed]);
  expect(next?.checkpoint).toEqual({ ...FIRST_CHECKPOINT, flushNumber: 1 });
  // Refused once more: the feeds may know the messages by the first number.
  await next?.refuse([{ ...entry, projectId: storedId('other') }]);
  await next?.passRefused();
  expect([next?.fedFrom, next?.intent?.flushNumber, next?.checkpoint.flushNumber]).toEqual([1, 3, 2]);
  await next?.complete({ ...intent, flushNumber: 3 });
  expect([next?.isRefused, next?.fedFrom, next?.intent]).toEqual([false, undefined, null]);
});

test('a refusal whose answer is lost is recorded once', async () => {
  const answers = { lost: 0 };
  const owner = await processOf('one', 'refused-unheard', { from: withLostAnswers(answers) }).take();
  await owner?.declare({ ...FIRST_CHECKPOINT, flushNumber: 1, sequence: 9 });
  const entry = { projectId: storedId('shop'), first: 1, last: 9, reason: 'refused', atMs: 5 };
  for (const write of [() => owner?.refuse([entry]), () => owner?.passRefused()]) {
    answers.lost = 1;
    await expect(write()).rejects.toThrow('no answer');
    await write();
  }
  expect([owner?.setAside, owner?.checkpoint.flushNumber, owner?.intent?.flushNumber]).toEqual([
    [entry],
    1,
    2,
  ]);
});
