import { randomInt } from 'node:crypto';
import type { Site } from '../../infra/accounts/accounts.ts';

const SLUG_MAX = 48;
const SAME_NAME_MAX = 1_000;
/** Out of two billion ends, this many are never taken in a row. */
const RANDOM_ENDS_MAX = 20;
const END_RADIX = 36;
const END_LENGTH = 6;
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

/**
 * Candidate ids for a slug in order of preference: `shop`, `shop-2`, `shop-3`, … If another team has the next of these, the rest
 * have random ends: the next number would reveal how many sites of this name the other teams have.
 */
export function* slugsFor(
  slug: string,
  isOthers: (id: string) => boolean,
  randomEnd: () => string = newEnd,
): Generator<string> {
  for (let number = 1; number <= SAME_NAME_MAX; number += 1) {
    const id = number === 1 ? slug : `${slug}-${number}`;
    if (isOthers(id)) break;
    yield id;
    // Another team was faster.
    if (isOthers(id)) break;
    if (number === SAME_NAME_MAX) return;
  }
  for (let count = 0; count < RANDOM_ENDS_MAX; count += 1) yield `${slug}-${randomEnd()}`;
}

function newEnd(): string {
  return randomInt(END_RADIX ** END_LENGTH)
    .toString(END_RADIX)
    .padStart(END_LENGTH, '0');
}

/**
 * The `storedId` of the next site that takes the id of a purged one. No slug contains `~`, so it is never the id of a
 * site.
 */
export function reusedStoredId({ id, storedId }: Pick<Site, 'id' | 'storedId'>): string {
  const generation = storedId === id ? 1 : Number(storedId.slice(id.length + 1));
  return `${id}~${generation + 1}`;
}
