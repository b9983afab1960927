import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import { storedId } from '../../infra/testing/ids.ts';
import type { LivePart } from '../hot.ts';
import {
  decodeLiveNumbers,
  encodeLiveWatch,
  LIVE_EVERY_MS,
  type LiveNumbers,
  WATCHED_FOR_MS,
  WATCHED_SITES_MAX,
} from '../live-numbers.ts';
import { createLaneGauges } from './lane-metrics.ts';
import { LiveFeed } from './live-feed.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A feed over numbers that a test changes; a site without one has too many profiles. */
function feedOf(parts: Map<string, LivePart>) {
  const told: LiveNumbers[] = [];
  const faults = { count: false, broadcast: false };
  const metrics = new Metrics();
  const feed = new LiveFeed({
    name: 3,
    bus: {
      broadcast: (subject, bytes) => {
        if (faults.broadcast) throw new Error('away');
        expect(subject).toBe('live-numbers.3');
        told.push(decodeLiveNumbers(bytes));
      },
    },
    clock: systemClock,
    random: () => 0.5,
    log: createLogger('test', 'silent'),
    lane: 3,
    gauges: createLaneGauges(metrics, 3, () => 0),
    count: async (projectIds) => {
      if (faults.count) throw new Error('the thread ended');
      return projectIds.map((projectId) => parts.get(projectId));
    },
  });
  const watch = async (projectId: string) => {
    const answer = await feed.watch(encodeLiveWatch(storedId(projectId)));
    return answer === undefined ? undefined : decodeLiveNumbers(answer);
  };
  const watched = () => Number(/watched_sites{lane="3"} (\d+)/.exec(metrics.expose())?.[1]);
  return { feed, told, faults, watch, watched };
}

const devices = (visitors: number): LivePart => ({ visitors, profiles: [] });

test('a site is told when it was asked for, and again whenever it changes', async () => {
  const parts = new Map([
    ['shop', devices(3)],
    ['blog', devices(8)],
  ]);
  const { feed, told, watch } = feedOf(parts);
  const first = await watch('shop');
  expect(first).toMatchObject({ number: 0, sites: [['shop', 3, []]], untold: [] });
  await vi.advanceTimersByTimeAsync(2 * LIVE_EVERY_MS);
  parts.set('shop', devices(4)).set('blog', devices(9));
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  parts.set('shop', { visitors: 4, profiles: [7] });
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  // The same profiles in another order are no change.
  parts.set('shop', { visitors: 4, profiles: [7, 9] });
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  parts.set('shop', { visitors: 4, profiles: [9, 7] });
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  expect(told.map(({ sites }) => sites)).toEqual([
    [],
    [],
    [['shop', 4, []]],
    [['shop', 4, [7]]],
    [['shop', 4, [7, 9]]],
    [],
  ]);
  expect(told.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(new Set(told.map(({ incarnation }) => incarnation))).toEqual(new Set([first?.incarnation]));
  await feed.stop();
});

test('an answer has the number of the broadcast before it, and a change since then is broadcast', async () => {
  const parts = new Map([['shop', devices(3)]]);
  const { feed, told, watch } = feedOf(parts);
  await watch('shop');
  await vi.advanceTimersByTimeAsync(2 * LIVE_EVERY_MS);
  parts.set('shop', devices(5));
  // A second node; the first one has yet to hear of the 5.
  expect(await watch('shop')).toMatchObject({ number: 2, sites: [['shop', 5, []]] });
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  expect(told.at(-1)).toMatchObject({ number: 3, sites: [['shop', 5, []]] });
  await feed.stop();
});

test('a site that is asked for no longer is told to be untold, and then nothing is broadcast', async () => {
  const { feed, told, watch, watched } = feedOf(
    new Map([
      ['shop', devices(3)],
      ['blog', devices(1)],
    ]),
  );
  await watch('shop');
  await vi.advanceTimersByTimeAsync(WATCHED_FOR_MS / 2);
  await watch('blog');
  expect(watched()).toBe(2);
  await vi.advanceTimersByTimeAsync(WATCHED_FOR_MS / 2 + LIVE_EVERY_MS);
  expect(told.filter(({ untold }) => untold.length > 0).map(({ untold }) => untold)).toEqual([['shop']]);
  await watch('blog');
  await vi.advanceTimersByTimeAsync(WATCHED_FOR_MS + LIVE_EVERY_MS);
  expect(told.at(-1)).toMatchObject({ untold: ['blog'] });
  const count = told.length;
  await vi.advanceTimersByTimeAsync(WATCHED_FOR_MS);
  expect(told).toHaveLength(count);
  expect(vi.getTimerCount()).toBe(0);
  expect(watched()).toBe(0);
  // It begins again with the next number.
  expect(await watch('shop')).toMatchObject({ number: count, sites: [['shop', 3, []]] });
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  expect(told.at(-1)?.number).toBe(count + 1);
  await feed.stop();
});

test('sites above the limit, and those with too many profiles, are not told of', async () => {
  const parts = new Map(
    Array.from({ length: WATCHED_SITES_MAX + 1 }, (_, index) => [`s-${index}`, devices(index)]),
  );
  const { feed, told, watch, watched } = feedOf(parts);
  expect(await watch('large')).toMatchObject({ sites: [], untold: ['large'] });
  for (let index = 0; index < WATCHED_SITES_MAX; index += 1) await watch(`s-${index}`);
  const beyond = `s-${WATCHED_SITES_MAX}`;
  expect(await watch(beyond)).toMatchObject({ sites: [], untold: [beyond] });
  // A site that is already broadcast stays so, until it has too many profiles.
  expect(await watch('s-1')).toMatchObject({ sites: [['s-1', 1, []]] });
  expect(watched()).toBe(WATCHED_SITES_MAX);
  parts.delete('s-1');
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  expect(told.at(-1)?.untold).toEqual(['s-1']);
  expect(await watch(beyond)).toMatchObject({ sites: [[beyond, WATCHED_SITES_MAX, []]] });
  await feed.stop();
});

test.each(['count', 'broadcast'] as const)('a change during a failed %s is told later', async (what) => {
  const parts = new Map([['shop', devices(3)]]);
  const { feed, told, faults, watch } = feedOf(parts);
  await watch('shop');
  faults[what] = true;
  parts.set('shop', devices(4));
  await vi.advanceTimersByTimeAsync(2 * LIVE_EVERY_MS);
  faults[what] = false;
  await vi.advanceTimersByTimeAsync(LIVE_EVERY_MS);
  expect(told).toMatchObject([{ number: 1, sites: [['shop', 4, []]] }]);
  await feed.stop();
});

test('after its stop it tells and answers nothing', async () => {
  const { feed, told, watch, watched } = feedOf(new Map([['shop', devices(3)]]));
  await watch('shop');
  await feed.stop();
  expect(await watch('shop')).toBeUndefined();
  await vi.advanceTimersByTimeAsync(10 * LIVE_EVERY_MS);
  expect(told).toEqual([]);
  expect(watched()).toBe(0);
});
