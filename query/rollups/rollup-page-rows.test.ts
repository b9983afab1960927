import { expect, test } from 'vitest';
import { ROW_HASHES_MAX } from '../sql/rollup-texts.ts';
import { KNOWN_MAX, KnownMembers } from './known-members.ts';
import { areFew, pageSets } from './rollup-page-rows.ts';

function setsOf(...counts: readonly (readonly [sessions: number, visitors: number])[]) {
  const hashes = (count: number) => Array.from({ length: count }, (_, hash) => hash);
  return pageSets(
    counts.map(([sessions, visitors], page) => ({
      origin: 'https://example.com',
      path: `/${page}`,
      sessionHashes: hashes(sessions),
      visitorHashes: hashes(visitors),
    })),
  );
}

test('the sets of a page that the store may have cut are too many, however few there are of others', () => {
  const max = ROW_HASHES_MAX;
  for (const [sessions, visitors] of [
    [max + 1, 1],
    [1, max + 1],
  ] as const)
    expect(areFew(setsOf([1, 1], [sessions, visitors]), undefined, KNOWN_MAX)).toBe(false);
  expect(areFew(setsOf([1, 1], [max, max]), undefined, KNOWN_MAX)).toBe(true);
});

test('all sets together are too many with those that are known', () => {
  const sets = setsOf([3, 2], [2, 1]);
  expect([7, 8].map((most) => areFew(sets, undefined, most))).toEqual([false, true]);
  const known = new KnownMembers();
  known.learn(new Map([['a', [1, 2]]]), new Map([['a', [2]]]));
  expect([9, 10].map((most) => areFew(sets, known, most))).toEqual([false, true]);
});
