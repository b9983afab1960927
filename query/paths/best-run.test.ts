import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Run, runFinder } from './best-run.ts';

interface Case {
  readonly gaps: readonly number[];
  readonly masks: readonly number[];
  readonly steps: number;
  readonly windowMs: number;
}

function timesOf(gaps: readonly number[]): number[] {
  let atMs = 0;
  return gaps.map((gap) => {
    atMs += gap;
    return atMs;
  });
}

/** The longest of all ways through the events; among equal ones the first by positions. */
function slowest({ gaps, masks, steps, windowMs }: Case): number[] {
  const times = timesOf(gaps);
  let best: number[] = [];
  const tryFrom = (taken: readonly number[]) => {
    if (taken.length > best.length) best = [...taken];
    if (taken.length === steps) return;
    for (const [at, mask] of masks.entries()) {
      const isAfter = at > (taken.at(-1) ?? -1);
      const isInTime = (times[at] ?? 0) - (times[taken[0] ?? at] ?? 0) <= windowMs;
      if (isAfter && isInTime && Math.floor(mask / 2 ** taken.length) % 2 === 1) tryFrom([...taken, at]);
    }
  };
  tryFrom([]);
  return best;
}

const anyCase: fc.Arbitrary<Case> = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 15 })), { maxLength: 12 })
  .chain((events) =>
    fc.record({
      gaps: fc.constant(events.map(([gap]) => gap)),
      masks: fc.constant(events.map(([, mask]) => mask)),
      steps: fc.integer({ min: 2, max: 4 }),
      windowMs: fc.integer({ min: 0, max: 10 }),
    }),
  );

test('the best run is the longest of all ways through the events, and the first of the longest', () => {
  fc.assert(
    fc.property(fc.array(anyCase, { minLength: 1, maxLength: 3 }), (cases) => {
      const [{ steps, windowMs } = { steps: 2, windowMs: 1 }] = cases;
      const find = runFinder({ steps, windowMs });
      const best: Run = { reached: 0, positions: new Int32Array(steps) };
      const times = Float64Array.from(cases.flatMap(({ gaps }) => timesOf(gaps)));
      const masks = Uint32Array.from(cases.flatMap((one) => one.masks));
      let from = 0;
      // One finder for several users, whose events follow each other.
      for (const one of cases) {
        const to = from + one.masks.length;
        find({ times, masks, from, to }, best);
        const found = [...best.positions.subarray(0, best.reached)].map((position) => position - from);
        expect(found).toEqual(slowest({ ...one, steps, windowMs }));
        from = to;
      }
    }),
    { numRuns: 2_000 },
  );
});
