import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { must } from '../../infra/assert.ts';
import { storedId } from '../../infra/testing/ids.ts';
import { until } from '../../infra/testing/look-again.ts';
import { type Event, subjectOf } from '../../ingest/event.ts';
import { plainEvent } from '../../ingest/testing/events.ts';
import {
  decodeLiveNumbers,
  encodeLiveWatch,
  type LiveNumbers,
  liveNumbersSubjectOf,
  liveWatchSubjectOf,
} from '../live-numbers.ts';
import { answering, type LaneWorld, startLaneWorld } from '../testing/lane-world.ts';
import { messageOf } from '../testing/run.ts';

let world: LaneWorld;
let published = 0;

beforeAll(async () => {
  world = await startLaneWorld('live_feed_test');
});
afterAll(() => world.stop());
afterEach(() => world.stopLanes());

async function publish(lane: number, ...events: readonly Event[]): Promise<void> {
  published += 1;
  await world.bus.publish(subjectOf(lane), messageOf(events, published), 5_000);
}

function eventOf(projectId: string, device: string, overrides: Partial<Event> = {}): Event {
  const nowMs = Date.now();
  const deviceId = device.repeat(32).slice(0, 32);
  return plainEvent({
    projectId: storedId(projectId),
    deviceId,
    sessionId: deviceId,
    occurredAtMs: nowMs,
    receivedAtMs: nowMs,
    ...overrides,
  });
}

async function watch(lane: number, site: string): Promise<LiveNumbers> {
  return decodeLiveNumbers(
    await world.bus.ask(liveWatchSubjectOf(lane), encodeLiveWatch(storedId(site)), 10_000),
  );
}

test.each([
  { lane: 0, isAlone: true, threads: 1 },
  { lane: 1, isAlone: true, threads: 3 },
  { lane: 2, isAlone: false, threads: 3 },
])(
  'lane $lane tells the visitors of its $threads slices as they come',
  async ({ lane, isAlone, threads }) => {
    // The only lane of a service takes up the rows of other lanes, too.
    const site = `site-${lane}`;
    await world.open(lane);
    await answering(await world.start({ lane, instance: `live-${lane}`, isAlone, threads }));
    const told: LiveNumbers[] = [];
    const unlisten = world.bus.listen(liveNumbersSubjectOf(lane), (bytes) =>
      told.push(decodeLiveNumbers(bytes)),
    );
    const first = await watch(lane, site);
    expect(first).toMatchObject({ number: 0, sites: [[site, 0, []]] });
    // Six devices, two of them of one person; and one of another site.
    await publish(
      lane,
      ...['a', 'b', 'c', 'd'].map((device) => eventOf(site, device)),
      ...['e', 'f'].map((device) => eventOf(site, device, { profileId: 'ada' })),
      eventOf(`other-${lane}`, '0'),
    );
    const visitors = (numbers: LiveNumbers | undefined) =>
      numbers?.sites.map(([told, devices, profiles]) => [told, devices, profiles.length]);
    const all = isAlone ? [[site, 5, 0]] : [[site, 4, 1]];
    const isAll = (numbers: LiveNumbers) => JSON.stringify(visitors(numbers)) === JSON.stringify(all);
    await until('all visitors', async () => (told.some(isAll) ? true : undefined));
    expect(told.map(({ number }) => number)).toEqual(told.map((_, index) => index + 1));
    const others = await watch(lane, `other-${lane}`);
    expect(visitors(others)).toEqual([[`other-${lane}`, 1, 0]]);
    const before = told.length;
    await until('two more broadcasts', async () => (told.length > before + 1 ? true : undefined));
    expect(visitors(must(told.at(-1), 'it was told'))).toEqual([]);
    unlisten();
  },
);

test('an owner that starts again tells nothing until it is asked, and then all that it has restored', async () => {
  await world.open(3);
  const lane = await world.start({ lane: 3, instance: 'live-again', isAlone: true });
  await answering(lane);
  await publish(3, eventOf('again', 'a'), eventOf('again', 'b'));
  await until('two visitors', async () => ((await watch(3, 'again')).sites[0]?.[1] === 2 ? true : undefined));
  const before = await watch(3, 'again');
  await lane.stop();
  await expect(watch(3, 'again')).rejects.toThrow();
  const told: LiveNumbers[] = [];
  const unlisten = world.bus.listen(liveNumbersSubjectOf(3), (bytes) => told.push(decodeLiveNumbers(bytes)));
  await answering(await world.start({ lane: 3, instance: 'live-again', isAlone: true }));
  const after = await watch(3, 'again');
  expect(told).toEqual([]);
  expect(after).toMatchObject({ number: 0, sites: [['again', 2, []]] });
  expect(after.incarnation).not.toBe(before.incarnation);
  unlisten();
});
