import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeLog, encodeLog, joinLogs } from './shared-limit-log.ts';

// Few different times, so that many are equal.
const logs = fc
  .array(fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_020 }), { maxLength: 30 })
  .map((times) => times.sort((a, b) => a - b));

function countsOf(log: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const atMs of log) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
  return counts;
}

test('a log is read as it was written', () => {
  fc.assert(
    fc.property(logs, (log) => {
      expect(decodeLog(encodeLog(log))).toEqual(log);
    }),
  );
  expect(decodeLog(undefined)).toEqual([]);
});

test('joined, each time is there as often as in the log that has it more often; the newest are kept', () => {
  fc.assert(
    fc.property(logs, logs, fc.integer({ min: 1, max: 60 }), (left, right, requestsMax) => {
      const [inLeft, inRight] = [countsOf(left), countsOf(right)];
      const expected = [...new Set([...left, ...right])]
        .sort((a, b) => a - b)
        .flatMap((atMs) => {
          const length = Math.max(inLeft.get(atMs) ?? 0, inRight.get(atMs) ?? 0);
          return Array.from({ length }, () => atMs);
        });
      expect(joinLogs(left, right, requestsMax)).toEqual(expected.slice(-requestsMax));
    }),
  );
});
