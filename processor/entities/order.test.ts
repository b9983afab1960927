import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import type { OrderUpdate } from '../../ingest/entity-update.ts';
import { referenceOrder } from '../entities/testing/order-reference.ts';
import { FIRST_MS, order, orderUpdates, refund } from '../entities/testing/updates.ts';
import {
  applyOrder,
  ORDER_UPDATE_IDS_MAX,
  type OrderDocument,
  WAITING_MAX,
  WAITING_MAX_BYTES,
} from './order.ts';

/** Applies updates of one order, each as a message of its own. */
function run(updates: readonly OrderUpdate[]) {
  let document: OrderDocument | undefined;
  const results = updates.map((update, index) => {
    const before = document;
    const result = applyOrder(before, update, BigInt(index + 1));
    if (!result.changed) expect(result.document).toBe(before);
    document = result.document;
    return result;
  });
  const recorded = results.map((result) => result.recorded);
  return {
    document,
    results,
    outcomes: results.map(({ outcome }) => outcome),
    recorded,
    amounts: recorded.map((list) => list.map(({ minorUnits }) => Number(minorUnits))),
  };
}

test('an order is recorded with its amount, as it came', () => {
  const update = order({ minorUnits: '1999', partition: 5, updateId: 'u' });
  expect(applyOrder(undefined, update, 3n)).toEqual({
    changed: true,
    outcome: 'applied',
    waitedOutcomes: [],
    recorded: [{ event: update.event, lane: 5, minorUnits: 1999n, currency: 'EUR' }],
    document: {
      kind: 'order',
      projectId: storedId('demo'),
      id: 'one',
      version: 3n,
      updateIds: ['u'],
      createdAtMs: FIRST_MS,
      updatedAtMs: FIRST_MS,
      currency: 'EUR',
      amount: 1999n,
      refunded: 0n,
      hasOrder: true,
      waiting: [],
    },
  });
});

test('a refund is recorded with its own event, lane and sign, in the currency of its order', () => {
  const given = refund({ amount: '5', partition: 6, event: Uint8Array.of(9), atMs: FIRST_MS + 1 });
  const { recorded, document } = run([order({ currency: 'BHD', minorUnits: '20000' }), given]);
  expect(recorded[1]).toEqual([{ event: given.event, lane: 6, minorUnits: -5000n, currency: 'BHD' }]);
  expect(document).toMatchObject({
    amount: 20_000n,
    refunded: 5000n,
    updatedAtMs: FIRST_MS + 1,
    version: 2n,
  });
});

describe('an order of 20 EUR', () => {
  const placed = order();
  const part = (amount: string, given: Partial<OrderUpdate> = {}) => refund({ amount, ...given });
  const cents = (minorUnits: string) => refund({ minorUnits });
  const cases: [name: string, updates: OrderUpdate[], amounts: number[][], outcomes: string[]][] = [
    ['counts once', [placed, order()], [[2000], []], ['applied', 'repeat']],
    [
      'counts once, also with another amount and currency',
      [placed, order({ minorUnits: '1', currency: 'JPY' })],
      [[2000], []],
      ['applied', 'repeat'],
    ],
    ['is refunded whole', [placed, refund()], [[2000], [-2000]], ['applied', 'applied']],
    [
      'is refunded whole once',
      [placed, refund(), refund()],
      [[2000], [-2000], []],
      ['applied', 'applied', 'repeat'],
    ],
    [
      'is refunded in parts',
      [placed, part('5'), cents('1'), part('0.5')],
      [[2000], [-500], [-1], [-50]],
      ['applied', 'applied', 'applied', 'applied'],
    ],
    [
      'is refunded by what is left when no amount is named',
      [placed, part('5'), refund()],
      [[2000], [-500], [-1500]],
      ['applied', 'applied', 'applied'],
    ],
    [
      'is never refunded by more than it was',
      [placed, part('15'), part('15'), part('15')],
      [[2000], [-1500], [-500], []],
      ['applied', 'applied', 'applied', 'exceeded'],
    ],
    [
      'does not count again after its refund',
      [placed, refund(), order()],
      [[2000], [-2000], []],
      ['applied', 'applied', 'repeat'],
    ],
    [
      'is refunded by amounts to the nearest cent',
      [placed, part('10.005')],
      [[2000], [-1001]],
      ['applied', 'applied'],
    ],
    [
      'is refunded in its own currency',
      [placed, part('5', { currency: 'EUR' })],
      [[2000], [-500]],
      ['applied', 'applied'],
    ],
    [
      'is not refunded in another currency',
      [placed, part('5', { currency: 'JPY' }), refund({ currency: 'USD' })],
      [[2000], [], []],
      ['applied', 'foreign-currency', 'foreign-currency'],
    ],
    ['is not changed by a refund of nothing', [placed, part('0')], [[2000], []], ['applied', 'applied']],
    ['comes after its refund', [part('5'), placed], [[], [2000, -500]], ['waiting', 'applied']],
    [
      'comes after several refunds, which apply as they came',
      [part('15'), refund(), part('1'), placed, refund()],
      [[], [], [], [2000, -1500, -500], []],
      ['waiting', 'waiting', 'waiting', 'applied', 'repeat'],
    ],
    [
      'comes after refunds of which one is in another currency',
      [part('1', { currency: 'USD' }), part('2', { currency: 'EUR' }), placed],
      [[], [], [2000, -200]],
      ['waiting', 'waiting', 'applied'],
    ],
    [
      'is not refunded twice by one id',
      [placed, part('5', { updateId: 'u' }), part('5', { updateId: 'u' }), part('5')],
      [[2000], [-500], [], [-500]],
      ['applied', 'applied', 'repeat', 'applied'],
    ],
    [
      'is not refunded twice by one id before it comes',
      [part('5', { updateId: 'u' }), part('5', { updateId: 'u' }), placed, part('5', { updateId: 'u' })],
      [[], [], [2000, -500], []],
      ['waiting', 'repeat', 'applied', 'repeat'],
    ],
  ];
  test.each(cases)('%s', (_name, updates, amounts, outcomes) => {
    const result = run(updates);
    expect(result.amounts).toEqual(amounts);
    expect(result.outcomes).toEqual(outcomes);
  });
});

test.each([
  ['EUR', '3.333', -333],
  ['JPY', '3.5', -4],
  ['BHD', '3.333', -3333],
])('a refund that names no currency is one in %s when its order is', (currency, amount, minorUnits) => {
  for (const updates of [
    [order({ currency, minorUnits: '100000' }), refund({ amount })],
    [refund({ amount }), order({ currency, minorUnits: '100000' })],
  ])
    expect(run(updates).amounts.flat()).toEqual([100_000, minorUnits]);
});

test('an order of 0 is recorded, and there is nothing to refund', () => {
  const { amounts, outcomes } = run([order({ minorUnits: '0' }), refund(), refund({ amount: '1' }), order()]);
  expect(amounts).toEqual([[0], [], [], []]);
  expect(outcomes).toEqual(['applied', 'repeat', 'exceeded', 'repeat']);
});

test('the largest amount is exact to the unit', () => {
  const { document, amounts } = run([
    order({ minorUnits: '9007199254740991' }),
    refund({ amount: '90071992547409.9' }),
  ]);
  expect(amounts).toEqual([[Number.MAX_SAFE_INTEGER], [-9007199254740990]]);
  expect(document).toMatchObject({ amount: 9007199254740991n, refunded: 9007199254740990n });
});

test('an order reports the outcome of the refunds that waited for it', () => {
  const { results } = run([
    refund({ amount: '1', currency: 'USD' }),
    refund({ minorUnits: '1500' }),
    refund({ minorUnits: '1500' }),
    refund({ minorUnits: '1500' }),
    refund(),
    order(),
  ]);
  expect(results.at(-1)).toMatchObject({
    outcome: 'applied',
    waitedOutcomes: ['foreign-currency', 'applied', 'applied', 'exceeded', 'repeat'],
    document: { refunded: 2000n, waiting: [] },
  });
});

test('a waiting refund does not change with the bytes of its message', () => {
  const message = Buffer.from([7, 8, 9, 7]);
  const { document } = run([refund({ event: message.subarray(1, 3), amount: '5', partition: 3 })]);
  message.fill(0);
  expect(document).toMatchObject({ hasOrder: false, currency: '', amount: 0n, refunded: 0n });
  expect(document?.waiting).toEqual([
    { amount: '5', minorUnits: '', currency: '', partition: 3, event: Uint8Array.of(8, 9) },
  ]);
});

test('a hundred refunds wait for their order, and further ones are rejected', () => {
  const many = Array.from({ length: WAITING_MAX + 1 }, (_, index) =>
    refund({ minorUnits: '1', updateId: `u${index}` }),
  );
  const { outcomes, amounts, document } = run([
    ...many,
    order(),
    refund({ minorUnits: '1', updateId: 'u100' }),
  ]);
  expect(outcomes.slice(99, 101)).toEqual(['waiting', 'too-many-waiting']);
  expect(amounts.at(-2)).toHaveLength(1 + WAITING_MAX);
  // It was not applied, so its repeat is no repeat.
  expect(amounts.at(-1)).toEqual([-1]);
  expect(document?.refunded).toBe(101n);
});

test('waiting events are capped in bytes, and one always has room', () => {
  const event = new Uint8Array(WAITING_MAX_BYTES / 4);
  const { outcomes } = run([...Array.from({ length: 5 }, () => refund({ event }))]);
  expect(outcomes).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'too-many-waiting']);
  expect(run([refund({ event: new Uint8Array(WAITING_MAX_BYTES + 1) })]).outcomes).toEqual(['waiting']);
});

test('an order remembers the ids of its last thousand updates', () => {
  const many = Array.from({ length: ORDER_UPDATE_IDS_MAX }, (_, index) =>
    refund({ minorUnits: '1', updateId: `u${index}` }),
  );
  const repeats = ['u0', 'u999', 'order'].map((updateId) => refund({ minorUnits: '1', updateId }));
  const { document, outcomes } = run([order({ updateId: 'order', minorUnits: '5000' }), ...many, ...repeats]);
  expect(outcomes.slice(-3)).toEqual(['repeat', 'repeat', 'applied']);
  expect(document?.updateIds).toHaveLength(ORDER_UPDATE_IDS_MAX);
  expect(document?.refunded).toBe(1001n);
});

test('orders are what the reference says, however they are interleaved', () => {
  fc.assert(
    fc.property(fc.array(orderUpdates, { maxLength: 60 }), (updates) => {
      const documents = new Map<string, OrderDocument | undefined>();
      const seen = new Map<string, { update: OrderUpdate; outcome: string; recorded: unknown }[]>();
      for (const [index, update] of updates.entries()) {
        const key = `${update.projectId} ${update.id}`;
        const { document, outcome, recorded } = applyOrder(documents.get(key), update, BigInt(index));
        documents.set(key, document);
        seen.set(key, [...(seen.get(key) ?? []), { update, outcome, recorded }]);
      }
      for (const [key, list] of seen) {
        const expected = referenceOrder(list.map(({ update }) => update));
        expect(list.map(({ outcome }) => outcome)).toEqual(expected.outcomes);
        expect(list.map(({ recorded }) => recorded)).toEqual(
          expected.recorded.map((entries) =>
            entries.map(({ update: { event, partition }, minorUnits, currency }) => ({
              event,
              lane: partition,
              minorUnits,
              currency,
            })),
          ),
        );
        const { currency, amount, refunded, hasOrder, waiting } = expected;
        expect(documents.get(key)).toMatchObject({ currency, amount, refunded, hasOrder });
        expect(documents.get(key)?.waiting.map(({ event }) => event)).toEqual(
          waiting.map(({ event }) => event),
        );
      }
    }),
    { numRuns: 500 },
  );
});

test('recorded revenue adds up to what is left of the order, and no refund exceeds it', () => {
  fc.assert(
    fc.property(fc.array(orderUpdates, { maxLength: 40 }), (all) => {
      let document: OrderDocument | undefined;
      let sum = 0n;
      for (const [index, given] of all.entries()) {
        const update = { ...given, projectId: storedId('demo'), id: 'one' };
        const result = applyOrder(document, update, BigInt(index));
        document = result.document;
        for (const { minorUnits, currency } of result.recorded) {
          sum += minorUnits;
          expect(currency).toBe(document?.currency);
        }
        expect(sum).toBe((document?.amount ?? 0n) - (document?.refunded ?? 0n));
        expect(sum).toBeGreaterThanOrEqual(0n);
        expect(document?.refunded).toBeGreaterThanOrEqual(0n);
      }
    }),
    { numRuns: 300 },
  );
});
