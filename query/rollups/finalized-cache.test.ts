import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { Otherwise } from '../ways.ts';
import { CacheSpace, FinalizedCache } from './finalized-cache.ts';

const FEW = new Otherwise('few-finalized');

interface Sized {
  bytes: number;
}

/** An entry may have 2,000 bytes. */
function cacheOf(isEager = false, space = new CacheSpace(16_000), kind = 'sized') {
  return new FinalizedCache<Sized>({ space, kind, bytesOf: ({ bytes }) => bytes, isEager });
}

test('the second question under a key is answered from the cache, or the first', () => {
  const cache = cacheOf();
  const first = new Otherwise('first-question');
  expect(['shop 1', 'shop 1', 'shop 2', 'shop 1'].map((key) => cache.declines(key))).toEqual([
    first,
    undefined,
    first,
    undefined,
  ]);
  expect(cacheOf(true).declines('shop 1')).toBeUndefined();
});

test('a key under which nothing is to be cached is not loaded again, until its site is evicted', async () => {
  const space = new CacheSpace(16_000);
  const cache = cacheOf(true, space);
  let loads = 0;
  const get = (key: string) =>
    cache.get(key, async () => {
      loads += 1;
      return FEW;
    });
  expect([await get('shop 1'), await get('shop 1'), loads]).toEqual([FEW, FEW, 1]);
  expect(cache.declines('shop 1')).toEqual(FEW);
  space.evict(storedId('shop'));
  expect(cache.declines('shop 1')).toBeUndefined();
  await get('shop 1');
  expect(loads).toBe(2);
});

test('an entry that has too little room is rejected, at once or when it has grown', async () => {
  const cache = cacheOf(true);
  expect(await cache.get('shop 1', async () => ({ bytes: 2_000 }))).toEqual({ bytes: 2_000 });
  const growing = { bytes: 100 };
  await cache.get('shop 2', async () => growing);
  expect(['shop 1', 'shop 2'].map((key) => cache.declines(key)?.why)).toEqual(['too-many', undefined]);
  growing.bytes = 2_000;
  cache.recount('shop 2', growing);
  expect(cache.declines('shop 2')).toEqual(new Otherwise('too-many'));
  expect(cache.peek('shop 2')).toBeUndefined();
});

test('a load that is not over when its site is evicted is not cached', async () => {
  const space = new CacheSpace(16_000);
  const cache = cacheOf(true, space);
  let finish: (value: Sized) => void = () => undefined;
  const first = cache.get('shop 1', () => new Promise((resolve) => (finish = resolve)));
  space.evict(storedId('shop'));
  finish({ bytes: 1 });
  expect(await first).toEqual({ bytes: 1 });
  expect(cache.peek('shop 1')).toBeUndefined();
});

test('caches of one space keep their entries apart, and give way to each other', async () => {
  const space = new CacheSpace(16_000);
  const [one, other] = [cacheOf(true, space, 'one'), cacheOf(true, space, 'other')];
  await one.get('shop 1', async () => ({ bytes: 1 }));
  expect(other.peek('shop 1')).toBeUndefined();
  for (let count = 0; count < 10; count += 1)
    await other.get(`shop ${count}`, async () => ({ bytes: 1_500 }));
  expect(one.peek('shop 1')).toBeUndefined();
  expect(other.peek('shop 9')).toEqual({ bytes: 1_500 });
});

test('a question is answered from its cached part and the rest, which is asked every time', async () => {
  const cache = cacheOf();
  const asked: string[] = [];
  const ask = (key: string, rest: number, loaded: Sized | Otherwise = { bytes: 1 }) =>
    cache.ask(key, {
      load: async (more) => {
        asked.push(`part beside ${await more}`);
        return loaded;
      },
      askRest: async () => rest,
      merge: (part, more) => (more > 9 ? new Otherwise('too-many') : part.bytes + more),
    });
  expect([await ask('shop 1', 2), await ask('shop 1', 3), await ask('shop 1', 4)]).toEqual([
    new Otherwise('first-question'),
    4,
    5,
  ]);
  expect(asked.splice(0)).toEqual(['part beside 3']);
  // Too much in the rest, and nothing to cache: both are remembered.
  const tooMany = new Otherwise('too-many');
  expect([await ask('shop 1', 10), await ask('shop 1', 1)]).toEqual([tooMany, tooMany]);
  cache.declines('shop 2');
  expect(await cache.get('shop 2', async () => FEW)).toEqual(FEW);
  expect(await ask('shop 2', 1)).toEqual(FEW);
  expect(asked).toEqual([]);
});
