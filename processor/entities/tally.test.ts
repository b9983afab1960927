import { expect, test } from 'vitest';
import { FIRST_MS, tally } from '../entities/testing/updates.ts';
import { applyTally, type TallyDocument } from './tally.ts';

test('the first update makes the tally, and counts add up', () => {
  const first = applyTally(undefined, tally({ count: 3, updateId: 'u1' }), 1n).document;
  const result = applyTally(first, tally({ count: 4, updateId: 'u2', atMs: FIRST_MS + 1 }), 2n);
  expect(result).toEqual({
    changed: true,
    outcome: 'applied',
    document: {
      kind: 'tally',
      projectId: 'demo',
      id: 'one',
      version: 2n,
      updateIds: ['u1', 'u2'],
      createdAtMs: FIRST_MS,
      updatedAtMs: FIRST_MS + 1,
      hourMs: Date.UTC(2024, 1, 28, 23),
      reason: 'bot',
      name: 'Googlebot',
      count: 7,
    },
  });
});

test('a repeat adds nothing, and updates without an id are never repeats', () => {
  let document: TallyDocument | undefined;
  for (const updateId of ['u', 'u', '', ''])
    document = applyTally(document, tally({ updateId }), 1n).document;
  expect(document?.count).toBe(3);
});

test('a tally keeps its first hour, reason and name', () => {
  const first = applyTally(undefined, tally(), 1n).document;
  const other = tally({ hourMs: 0, reason: 'filter', name: 'other' });
  expect(applyTally(first, other, 2n).document).toMatchObject({
    hourMs: Date.UTC(2024, 1, 28, 23),
    reason: 'bot',
    name: 'Googlebot',
    count: 2,
  });
});

test('counts stay at the largest number that is exact', () => {
  const first = applyTally(undefined, tally({ count: Number.MAX_SAFE_INTEGER, updateId: 'u1' }), 1n).document;
  const second = applyTally(first, tally({ count: 5, updateId: 'u2' }), 2n).document;
  expect(second?.count).toBe(Number.MAX_SAFE_INTEGER);
});
