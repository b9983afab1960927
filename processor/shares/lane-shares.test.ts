import { expect, test } from 'vitest';
import { ManualClock } from '../../infra/clock.ts';
import { createLogger } from '../../infra/log.ts';
import { Metrics } from '../../infra/metrics.ts';
import type { LaneShare } from './fair-share.ts';
import { LaneShares } from './lane-shares.ts';

const LANES = 4;

/** The shares of one processor among others that the test names, with lanes that note where they are sent. */
function startShares(instance: string, others: LaneShare[]) {
  const elapsed = new ManualClock(0);
  const offers: [lane: number, to: string][] = [];
  const sent: [lane: number, to: string][] = [];
  const metrics = new Metrics();
  const shares = new LaneShares({
    ...{ lanes: LANES, instance, log: createLogger('test', 'silent') },
    handOvers: metrics.counter('hand_overs_total', 'Lanes that were handed over.'),
    others: () => others,
    onChange: () => {},
    onOffer: (lane, to) => offers.push([lane, to]),
    elapsedMs: () => elapsed.nowMs(),
  });
  const states = Array.from({ length: LANES }, (_, lane) => ({
    isAnswering: true,
    handOver: (to: string) => {
      sent.push([lane, to]);
    },
  }));
  const take = (lane: number, refusedBy?: string) => {
    shares.reserve(lane);
    shares.took(lane, refusedBy);
  };
  return { shares, elapsed, offers, sent, states, take };
}

test('a processor reserves no more than its share, and gets room back for a lane that it missed', () => {
  const others: LaneShare[] = [];
  const { shares } = startShares('a', others);
  expect([0, 1, 2, 3].map((lane) => shares.reserve(lane))).toEqual([true, true, true, true]);
  others.push({ instance: 'b', owned: 0 });
  for (const lane of [2, 3]) shares.missed(lane);
  expect(shares.reserve(2)).toBe(false);
  shares.missed(1);
  expect(shares.reserve(2)).toBe(true);
  expect(shares.owned).toBe(0);
});

test('one lane moves at a time, never while a lane has no owner or does not answer', () => {
  const others: LaneShare[] = [{ instance: 'b', owned: 0 }];
  const { shares, elapsed, sent, states, offers, take } = startShares('a', others);
  for (const lane of [0, 1, 2]) take(lane);
  shares.balanceOnce(states);
  expect(sent).toEqual([]);
  take(3);
  states[1] = { isAnswering: false, handOver: () => {} };
  shares.balanceOnce(states);
  expect(sent).toEqual([]);
  states[1] = { isAnswering: true, handOver: () => {} };
  shares.balanceOnce(states);
  expect(sent).toEqual([[3, 'b']]);
  shares.balanceOnce(states);
  expect(sent).toEqual([[3, 'b']]);
  shares.gaveUp(3, 'b');
  expect(offers).toEqual([[3, 'b']]);
  others[0] = { instance: 'b', owned: 1 };
  elapsed.advance(1_500);
  shares.balanceOnce(states);
  expect(sent).toEqual([
    [3, 'b'],
    [2, 'b'],
  ]);
});

test('a lane that was refused rests for a minute; one that came back because its new owner left does not', () => {
  const { shares, elapsed, sent, states, take } = startShares('a', [{ instance: 'b', owned: 0 }]);
  for (const lane of [0, 1, 2, 3]) take(lane);
  shares.balanceOnce(states);
  shares.gaveUp(3, 'b');
  take(3);
  elapsed.advance(1_500);
  shares.balanceOnce(states);
  expect(sent).toHaveLength(2);
  shares.gaveUp(3, 'b');
  take(3, 'b');
  elapsed.advance(59_999);
  shares.balanceOnce(states);
  expect(sent).toHaveLength(2);
  elapsed.advance(1);
  shares.balanceOnce(states);
  expect(sent).toHaveLength(3);
});

test('a processor that stops names a successor for each lane, in turn', () => {
  const { shares, take } = startShares('a', [
    { instance: 'b', owned: 1 },
    { instance: 'c', owned: 0 },
  ]);
  for (const lane of [0, 1, 2]) take(lane);
  expect([0, 1, 2].map((lane) => shares.successorOf(lane))).toEqual(['c', 'b', 'c']);
});
