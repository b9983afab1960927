import type { Site } from '../../infra/accounts/accounts.ts';

const SLUG_MAX = 48;
const SAME_NAME_MAX = 1_000;
/** Letters that do not decompose into a base letter and marks. */
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

/** The slug of a name: its letters and digits, joined with hyphens. */
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

/** Candidate ids for a slug in order of preference: `shop`, `shop-2`, `shop-3`, … */
export function* slugsFor(slug: string): Generator<string> {
  yield slug;
  for (let number = 2; number <= SAME_NAME_MAX; number += 1) yield `${slug}-${number}`;
}

/**
 * The `storedId` of the next site that takes the id of a purged one. No slug contains `~`, so it is never the id of a
 * site.
 */
export function reusedStoredId({ id, storedId }: Pick<Site, 'id' | 'storedId'>): string {
  const generation = storedId === id ? 1 : Number(storedId.slice(id.length + 1));
  return `${id}~${generation + 1}`;
}
