import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HashTable } from './hash-table.ts';
import { KnownMembers } from './known-members.ts';

/** Few values, many with the same lower bits, and some as large as hashes are. */
const hash = fc.oneof(
  fc.integer({ min: 0, max: 300 }),
  fc.integer({ min: 0, max: 300 }).map((number) => number * 2 ** 32),
  fc.integer({ min: 2 ** 31 - 2, max: 2 ** 31 + 2 }),
  fc.integer({ min: 2 ** 48 - 300, max: 2 ** 48 - 1 }),
);
const hashes = fc.uniqueArray(hash, { maxLength: 400 });

test('a table has the hashes that were given a mark, with the last one', () => {
  fc.assert(
    fc.property(hashes, fc.array(fc.tuple(hash, fc.integer({ min: 0, max: 255 }))), (first, marked) => {
      const table = new HashTable(first);
      const expected = new Map(first.map((each) => [each, 1]));
      for (const [each, mark] of marked) {
        table.set(each, mark);
        expected.set(each, mark);
      }
      expect(table.size).toBe(expected.size);
      for (const each of [...first, ...marked.map(([one]) => one), 7, 2 ** 47])
        expect(table.markOf(each)).toBe(expected.get(each));
      const more = Math.max(...expected.keys(), 0) + 1;
      expect([table.add(more), table.add(more)]).toEqual([true, false]);
    }),
  );
});

test('hashes outside of their sets are counted, and each is asked about once', async () => {
  await fc.assert(
    fc.asyncProperty(hashes, fc.array(hashes, { minLength: 1, maxLength: 5 }), async (inside, questions) => {
      const members = new KnownMembers();
      const set = new Set(inside);
      const asked: number[] = [];
      for (const wanted of questions) {
        const counts = await members.countOutside(new Map([['one', wanted]]), async (unknown) => {
          asked.push(...unknown);
          return new Map([['one', unknown.filter((each) => set.has(each))]]);
        });
        expect(counts.get('one')).toBe(wanted.filter((each) => !set.has(each)).length);
      }
      expect(asked).toHaveLength(new Set(questions.flat()).size);
      expect(members.size).toBe(asked.length);
    }),
  );
});
