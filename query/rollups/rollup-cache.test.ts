import { expect, test } from 'vitest';
import { SiteMemory } from '../site-memory.ts';
import { RollupCache } from './rollup-cache.ts';

test('what is kept is loaded once, until its site is to be forgotten', async () => {
  const kept = new RollupCache<string>();
  const memory = new SiteMemory();
  memory.keeps((storedId) => kept.forget(storedId));
  const loads: string[] = [];
  const get = (key: string) =>
    kept.get(key, async () => {
      loads.push(key);
      return { answer: `of ${key}`, hashes: 1 };
    });
  const keys = ['shop 1', 'shop 2', 'shop-2 1', 'shop~2 1'];
  for (const key of [...keys, ...keys]) expect(await get(key)).toBe(`of ${key}`);
  expect(loads.splice(0)).toEqual(keys);
  memory.forget('shop');
  for (const key of keys) await get(key);
  expect(loads).toEqual(['shop 1', 'shop 2']);
});
