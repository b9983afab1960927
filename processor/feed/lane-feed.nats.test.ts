import { connect, type NatsConnection, type StreamAPI } from 'nats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { feedSubjectOf } from '../../infra/accounts/accounts.ts';
import type { StoredId } from '../../infra/accounts/ids.ts';
import { must } from '../../infra/assert.ts';
import { Bus } from '../../infra/bus/bus.ts';
import { BusError } from '../../infra/bus/bus-error.ts';
import { HOUR_MS } from '../../infra/durations.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type NatsServer, startNatsServer } from '../../infra/testing/nats-server.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import { FencedError } from '../lane/ownership.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import type { FedEvent } from './fed-event.ts';
import { createFeedMetrics, type FeedMetrics } from './feed-metrics.ts';
import { fedEventsIn, removeFeed, removePersonFromFeed } from './feed-removal.ts';
import { ensureFeedStream, FEED_STREAM } from './feed-stream.ts';
import { type FedFlush, LaneFeed, type Recover } from './lane-feed.ts';

const LANE = 3;
const LIMITS = { bytesMax: 268_435_456, ageMaxMs: HOUR_MS };
/** Long enough that every second event begins a message. */
const LONG = 'x'.repeat(100_000);
const EVENTS = 12;
const log = createLogger('feed-test', 'silent');

let nats: NatsServer;
let bus: Bus;
/** The server as an operator sees it. */
let connection: NatsConnection;
let streams: StreamAPI;

beforeAll(async () => {
  nats = await startNatsServer();
  bus = await Bus.connect({ url: nats.url, name: 'feed-test' }, log);
  await ensureFeedStream(bus, LIMITS);
  connection = await connect({ servers: new URL(nats.url).host });
  ({ streams } = await connection.jetstreamManager());
});
afterAll(async () => {
  await connection.close();
  await bus.close();
  await nats.stop();
});

interface Fed {
  readonly feed: LaneFeed;
  readonly metrics: FeedMetrics;
}

/** A feed as a lane has it at its start, with nothing in memory; `over` is the bus that it uses. */
function feedOf(site: string, over: Bus = bus): Fed {
  const metrics = createFeedMetrics(new Metrics());
  const feeds = { sites: new Map([[storedId(site), site]]), limits: LIMITS, metrics };
  return { feed: new LaneFeed({ lane: LANE, bus: over, log, feeds }), metrics };
}

/** A bus that counts in `looks` the requests for the last message of a site. */
function counting(looks: string[]): Bus {
  return new Proxy(bus, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        if (name === 'lastOf') looks.push(String(args[1]));
        return member.apply(target, args);
      };
    },
  });
}

/** The flushes of a site; the events of each take several messages. */
function flushesOf(site: StoredId, count: number, text = LONG): FedFlush[] {
  const run = new FoldRun();
  for (let flush = 0; flush < count; flush += 1) {
    const events = Array.from({ length: EVENTS }, (_, index) =>
      plainEvent({ projectId: site, path: `/${flush}/${index}`, properties: ['text', text] }),
    );
    run.take(messageOf(events, flush + 1));
    run.flush();
  }
  return run.batches.map((batch) => ({
    flushNumber: batch.flushNumber,
    events: Buffer.from(batch.events.writer.bytes()),
  }));
}

/** For a process that still owns the lane. */
const stillOurs: Recover = async () => {};

async function fedTo(site: StoredId): Promise<FedEvent[]> {
  const events: FedEvent[] = [];
  for await (const { bytes } of bus.messagesOf(FEED_STREAM, feedSubjectOf(site, '>')))
    events.push(...fedEventsIn(bytes));
  return events;
}

async function headersOf(sequence: number): Promise<Record<string, string>> {
  const { header } = await streams.getMessage(FEED_STREAM, { seq: sequence });
  return Object.fromEntries(header.keys().map((key) => [key, header.get(key)]));
}

/** The paths of all events of these flushes, in order; the first flush begins with the start of their session. */
function pathsOf(flushes: number): string[] {
  const all = Array.from({ length: flushes }, (_, flush) =>
    Array.from({ length: EVENTS }, (_unused, index) => `/${flush}/${index}`),
  );
  return ['/0/0', ...all.flat()];
}

async function expectAllOnce(site: StoredId, flushes: number): Promise<void> {
  const events = await fedTo(site);
  expect(events.map(({ path }) => path)).toEqual(pathsOf(flushes));
  for (let flush = 1; flush <= flushes; flush += 1) {
    const places = events.filter(({ sequence }) => sequence[1] === flush).map(({ sequence }) => sequence[2]);
    expect(places).toEqual(places.map((_, index) => index));
  }
}

/** A bus whose `append` number `at` fails: before it is sent, or after it took effect. */
function failing(at: number, when: 'before' | 'after', error: Error): Bus {
  let calls = 0;
  return new Proxy(bus, {
    get: (target, name) => {
      const member = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'append') return member.bind(target);
      return async (...args: Parameters<Bus['append']>) => {
        calls += 1;
        if (calls === at && when === 'before') throw error;
        const sequence = await target.append(...args);
        if (calls === at) throw error;
        return sequence;
      };
    },
  });
}

describe('a flush is in the feed once and in order', () => {
  // The first flush has six messages, and so has each after it.
  const deaths = [1, 2, 6, 7, 9].flatMap((at) =>
    (['before', 'after'] as const).map((when) => ({ at, when })),
  );

  test.each(deaths)(
    'though its owner dies $when message $at, and the next one does it again',
    async ({ at, when }) => {
      const site = storedId(`death-${at}-${when}`);
      const [first, second, third] = flushesOf(site, 3);
      const dying = feedOf(site, failing(at, when, new Error('dead')));
      const flushes = [must(first, 'first'), must(second, 'second'), must(third, 'third')];
      let done = 0;
      try {
        for (; done < flushes.length; done += 1)
          await dying.feed.publish(must(flushes[done], 'a flush'), stillOurs);
      } catch (error) {
        expect(error).toEqual(new Error('dead'));
      }
      expect(done).toBeLessThan(flushes.length);
      const { feed } = feedOf(site);
      for (const flush of flushes.slice(done)) await feed.publish(flush, stillOurs);
      await expectAllOnce(site, 3);
    },
  );

  test.each(deaths)(
    'though the answer to message $at is lost, $when it took effect',
    async ({ at, when }) => {
      const site = storedId(`unheard-${at}-${when}`);
      const { feed, metrics } = feedOf(
        site,
        failing(at, when, new BusError('no answer', 'timeout', undefined)),
      );
      for (const flush of flushesOf(site, 2)) await feed.publish(flush, stillOurs);
      expect(metrics.retries.value).toBe(1);
      expect(metrics.lost.value).toBe(0);
      await expectAllOnce(site, 2);
    },
  );

  test('although two owners publish it at the same time', async () => {
    const flushes = flushesOf(storedId('two'), 3);
    for (const flush of flushes) {
      const both = [feedOf('two'), feedOf('two')];
      await Promise.all(both.map(({ feed }) => feed.publish(flush, stillOurs)));
    }
    await expectAllOnce(storedId('two'), 3);
  });

  test('and a fenced owner adds nothing behind a newer flush', async () => {
    const [first, second] = flushesOf(storedId('deposed'), 2);
    const flushes = [must(first, 'first'), must(second, 'second')];
    const late = feedOf('deposed');
    await late.feed.publish(must(first, 'first'), stillOurs);
    const next = feedOf('deposed');
    for (const flush of flushes) await next.feed.publish(flush, stillOurs);
    const fenced: Recover = async () => {
      throw new FencedError('another process owns it');
    };
    // The first feed remembers an outdated state; the second looks up what is missing.
    await expect(late.feed.publish(must(second, 'second'), fenced)).rejects.toThrow(FencedError);
    await expect(feedOf('deposed').feed.publish(must(first, 'first'), fenced)).rejects.toThrow(FencedError);
    await expectAllOnce(storedId('deposed'), 2);
  });
});

test('every message names the one before it on its subject, and says which events it holds', async () => {
  const { feed } = feedOf('chained');
  for (const flush of flushesOf(storedId('chained'), 2)) await feed.publish(flush, stillOurs);
  let before = 0;
  let messages = 0;
  const subject = feedSubjectOf(storedId('chained'), LANE);
  for await (const { sequence, bytes } of bus.messagesOf(FEED_STREAM, subject)) {
    const [first] = fedEventsIn(bytes);
    const headers = await headersOf(sequence);
    expect(headers).toEqual({
      'footfall-partition': String(LANE),
      'footfall-flush': String(first?.sequence[1]),
      'footfall-first': String(first?.sequence[2]),
      'footfall-count': String(fedEventsIn(bytes).length),
      'Nats-Expected-Last-Subject-Sequence': String(before),
    });
    before = sequence;
    messages += 1;
  }
  expect(messages).toBe(12);
});

test('a site without a feed costs no message, and a site beside it changes nothing', async () => {
  const run = new FoldRun();
  const events = ['fed', 'unfed'].map((projectId) =>
    plainEvent({ projectId: storedId(projectId), path: `/${projectId}` }),
  );
  run.take(messageOf(events, 1));
  run.flush();
  const [batch] = run.batches;
  const rows = Buffer.from(must(batch, 'a flush').events.writer.bytes());
  await feedOf('fed').feed.publish({ flushNumber: 1, events: rows }, stillOurs);
  expect((await fedTo(storedId('fed'))).map(({ path }) => path)).toEqual(['/fed', '/fed']);
  expect(await fedTo(storedId('unfed'))).toEqual([]);
});

test('a feed continues after messages were removed from it', async () => {
  const [first, second, third] = flushesOf(storedId('removed'), 3);
  const { feed, metrics } = feedOf('removed');
  await feed.publish(must(first, 'first'), stillOurs);
  await removeFeed(bus, storedId('removed'), () => {});
  await feed.publish(must(second, 'second'), stillOurs);
  const sequences: number[] = [];
  const messages = bus.messagesOf(FEED_STREAM, feedSubjectOf(storedId('removed'), '>'));
  for await (const { sequence } of messages) sequences.push(sequence);
  await bus.remove(FEED_STREAM, must(sequences.at(-1), 'the last one'));
  await feed.publish(must(third, 'third'), stillOurs);
  const paths = (await fedTo(storedId('removed'))).map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(EVENTS);
  expect(paths).toEqual([
    ...pathsOf(2).slice(1 + EVENTS, 1 + EVENTS + (paths.length - EVENTS)),
    ...pathsOf(3).slice(-EVENTS),
  ]);
  expect(metrics.retries.value).toBe(2);
});

test('an erased person loses the messages that name them, and those of their visits', async () => {
  const site = storedId('erased');
  const { feed } = feedOf(site);
  const run = new FoldRun();
  const message = (device: string, path: string, profileId: string) =>
    messageOf(
      [
        plainEvent({
          projectId: site,
          deviceId: device.repeat(32),
          sessionId: device.repeat(32),
          path,
          profileId,
        }),
      ],
      run.messages.length + 1,
    );
  for (const [device, path, profileId] of [
    ['a', '/before', ''],
    ['b', '/other', 'Somebody else'],
    ['a', '/named', 'Ada "A" Lovelace'],
    ['c', '/nobody', ''],
    ['a', '/after', ''],
  ] as const) {
    run.take(message(device, path, profileId));
    run.flush();
  }
  for (const batch of run.batches) {
    const events = Buffer.from(batch.events.writer.bytes());
    await feed.publish({ flushNumber: batch.flushNumber, events }, stillOurs);
  }
  await removePersonFromFeed(bus, site, ['Ada "A" Lovelace', 'ada@old.example']);
  expect(new Set((await fedTo(site)).map(({ path }) => path))).toEqual(new Set(['/other', '/nobody']));
});

test('a site with special characters in its id has a subject of its own', async () => {
  for (const site of ['größe', 'a.b', 'a b', 'a*', '>', 'shop', 'shop~2']) {
    const [flush] = flushesOf(storedId(site), 1, '');
    await feedOf(site).feed.publish(must(flush, 'a flush'), stillOurs);
  }
  for (const site of ['größe', 'a.b', 'a b', 'a*', '>', 'shop', 'shop~2']) {
    const sites = (await fedTo(storedId(site))).map(({ projectId }) => projectId);
    expect(new Set(sites)).toEqual(new Set([site]));
  }
  expect(feedSubjectOf(storedId('shop~2'), '>')).toBe('feed.shop~2.>');
});

describe('a bus that works', () => {
  test('and keeps rejecting a message causes a counted gap, and delays no later flush', async () => {
    const { feed, metrics } = feedOf('rejected');
    const [first, second, third, fourth] = flushesOf(storedId('rejected'), 4);
    await feed.publish(must(first, 'first'), stillOurs);
    await streams.update(FEED_STREAM, { max_msg_size: 10_000 });
    let tries = 0;
    const counting: Recover = async () => {
      tries += 1;
    };
    await feed.publish(must(second, 'second'), counting);
    expect(tries).toBe(15);
    expect(metrics.lost.value).toBe(EVENTS);
    await feed.publish(must(third, 'third'), counting);
    expect(tries).toBe(16);
    expect(metrics.lost.value).toBe(2 * EVENTS);
    await streams.update(FEED_STREAM, { max_msg_size: -1 });
    await feed.publish(must(fourth, 'fourth'), counting);
    expect(tries).toBe(16);
    const paths = (await fedTo(storedId('rejected'))).map(({ path }) => path);
    expect(paths).toEqual([...pathsOf(1), ...pathsOf(4).slice(-EVENTS)]);
  });

  test('and has lost the stream gets a new one', async () => {
    const { feed, metrics } = feedOf('deleted');
    const [first, second] = flushesOf(storedId('deleted'), 2);
    await feed.publish(must(first, 'first'), stillOurs);
    await streams.delete(FEED_STREAM);
    expect(await fedTo(storedId('deleted'))).toEqual([]);
    await feed.publish(must(second, 'second'), stillOurs);
    expect((await fedTo(storedId('deleted'))).map(({ path }) => path)).toEqual(pathsOf(2).slice(-EVENTS));
    expect(metrics.lost.value).toBe(0);
  });
});

// The last test, since the others need a bus.
test('while the bus is away a flush waits, and each of its events is fed once', async () => {
  const { feed, metrics } = feedOf('away');
  const [first, second] = flushesOf(storedId('away'), 2);
  await feed.publish(must(first, 'first'), stillOurs);
  await nats.kill();
  let waits = 0;
  const publishing = feed.publish(must(second, 'second'), async () => {
    waits += 1;
    if (waits === 1) await nats.restart();
    await expect.poll(() => bus.connected).toBe(true);
  });
  await publishing;
  expect(waits).toBeGreaterThan(0);
  expect(metrics.lost.value).toBe(0);
  await expectAllOnce(storedId('away'), 2);
});

test('a site that is evicted from memory is read back from the bus, and each of its events is fed once', async () => {
  const names = ['evicted-a', 'evicted-b', 'evicted-c'];
  const looks: string[] = [];
  const feeds = {
    sites: new Map(names.map((name) => [storedId(name), name])),
    limits: LIMITS,
    metrics: createFeedMetrics(new Metrics()),
  };
  const feed = new LaneFeed({ lane: LANE, bus: counting(looks), log, feeds, feedSitesMax: 2 });
  const flushes = names.map((name) => flushesOf(storedId(name), 3, 'short'));
  for (let round = 0; round < 3; round += 1)
    for (const ofSite of flushes) await feed.publish(must(ofSite[round], 'a flush'), stillOurs);
  for (const name of names) await expectAllOnce(storedId(name), 3);
  // Two fit: the third evicts the first, whose next flush evicts the second, and so on.
  expect(looks).toHaveLength(9);
});
