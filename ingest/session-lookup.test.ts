import fc from 'fast-check';
import { expect, test } from 'vitest';
import { latestOf, type SessionSpan } from './session-lookup.ts';

const PAID_MS = 1_000;

function from(firstMs: number): SessionSpan {
  return { sessionId: `from ${firstMs}`, firstMs, lastMs: firstMs + 10 };
}

test('a payment goes to the session that began last before it', () => {
  expect(latestOf(from(100), from(900), PAID_MS)).toEqual(from(900));
  expect(latestOf(from(PAID_MS), from(900), PAID_MS)).toEqual(from(PAID_MS));
  expect(latestOf(from(100), from(PAID_MS + 1), PAID_MS)).toEqual(from(100));
});

test('a payment that comes before every session goes to the last one', () => {
  expect(latestOf(from(2_000), from(5_000), PAID_MS)).toEqual(from(5_000));
});

test('the only session is the latest, and of none there is none', () => {
  expect(latestOf(undefined, from(100), PAID_MS)).toEqual(from(100));
  expect(latestOf(from(100), undefined, PAID_MS)).toEqual(from(100));
  expect(latestOf(undefined, undefined, PAID_MS)).toBeUndefined();
});

test('which of many is the latest does not depend on their order', () => {
  const spans = fc.uniqueArray(fc.integer({ min: 0, max: 2 * PAID_MS }), { minLength: 1 });
  fc.assert(
    fc.property(spans, (starts) => {
      const latest = (list: readonly number[]) =>
        list
          .map(from)
          .reduce<SessionSpan | undefined>((one, other) => latestOf(one, other, PAID_MS), undefined);
      const begun = starts.filter((ms) => ms <= PAID_MS);
      const wanted = from(Math.max(...(begun.length > 0 ? begun : starts)));
      expect([latest(starts), latest(starts.toReversed())]).toEqual([wanted, wanted]);
    }),
  );
});
