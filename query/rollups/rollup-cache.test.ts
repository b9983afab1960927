import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { SiteMemory } from '../site-memory.ts';
import { CacheSpace } from './finalized-cache.ts';
import { RollupCache } from './rollup-cache.ts';

test('an answer is loaded once, until the cache evicts its site', async () => {
  const space = new CacheSpace(100_000);
  const cache = new RollupCache<string>(space, 'texts');
  const memory = new SiteMemory();
  memory.onEvict((storedId) => space.evict(storedId));
  const loads: string[] = [];
  const get = (key: string) =>
    cache.get(key, async () => {
      loads.push(key);
      return { answer: `of ${key}`, hashes: 1 };
    });
  const keys = ['shop 1', 'shop 2', 'shop-2 1', 'shop~2 1'];
  for (const key of [...keys, ...keys]) expect(await get(key)).toBe(`of ${key}`);
  expect(loads.splice(0)).toEqual(keys);
  memory.evict(storedId('shop'));
  for (const key of keys) await get(key);
  expect(loads).toEqual(['shop 1', 'shop 2']);
});
