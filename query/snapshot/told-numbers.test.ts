import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BusError } from '../../infra/bus/bus-error.ts';
import { Metrics } from '../../infra/metrics.ts';
import { ServiceLanes } from '../../infra/process/service-lanes.ts';
import { GARBAGE } from '../../infra/testing/garbage.ts';
import { storedId } from '../../infra/testing/ids.ts';
import {
  decodeLiveWatch,
  encodeLiveNumbers,
  LIVE_EVERY_MS,
  type LiveNumbers,
  WATCHED_FOR_MS,
} from '../../processor/live-numbers.ts';
import { ToldNumbers } from './told-numbers.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const SILENT_MS = 1_000;

/** Broadcast numbers of one lane, with the test as its owner. */
function toldOf() {
  let heard: (bytes: Uint8Array) => void = () => {};
  let reply: () => Promise<Uint8Array> = async () => {
    throw new BusError('nobody answers', 'no-responders', undefined);
  };
  const asked: string[] = [];
  const metrics = new Metrics();
  const told = new ToldNumbers({
    bus: {
      ask: (subject, bytes) => {
        expect(subject).toBe('live-watch.0');
        asked.push(decodeLiveWatch(bytes));
        return reply();
      },
      listen: (subject, listener) => {
        expect(subject).toBe('live-numbers.0');
        heard = listener;
        return () => {
          heard = () => {};
        };
      },
    },
    lanes: ServiceLanes.fixed(1),
    metrics,
  });
  const numbers = (number: number, part: Partial<LiveNumbers> = {}) =>
    encodeLiveNumbers({ incarnation: 1, number, sites: [], untold: [], ...part });
  return {
    told,
    asked,
    metrics,
    hear: (number: number, part?: Partial<LiveNumbers>) => heard(numbers(number, part)),
    hearBytes: (bytes: Uint8Array) => heard(bytes),
    answer: (number: number, part?: Partial<LiveNumbers>) => {
      reply = async () => numbers(number, part);
    },
    answerLater: (later: Promise<Uint8Array>) => {
      reply = () => later;
    },
    numbers,
    /** Broadcasts the numbers of the shop, then answers the request for them, if there is one. */
    shop: async () => {
      const parts = told.of(storedId('shop'));
      await vi.advanceTimersByTimeAsync(0);
      return parts?.map(({ visitors }) => visitors);
    },
  };
}

test('the first question asks, and later ones know, as long as broadcasts come', async () => {
  const { asked, answer, hear, shop, metrics } = toldOf();
  answer(0, { sites: [[storedId('shop'), 3, []]] });
  expect(await shop()).toBeUndefined();
  expect(await shop()).toEqual([3]);
  hear(1, { sites: [[storedId('shop'), 4, []]] });
  expect(await shop()).toEqual([4]);
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  hear(2);
  expect(await shop()).toEqual([4]);
  expect(asked).toEqual(['shop']);
  await vi.advanceTimersByTimeAsync(SILENT_MS);
  expect(await shop()).toBeUndefined();
  hear(3);
  expect(await shop()).toEqual([4]);
  expect(metrics.expose()).toContain('query_live_answers_total{from="told"} 4');
  expect(metrics.expose()).toContain('query_live_answers_total{from="asked"} 2');
});

test('after a gap, another life of the owner or a message that cannot be read, nothing is known', async () => {
  const { hear, hearBytes, answer, shop, asked, metrics } = toldOf();
  const breaks = [
    () => hear(3),
    () => hear(2, { incarnation: 2 }),
    () => hear(1),
    ...GARBAGE.map((bytes) => () => hearBytes(bytes)),
  ];
  for (const [index, happen] of breaks.entries()) {
    await vi.advanceTimersByTimeAsync(SILENT_MS);
    answer(1, { sites: [[storedId('shop'), 3, []]] });
    hear(1);
    await shop();
    expect(await shop()).toEqual([3]);
    const before = asked.length;
    happen();
    expect(await shop()).toBeUndefined();
    expect([index, asked.length]).toEqual([index, before + 1]);
  }
  expect(metrics.expose()).toContain(`query_live_unreadable_messages_total ${GARBAGE.length}`);
});

test('what is told behind a gap is known', async () => {
  const { hear, shop } = toldOf();
  hear(7, { sites: [[storedId('shop'), 5, []]] });
  expect(await shop()).toEqual([5]);
});

test('a site that is untold is asked for again', async () => {
  const { hear, answer, shop, asked } = toldOf();
  answer(0, { sites: [[storedId('shop'), 3, []]] });
  await shop();
  await vi.advanceTimersByTimeAsync(WATCHED_FOR_MS);
  hear(1, { untold: [storedId('shop')] });
  answer(1, { sites: [[storedId('shop'), 2, []]] });
  expect(await shop()).toBeUndefined();
  expect(await shop()).toEqual([2]);
  expect(asked).toHaveLength(2);
});

test('a site that its owner does not tell of is asked for now and then', async () => {
  const { answer, shop, asked } = toldOf();
  answer(0, { untold: [storedId('shop')] });
  for (let second = 0; second < 21; second += 1) {
    expect(await shop()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(asked).toHaveLength(4);
});

test('without an owner, or with one that does not answer, nothing is known', async () => {
  const { shop, answer } = toldOf();
  expect(await shop()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10_000);
  answer(0, { incarnation: 0, sites: [] });
  expect(await shop()).toBeUndefined();
  expect(await shop()).toBeUndefined();
});

test('an answer behind a broadcast is left: what it says may have changed', async () => {
  const { answerLater, numbers, hear, shop, asked } = toldOf();
  hear(4);
  let answered: (bytes: Uint8Array) => void = () => {};
  answerLater(
    new Promise((resolve) => {
      answered = resolve;
    }),
  );
  await shop();
  hear(5, { sites: [[storedId('shop'), 9, []]] });
  hear(6, { untold: [storedId('shop')] });
  answered(numbers(4, { sites: [[storedId('shop'), 8, []]] }));
  await vi.advanceTimersByTimeAsync(0);
  expect(await shop()).toBeUndefined();
  expect(asked).toHaveLength(2);
});

test('after its stop nothing is heard', async () => {
  const { told, hear, shop } = toldOf();
  hear(1, { sites: [[storedId('shop'), 3, []]] });
  told.stop();
  hear(2, { sites: [[storedId('shop'), 4, []]] });
  expect(await shop()).toEqual([3]);
});
