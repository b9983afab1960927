import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { SharedCache } from './shared-cache.ts';

interface Sized {
  bytes: number;
}

function cacheOf(isEager = false) {
  return new SharedCache<Sized>({ bytesMax: 2_000, bytesOf: ({ bytes }) => bytes, isEager });
}

test('the second question under a key is answered from the cache, or the first', () => {
  const cache = cacheOf();
  expect(['shop 1', 'shop 1', 'shop 2', 'shop 1'].map((key) => cache.mayAnswer(key))).toEqual([
    false,
    true,
    false,
    true,
  ]);
  expect(cacheOf(true).mayAnswer('shop 1')).toBe(true);
});

test('a key under which nothing is to be cached is not loaded again, until its site is evicted', async () => {
  const cache = cacheOf(true);
  let loads = 0;
  const get = (key: string) =>
    cache.get(key, async () => {
      loads += 1;
      return undefined;
    });
  expect([await get('shop 1'), await get('shop 1'), loads]).toEqual([undefined, undefined, 1]);
  expect(cache.mayAnswer('shop 1')).toBe(false);
  cache.evict(storedId('shop'));
  expect(cache.mayAnswer('shop 1')).toBe(true);
  await get('shop 1');
  expect(loads).toBe(2);
});

test('an entry that has too little room is rejected, at once or when it has grown', async () => {
  const cache = cacheOf(true);
  expect(await cache.get('shop 1', async () => ({ bytes: 2_000 }))).toEqual({ bytes: 2_000 });
  const growing = { bytes: 100 };
  await cache.get('shop 2', async () => growing);
  expect(['shop 1', 'shop 2'].map((key) => cache.mayAnswer(key))).toEqual([false, true]);
  growing.bytes = 2_000;
  cache.recount('shop 2', growing);
  expect(cache.mayAnswer('shop 2')).toBe(false);
  expect(cache.peek('shop 2')).toBeUndefined();
});

test('a load that is not over when its site is evicted is not cached', async () => {
  const cache = cacheOf(true);
  let finish: (value: Sized) => void = () => undefined;
  const first = cache.get('shop 1', () => new Promise((resolve) => (finish = resolve)));
  cache.evict(storedId('shop'));
  finish({ bytes: 1 });
  expect(await first).toEqual({ bytes: 1 });
  expect(cache.peek('shop 1')).toBeUndefined();
});
