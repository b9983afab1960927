import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairCache } from './fair-cache.ts';

/** The law of the cache as plainly as possible: for each owner its entries, the oldest first. */
class Model {
  readonly lists = new Map<string, [key: string, value: number][]>();

  take(owner: string, key: string): [string, number] | undefined {
    const list = this.lists.get(owner) ?? [];
    const index = list.findIndex(([known]) => known === key);
    return index < 0 ? undefined : list.splice(index, 1)[0];
  }

  push(owner: string, entry: [string, number]): void {
    this.lists.set(owner, [...(this.lists.get(owner) ?? []), entry]);
  }

  get size(): number {
    return [...this.lists.values()].reduce((sum, list) => sum + list.length, 0);
  }
}

type Step =
  | { readonly kind: 'set' | 'get' | 'delete'; readonly owner: string; readonly key: string }
  | { readonly kind: 'delete-owner' | 'evict-oldest'; readonly owner: string };

const owner = fc.constantFrom('a', 'b', 'c', 'd');
const key = fc.integer({ min: 0, max: 30 }).map(String);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('set' as const), owner, key }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('get' as const, 'delete' as const), owner, key }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('delete-owner' as const, 'evict-oldest' as const), owner }),
  },
);

test('it does what the plain model does, and takes from an owner with the most entries only', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 300 }), (max, steps) => {
      const cache = new FairCache<number>(max);
      const model = new Model();
      steps.forEach((one, value) => {
        if (one.kind === 'set') {
          const known = model.take(one.owner, one.key);
          model.push(one.owner, [one.key, value]);
          cache.set(one.owner, one.key, value);
          if (known === undefined && model.size > max) loseOne(cache, model);
        } else if (one.kind === 'get') {
          const known = model.take(one.owner, one.key);
          if (known !== undefined) model.push(one.owner, known);
          expect(cache.peek(one.owner, one.key)).toBe(known?.[1]);
          expect(cache.get(one.owner, one.key)).toBe(known?.[1]);
        } else if (one.kind === 'delete') {
          model.take(one.owner, one.key);
          cache.delete(one.owner, one.key);
        } else if (one.kind === 'delete-owner') {
          model.lists.delete(one.owner);
          cache.deleteOwner(one.owner);
        } else {
          model.lists.get(one.owner)?.shift();
          cache.evictOldest(one.owner);
        }
        expect(cache.size).toBe(model.size);
        for (const name of ['a', 'b', 'c', 'd']) {
          const list = model.lists.get(name) ?? [];
          expect(cache.oldest(name)).toBe(list[0]?.[1]);
          for (const [known, stored] of list) expect(cache.peek(name, known)).toBe(stored);
        }
        expect(new Set(cache.owners())).toEqual(
          new Set([...model.lists].filter(([, list]) => list.length > 0).map(([name]) => name)),
        );
      });
    }),
  );
});

/** Removes the cache's eviction from the model: the oldest entry of one of the largest owners. */
function loseOne(cache: FairCache<number>, model: Model): void {
  const most = Math.max(...[...model.lists.values()].map(({ length }) => length));
  const losers = [...model.lists].filter(([name, list]) => {
    const [first] = list;
    return first !== undefined && cache.peek(name, first[0]) === undefined;
  });
  expect(losers.map(([, list]) => list.length)).toEqual([most]);
  losers[0]?.[1].shift();
}

test('each of n owners retains its share, whatever the others do', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 4, max: 40 }),
      fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 100 })), {
        maxLength: 400,
      }),
      (max, writes) => {
        const cache = new FairCache<number>(max);
        const written = new Map<number, number[]>();
        for (const [site, id] of writes) {
          cache.set(`site ${site}`, String(id), id);
          const ids = (written.get(site) ?? []).filter((known) => known !== id);
          written.set(site, [...ids, id]);
        }
        for (const [site, ids] of written)
          for (const id of ids.slice(-Math.floor(max / written.size)))
            expect(cache.peek(`site ${site}`, String(id))).toBe(id);
      },
    ),
  );
});
