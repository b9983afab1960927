import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { DAY_MS } from '../../infra/durations.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { type Event, SESSION_END } from '../../ingest/event.ts';
import { eventLists, plainEvent, START_MS } from '../../ingest/testing/events.ts';
import { FoldRun, messageOf } from '../testing/run.ts';
import { readRows } from '../testing/stored-rows.ts';
import type { FedEvent } from './fed-event.ts';
import { feedMessagesOf, type MessageSizes } from './feed-messages.ts';
import { fedEventsIn } from './feed-removal.ts';
import { rowsOfSites } from './site-rows.ts';

const SITES = new Map([
  [storedId('demo'), 'demo'],
  [storedId('größe'), 'called otherwise'],
]);
const SIZES: MessageSizes = { groupMaxBytes: 262_144, messageMaxBytes: 1_000_000 };
const SMALL: MessageSizes = { groupMaxBytes: 2_500, messageMaxBytes: 6_000 };

/** The messages of a flush, by site. */
async function fedBy(bytes: Buffer, sizes: MessageSizes = SIZES): Promise<Map<string, FedEvent[][]>> {
  const sites = await rowsOfSites(bytes, SITES);
  return new Map(
    sites.map((site) => [
      site.storedId,
      [...feedMessagesOf(bytes, site, { from: 0, ...sizes })].map((message) => fedEventsIn(message.bytes)),
    ]),
  );
}

function lastRows(run: FoldRun): Buffer {
  return must(run.batches.at(-1), 'there was a flush').events.writer.bytes();
}

function runOf(events: readonly Event[]): FoldRun {
  const run = new FoldRun();
  events.forEach((event, index) => {
    run.take(messageOf([event], index + 1));
  });
  return run;
}

describe('a flush', () => {
  test('gives each site with a feed its rows, each once, and no other site any', async () => {
    await fc.assert(
      fc.asyncProperty(eventLists(), async (events) => {
        const run = runOf(events);
        run.flush();
        const rows = readRows('events', lastRows(run)).map(({ values }) => values);
        const fed = await fedBy(lastRows(run));
        for (const site of ['demo', 'größe', 'shop']) {
          const all = (fed.get(site) ?? []).flat();
          const own = rows.filter(({ projectId }) => projectId === site);
          expect(all.map(({ id }) => id).sort()).toEqual(
            SITES.has(storedId(site)) ? own.map(({ id }) => id).sort() : [],
          );
          expect(all.map(({ sequence }) => sequence[2])).toEqual(all.map((_, index) => index));
          const inOrder = own.filter(({ name }) => name !== SESSION_END).map(({ id }) => id);
          const withoutEnds = all.filter(({ name }) => name !== SESSION_END);
          if (SITES.has(storedId(site))) expect(withoutEnds.map(({ id }) => id)).toEqual(inOrder);
          expect(new Set(all.map(({ projectId }) => projectId)).size).toBeLessThan(2);
        }
      }),
    );
  });

  test('that is repeated after a restart has every event at the same place', async () => {
    await fc.assert(
      fc.asyncProperty(eventLists(), fc.nat(), async (events, cut) => {
        const flushAt = cut % (events.length + 1);
        const runs = [false, true].map((dies) => {
          const run = runOf(events.slice(0, flushAt));
          run.flush();
          const sequence = run.messages.length;
          events.slice(flushAt).forEach((event, index) => {
            run.take(messageOf([event], sequence + index + 1));
          });
          // Every session ends.
          run.take(messageOf([], events.length + 1, START_MS + 400 * DAY_MS));
          if (dies) run.crash();
          run.flush();
          return run;
        });
        const [alive, died] = runs.map((run) => fedBy(lastRows(run), SMALL));
        expect(await died).toEqual(await alive);
      }),
      { numRuns: 200 },
    );
  });

  test('has session ends of one moment in the same order, in whatever order they were folded', async () => {
    const devices = Array.from({ length: 40 }, (_, index) => index.toString(16).padStart(2, '0').repeat(16));
    const ends = devices.map((deviceId) => {
      const run = runOf([]);
      run.take(messageOf([plainEvent({ deviceId, sessionId: deviceId })], 1));
      run.flush();
      run.take(messageOf([], 2, START_MS + DAY_MS));
      run.flush();
      return lastRows(run);
    });
    // The order in which they were folded does not matter.
    const [one, other] = [Buffer.concat(ends), Buffer.concat(ends.toReversed())];
    const fed = (await fedBy(one)).get('demo')?.flat() ?? [];
    expect(fed.map(({ name }) => name)).toEqual(devices.map(() => SESSION_END));
    expect((await fedBy(other)).get('demo')?.flat()).toEqual(fed);
  });
});

describe('messages', () => {
  const bytesOf = async (events: readonly Event[]) => {
    const run = runOf(events);
    run.flush();
    const bytes = lastRows(run);
    const [site] = await rowsOfSites(bytes, SITES);
    return { bytes, site: must(site, 'it has rows') };
  };
  const events = Array.from({ length: 30 }, (_, index) =>
    plainEvent({ path: `/${index}`, properties: ['text', 'é'.repeat(index * 30)] }),
  );

  test('hold as many events as fit, from any event on', async () => {
    const { bytes, site } = await bytesOf(events);
    const all = [...feedMessagesOf(bytes, site, { from: 0, ...SMALL })];
    expect(all.length).toBeGreaterThan(10);
    expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(31);
    for (const { bytes: message, count } of all)
      expect(message.length <= SMALL.groupMaxBytes || count === 1).toBe(true);
    for (let from = 0; from <= 31; from += 1) {
      const rest = [...feedMessagesOf(bytes, site, { from, ...SMALL })];
      const places = rest.flatMap((message) => fedEventsIn(message.bytes).map(({ sequence }) => sequence[2]));
      expect(places).toEqual(Array.from({ length: 31 - from }, (_, index) => from + index));
      expect(rest[0]?.first ?? from).toBe(from);
    }
  });

  test('say which event lacks its properties because it is too long for the bus', async () => {
    const long = plainEvent({ path: '/long', properties: ['text', 'x'.repeat(7_000)] });
    const { bytes, site } = await bytesOf([plainEvent({ path: '/a' }), long, plainEvent({ path: '/b' })]);
    const messages = [...feedMessagesOf(bytes, site, { from: 0, ...SMALL })];
    const fed = messages.flatMap((message) => fedEventsIn(message.bytes));
    expect(fed.map(({ path, properties, shortened }) => [path, properties, shortened])).toEqual([
      ['/a', {}, undefined],
      ['/a', {}, undefined],
      ['/long', {}, true],
      ['/b', {}, undefined],
    ]);
    expect(messages.reduce((sum, { shortened }) => sum + shortened, 0)).toBe(1);
  });
});
