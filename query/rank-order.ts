/** The order of ranked rows in every answer, the same as in the statements in `sql/`. */

/** Most sessions first, then by name. */
export function byRank(a: RankedName, b: RankedName): number {
  return b.sessions - a.sessions || byBytes(a.name, b.name) || byBytes(a.prefix, b.prefix);
}

/** Most sessions first, then by path. */
export function byPageRank(a: SeenPage, b: SeenPage): number {
  return b.sessions - a.sessions || byBytes(a.path, b.path) || byBytes(a.origin, b.origin);
}

interface RankedName {
  readonly prefix: string;
  readonly name: string;
  readonly sessions: number;
}

/** A page with the values that rank it. */
export interface SeenPage {
  readonly origin: string;
  readonly path: string;
  readonly sessions: number;
}

/** The first of UTF-16's surrogates, and the first code unit after them. */
const SURROGATES_FROM = 0xd800;
const SURROGATES_TO = 0xe000;
const SURROGATES = SURROGATES_TO - SURROGATES_FROM;

/** The store's order of texts, by bytes in UTF-8: characters that are surrogates in UTF-16 come last. */
export function byBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let place = 0; place < length; place += 1) {
    const [a, b] = [one.charCodeAt(place), other.charCodeAt(place)];
    if (a !== b) return orderOf(a) - orderOf(b);
  }
  return one.length - other.length;
}

function orderOf(codeUnit: number): number {
  if (codeUnit < SURROGATES_FROM) return codeUnit;
  return codeUnit < SURROGATES_TO ? codeUnit + 0x10_000 - SURROGATES_TO : codeUnit - SURROGATES;
}
