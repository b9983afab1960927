import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LaneShare, receiverOf, shareOf, successorsOf } from './fair-share.ts';

const counts = fc.array(fc.nat(16), { minLength: 1, maxLength: 6 });

function sharesOf(owned: readonly number[]): LaneShare[] {
  return owned.map((count, index) => ({ instance: `p${index}`, owned: count }));
}

/** All processors decide on the same shares, and one lane moves, until none is handed over any more. */
function settled(owned: readonly number[]): {
  readonly shares: readonly LaneShare[];
  readonly moves: number;
} {
  let shares = sharesOf(owned);
  for (let moves = 0; ; moves += 1) {
    const given = shares.flatMap((own) => {
      const to = receiverOf(
        own,
        shares.filter((share) => share !== own),
      );
      return to === undefined ? [] : [{ from: own.instance, to }];
    });
    expect(given.length).toBeLessThanOrEqual(1);
    const [move] = given;
    if (move === undefined) return { shares, moves };
    const change = (instance: string) => (instance === move.from ? -1 : instance === move.to ? 1 : 0);
    shares = shares.map((share) => ({ ...share, owned: share.owned + change(share.instance) }));
  }
}

test('lanes move one at a time until shares are even, and no more of them than have to', () => {
  fc.assert(
    fc.property(counts, (owned) => {
      const { shares, moves } = settled(owned);
      const after = shares.map((share) => share.owned);
      expect(Math.max(...after) - Math.min(...after)).toBeLessThanOrEqual(1);
      const total = owned.reduce((sum, count) => sum + count, 0);
      expect(after.reduce((sum, count) => sum + count, 0)).toBe(total);
      const fewest = Math.floor(total / owned.length);
      const above = owned.reduce((sum, count) => sum + Math.max(0, count - fewest - 1), 0);
      const below = owned.reduce((sum, count) => sum + Math.max(0, fewest - count), 0);
      expect(moves).toBe(Math.max(above, below));
    }),
  );
});

test('the shares that processors take by themselves cover all lanes, and none takes more than it may keep', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 32 }), fc.integer({ min: 1, max: 12 }), (lanes, processors) => {
      const share = shareOf(lanes, processors);
      expect(share * processors).toBeGreaterThanOrEqual(lanes);
      expect((share - 1) * processors).toBeLessThan(lanes);
    }),
  );
});

test('the lanes of a processor that stops are shared out among the others', () => {
  fc.assert(
    fc.property(counts, fc.nat(16), (owned, stopping) => {
      const lanes = Array.from({ length: stopping }, (_, lane) => lane);
      const successors = successorsOf(lanes, sharesOf(owned));
      expect([...successors.keys()]).toEqual(lanes);
      const after = owned.map(
        (count, index) => count + [...successors.values()].filter((to) => to === `p${index}`).length,
      );
      const gained = after.filter((count, index) => count > (owned[index] ?? 0));
      // A processor that got a lane has at most one more than the least.
      for (const count of gained) expect(count).toBeLessThanOrEqual(Math.min(...after) + 1);
    }),
  );
  expect(successorsOf([0, 1], []).size).toBe(0);
});
