import type { Site } from '../../infra/accounts/accounts.ts';

const SLUG_MAX = 48;
const SAME_NAME_MAX = 1_000;
/** Letters that are no other one with a mark; those decompose by themselves. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};

/** What a site is called in paths: the letters and digits of its name, with dashes between them. */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .replace(/[ßæœøłđðþı]/g, (letter) => LETTERS[letter] ?? letter);
  const slug = plain
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, SLUG_MAX)
    .replace(/^-+|-+$/g, '');
  return slug === '' ? 'site' : slug;
}

/** The ids that a site of this slug may get, the most welcome first: `shop`, `shop-2`, `shop-3`, … */
export function* slugsFor(slug: string): Generator<string> {
  yield slug;
  for (let number = 2; number <= SAME_NAME_MAX; number += 1) yield `${slug}-${number}`;
}

/** What the next site of a purged one's id is stored under. No slug has a `~`, so this is no site's id. */
export function reusedStoredId({ id, storedId }: Pick<Site, 'id' | 'storedId'>): string {
  const generation = storedId === id ? 1 : Number(storedId.slice(id.length + 1));
  return `${id}~${generation + 1}`;
}
