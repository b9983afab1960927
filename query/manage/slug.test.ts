import fc from 'fast-check';
import { expect, test } from 'vitest';
import { storedId } from '../../infra/testing/ids.ts';
import { reusedStoredId, slugOf, slugsFor } from './slug.ts';

test.each([
  ['Shop', 'shop'],
  ['My Shop & Café', 'my-shop-cafe'],
  ['  --Shop--  ', 'shop'],
  ['example.com', 'example-com'],
  ['Ünïcödé', 'unicode'],
  ['Größe & Œuvre', 'grosse-oeuvre'],
  ['ＦＵＬＬ　ＷＩＤＴＨ', 'full-width'],
  ['北京', 'site'],
  ['🛒', 'site'],
  ['', 'site'],
  ['a/b?c#d~2', 'a-b-c-d-2'],
  [`${'x'.repeat(47)} y`, 'x'.repeat(47)],
  ['x'.repeat(100), 'x'.repeat(48)],
])('the slug of %j is %s', (name, slug) => {
  expect(slugOf(name)).toBe(slug);
});

test('every slug consists of letters and digits with single hyphens between them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (name) => {
      const slug = slugOf(name);
      expect(slug).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/);
      expect(slug.length).toBeLessThanOrEqual(48);
      expect(slugOf(slug)).toBe(slug);
    }),
  );
});

test('sites of the same name are numbered from 2, up to a limit', () => {
  const ids = [...slugsFor('shop', () => false)];
  expect(ids.slice(0, 3)).toEqual(['shop', 'shop-2', 'shop-3']);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.at(-1)).toBe('shop-1000');
});

test('a site whose name another team has gets a random end, which tells no number', () => {
  const idsWith = (others: readonly string[], count: number) =>
    [...slugsFor('shop', (id) => others.includes(id))].slice(0, count);
  for (const id of idsWith(['shop'], 20)) expect(id).toMatch(/^shop-[0-9a-z]{6}$/);
  const [own, second, third] = idsWith(['shop-3'], 3);
  expect([own, second]).toEqual(['shop', 'shop-2']);
  expect(third).toMatch(/^shop-[0-9a-z]{6}$/);
  expect(new Set(idsWith(['shop'], 20)).size).toBe(20);
  // The id is taken between the question and the creation.
  const taken = new Set<string>();
  const candidates = slugsFor(
    'shop',
    (id) => taken.has(id),
    () => 'a1b2c3',
  );
  expect(candidates.next().value).toBe('shop');
  taken.add('shop');
  expect(candidates.next().value).toBe('shop-a1b2c3');
});

test('each site that takes over an id gets another storedId, which is not a slug', () => {
  expect(reusedStoredId({ id: 'shop', storedId: storedId('shop') })).toBe('shop~2');
  expect(reusedStoredId({ id: 'shop', storedId: storedId('shop~2') })).toBe('shop~3');
  expect(reusedStoredId({ id: 'shop-2', storedId: storedId('shop-2~10') })).toBe('shop-2~11');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const id = slugOf(name);
      expect(slugOf(reusedStoredId({ id, storedId: storedId(id) }))).not.toBe(
        reusedStoredId({ id, storedId: storedId(id) }),
      );
    }),
  );
});
