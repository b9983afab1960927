import { expect, test } from 'vitest';
import { ReaderPace } from './reader-pace.ts';

const LIMITS = { bytesPerSecMin: 1_000, windowMs: 10_000 };

/** Lets a reader take `bytes` every `everyMs`, after `storeMs` of the store each time. Returns when it was too slow. */
function tooSlowAt(
  pace: ReaderPace,
  { bytes, everyMs, storeMs = 0, toMs }: { bytes: number; everyMs: number; storeMs?: number; toMs: number },
  doOthersWait: (nowMs: number) => boolean = () => true,
): number | undefined {
  let nextMs = storeMs;
  let isGiven = false;
  for (let nowMs = 0; nowMs <= toMs; nowMs += 1) {
    if (nowMs === nextMs && isGiven) pace.took(bytes, nowMs);
    else if (nowMs === nextMs) pace.gave(nowMs);
    if (nowMs === nextMs) {
      isGiven = !isGiven;
      nextMs += isGiven ? everyMs : storeMs;
      // The store has more immediately.
      if (!isGiven && storeMs === 0) {
        pace.gave(nowMs);
        isGiven = true;
        nextMs += everyMs;
      }
    }
    if (nowMs % 1_000 === 0 && pace.isTooSlow(doOthersWait(nowMs), nowMs)) return nowMs;
  }
  return undefined;
}

test('a reader that takes nothing while others wait is too slow after one window', () => {
  expect(tooSlowAt(new ReaderPace(LIMITS), { bytes: 1, everyMs: 1_000_000, toMs: 60_000 })).toBe(10_000);
});

// Bytes count when they are taken: a chunk in transit at the end of a window counts in the next one.
test.each([
  ['just fast enough', 100, 100, 1_000, undefined],
  ['a little too slow', 99, 100, 1_000, 10_000],
  ['fast enough in large bites', 4_000, 4_000, 800, undefined],
])('a reader that is %s', (_name, bytes, everyMs, bytesPerSecMin, expected) => {
  const pace = new ReaderPace({ ...LIMITS, bytesPerSecMin });
  expect(tooSlowAt(pace, { bytes, everyMs, toMs: 120_000 })).toBe(expected);
});

test('time in which the store is waited for does not count', () => {
  const slowStore = { bytes: 1_000, everyMs: 500, storeMs: 20_000, toMs: 600_000 };
  expect(tooSlowAt(new ReaderPace(LIMITS), slowStore)).toBeUndefined();
  // A slow reader behind a slow store is noticed after a window of waiting for it, in its third chunk.
  const both = { bytes: 1_000, everyMs: 4_000, storeMs: 20_000, toMs: 600_000 };
  expect(tooSlowAt(new ReaderPace(LIMITS), both)).toBe(70_000);
});

test('without others that wait a reader may be as slow as it likes, and nothing of that time counts later', () => {
  const asleep = { bytes: 1, everyMs: 1_000_000, toMs: 400_000 };
  expect(tooSlowAt(new ReaderPace(LIMITS), asleep, () => false)).toBeUndefined();
  const since = (sinceMs: number) => (nowMs: number) => nowMs >= sinceMs;
  expect(tooSlowAt(new ReaderPace(LIMITS), asleep, since(300_000))).toBe(309_000);
  // Others that wait now and then for less than a window end nothing.
  expect(tooSlowAt(new ReaderPace(LIMITS), asleep, (nowMs) => nowMs % 10_000 !== 0)).toBeUndefined();
});
